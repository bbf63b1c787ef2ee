//! A kind that is served in several versions means the one that its policy names.

use object::Value;
use world::json;

use crate::stage::{CONFIG_MAPS, SOON, Stage, WHILE, all, config_map, customization, on, policy};

/// A definition of `Gadget` in these versions, stored in the last.
fn gadgets(versions: &[&str]) -> String {
    gadgets_serving(versions, versions)
}

/// The same, which does not serve them all.
fn gadgets_serving(versions: &[&str], served: &[&str]) -> String {
    let stored = versions.last();
    let versions: Vec<_> = versions
        .iter()
        .map(|version| {
            json!({
                "name": version, "served": served.contains(version), "storage": Some(version) == stored,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            })
        })
        .collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.acme.io"},
        "spec": {
            "group": "acme.io", "scope": "Namespaced",
            "names": {"plural": "gadgets", "kind": "Gadget"}, "versions": versions,
        },
    })
    .to_string()
}

fn gadget(version: &str, size: u32) -> String {
    format!(
        "{{apiVersion: acme.io/{version}, kind: Gadget, metadata: {{name: g, namespace: test}}, spec: {{size: {size}}}}}"
    )
}

fn selector(version: &str) -> String {
    format!("{{apiVersion: acme.io/{version}, kind: Gadget}}")
}

/// A rule for `v1beta1` alone: a gadget is as ready as its copies together.
fn sum() -> String {
    let sum = "function AggregateStatus(o, items) local n = 0 for i = 1, #items do local s = items[i].status if s then n = n + s.ready end end o.status = {ready = n} return o end";
    let rules = [("statusAggregation", sum)];
    customization("sum", "acme.io/v1beta1/Gadget", &rules)
}

/// A ConfigMap that refers to the gadget in a version, by its name or its labels.
fn referring(name: &str, version: &str, by: &str) -> String {
    config_map(name, &format!("{{version: acme.io/{version}, by: {by}}}"))
}

/// The rule for what such ConfigMaps refer to.
fn references() -> String {
    let rule = "function GetDependencies(o) if not o.data.version then return {} end local d = {apiVersion = o.data.version, kind = 'Gadget', namespace = 'test'} if o.data.by == 'name' then d.name = 'g' else d.labelSelector = {matchLabels = {size = 'small'}} end return {d} end";
    let rules = [("dependencyInterpretation", rule)];
    customization("references", "v1/ConfigMap", &rules)
}

const BINDING: &str = "test/g-gadget";

impl Stage {
    /// A gadget of size 1 on `m1`, from when nobody knew more than `v1beta1`.
    async fn with_gadget(spec: &str) -> Self {
        let stage = Self::with(1).await;
        let definition = gadgets(&["v1beta1"]);
        stage.apply(&definition).await;
        stage.member("m1").apply(&definition).await;
        let is_big = "function InterpretHealth(o) return o.spec.size > 3 end";
        let rules = [("healthInterpretation", is_big)];
        stage
            .apply(&all(&[
                customization("gadgets", "acme.io/v1beta1/Gadget", &rules),
                policy("p", &selector("v1beta1"), spec),
            ]))
            .await;
        stage.advance(WHILE).await;
        stage.apply(&gadget("v1beta1", 1)).await;
        stage.has_size(1).await;
        stage
    }

    /// A gadget of size 1 that goes along with ConfigMaps, to a member that knows nothing but `v1beta1`.
    async fn with_dependency() -> Self {
        let stage = Self::with(1).await;
        stage.apply(&gadgets(&["v1beta1", "v1"])).await;
        stage.member("m1").apply(&gadgets(&["v1beta1"])).await;
        stage.advance(WHILE).await;
        let spec = format!("propagateDeps: true, {}", on("m1"));
        stage
            .apply(&all(&[
                references(),
                gadget("v1", 1),
                policy("maps", CONFIG_MAPS, &spec),
            ]))
            .await;
        let labels = json!({"metadata": {"labels": {"size": "small"}}});
        stage.template("gadgets", "test/g").patch(labels).await;
        stage.advance(WHILE).await;
        stage
    }

    /// Lets the control plane serve `v1` too, and like it best.
    async fn learn(&self) {
        self.apply(&gadgets(&["v1beta1", "v1"])).await;
        self.until("the new version is served", SOON, async || {
            self.resource("gadgets", None).await.kind.version == "v1"
        })
        .await;
        self.advance(WHILE).await;
    }

    /// Lets the copy in the member report how ready it is.
    async fn report(&self, ready: u32) {
        let copy = self.copy("m1", "gadgets", "test/g");
        copy.patch_status(json!({"status": {"ready": ready}})).await;
    }

    async fn has_size(&self, size: u32) {
        let seen = async || {
            let gadgets = self.member("m1");
            gadgets.field("gadgets", "test/g", "spec.size").await
        };
        self.until_is("its size in the member", SOON, json!(size), seen)
            .await;
    }

    async fn is_bound_in(&self, version: &str) {
        let seen = async || {
            let field = "spec.resource.apiVersion";
            self.template("rb", BINDING).field(field).await
        };
        let expected = json!(format!("acme.io/{version}"));
        self.until_is("the version it is bound in", SOON, expected, seen)
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn members_and_rules_go_on_with_the_version_that_the_policy_names() {
    let stage = Stage::with_gadget(&on("m1")).await;
    stage.is_bound_in("v1beta1").await;
    stage.learn().await;
    stage.is_bound_in("v1beta1").await;
    stage.apply(&gadget("v1", 4)).await;
    stage.has_size(4).await;
    stage
        .template("rb", BINDING)
        .shows("status.aggregatedStatus.clusterName=m1.health", "Healthy")
        .await;
    stage.apply(&gadget("v1beta1", 2)).await;
    stage.has_size(2).await;
    stage
        .template("rb", BINDING)
        .shows("status.aggregatedStatus.clusterName=m1.health", "Unhealthy")
        .await;
    stage.restart().await;
    stage.apply(&gadget("v1", 5)).await;
    stage.has_size(5).await;
    stage.is_bound_in("v1beta1").await;
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_names_another_version_brings_members_to_it() {
    let stage = Stage::with_gadget(&on("m1")).await;
    stage.learn().await;
    stage.member("m1").apply(&gadgets(&["v1beta1", "v1"])).await;
    stage.apply(&policy("p", &selector("v1"), &on("m1"))).await;
    stage.is_bound_in("v1").await;
    stage
        .until("its work is in that version", SOON, async || {
            let work = stage.work("Gadget", "g", "m1").await;
            let manifest = ["spec", "workload", "manifests"];
            let manifests = work.as_ref().and_then(|work| work.at(&manifest));
            manifests.is_some_and(|all| all[0]["apiVersion"] == "acme.io/v1")
        })
        .await;
    stage.apply(&gadget("v1beta1", 7)).await;
    stage.has_size(7).await;
    stage.is_bound_in("v1").await;
}

#[tokio::test(start_paused = true)]
async fn a_lazy_policy_takes_a_new_version_for_no_edit() {
    let lazy = format!("activationPreference: Lazy, {}", on("m1"));
    let stage = Stage::with_gadget(&lazy).await;
    let preserved = format!("preserveResourcesOnDeletion: true, {lazy}");
    stage
        .apply(&policy("p", &selector("v1beta1"), &preserved))
        .await;
    stage.learn().await;
    let is_preserved = async || {
        let binding = stage.template("rb", BINDING);
        binding.field("spec.preserveResourcesOnDeletion").await == json!(true)
    };
    assert!(!is_preserved().await, "nobody has edited the template yet");
    stage.apply(&gadget("v1", 2)).await;
    stage
        .until("the policy acts", SOON, async || is_preserved().await)
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_version_that_goes_ends_the_claim_and_no_report_whatever_comes_after_it() {
    let both = ["v1beta1", "v1"];
    for after in ["nothing", "an edit", "a restart"] {
        let stage = Stage::with_gadget(&on("m1")).await;
        stage.apply(&sum()).await;
        stage.learn().await;
        stage.report(2).await;
        let gadget_of_all = stage.template("gadgets", "test/g");
        gadget_of_all.shows("status.ready", 2).await;
        let before = stage.copy("m1", "gadgets", "test/g").found().await;
        stage.apply(&gadgets_serving(&both, &["v1"])).await;
        if after == "an edit" {
            stage.apply(&gadget("v1", 5)).await;
        }
        if after == "a restart" {
            stage.restart().await;
        }
        for (kind, name) in [("gadgets", "test/g"), ("rb", BINDING)] {
            let what = format!("the claim on {kind} after {after}");
            let claim = async || stage.claim(kind, name).await;
            stage.see(&what, Value::Null, claim).await;
        }
        for ready in [7, 9] {
            stage.report(ready).await;
            gadget_of_all.shows("status.ready", ready).await;
        }
        stage.advance(WHILE).await;
        stage.is_bound_in("v1beta1").await;
        stage.has_size(1).await;
        let copy = stage.copy("m1", "gadgets", "test/g").found().await;
        assert_eq!(copy.uid(), before.uid(), "after {after}");
        // Once it is served again, all is as it was.
        stage.apply(&gadgets(&both)).await;
        let claim = async || stage.claim("gadgets", "test/g").await;
        stage.see("it is claimed again", json!("pp/p"), claim).await;
        stage.has_size(if after == "an edit" { 5 } else { 1 }).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_version_that_comes_is_claimed_by_the_policy_that_named_it_before() {
    let stage = Stage::with(1).await;
    stage.apply(&gadgets(&["v1"])).await;
    let definition = gadgets(&["v1beta1", "v1"]);
    stage.member("m1").apply(&definition).await;
    stage.advance(WHILE).await;
    stage
        .apply(&all(&[
            policy("p", &selector("v1beta1"), &on("m1")),
            gadget("v1", 1),
        ]))
        .await;
    stage.advance(WHILE).await;
    assert_eq!(stage.claim("gadgets", "test/g").await, Value::Null);
    stage.apply(&definition).await;
    stage.has_size(1).await;
    stage.is_bound_in("v1beta1").await;
}

#[tokio::test(start_paused = true)]
async fn what_goes_along_is_in_the_version_that_the_reference_names() {
    for by in ["name", "labels"] {
        let stage = Stage::with_dependency().await;
        stage.apply(&referring("a", "v1beta1", by)).await;
        stage.has_size(1).await;
        stage.is_bound_in("v1beta1").await;
        stage.restart().await;
        stage.advance(WHILE).await;
        stage.apply(&gadget("v1", 4)).await;
        stage.has_size(4).await;
        stage.is_bound_in("v1beta1").await;
        stage.apply(&referring("a", "v1", by)).await;
        stage.is_bound_in("v1").await;
        stage.apply(&referring("a", "v1beta1", by)).await;
        stage.is_bound_in("v1beta1").await;
        // A version that nobody serves any more names nothing.
        let both = ["v1beta1", "v1"];
        stage.apply(&gadgets_serving(&both, &["v1"])).await;
        stage.is_bound_in("v1").await;
        stage.apply(&gadgets(&both)).await;
        stage.is_bound_in("v1beta1").await;
        stage.apply(&gadget("v1", 5)).await;
        stage.has_size(5).await;
    }
}

#[tokio::test(start_paused = true)]
async fn of_those_who_name_different_versions_whoever_named_its_own_has_it() {
    let stage = Stage::with_dependency().await;
    stage.apply(&referring("b", "v1beta1", "name")).await;
    stage.is_bound_in("v1beta1").await;
    stage.apply(&referring("a", "v1", "name")).await;
    let needed = async || {
        let binding = stage.template("rb", BINDING).found().await;
        let list = binding
            .at(&["spec", "requiredBy"])
            .and_then(Value::as_array);
        json!(list.map_or(0, Vec::len))
    };
    stage.see("both need it", json!(2), needed).await;
    stage.is_bound_in("v1beta1").await;
    stage.template("configmaps", "test/b").delete().await;
    stage.is_bound_in("v1").await;
    // A policy has its own version for as long as it has the gadget.
    let own = policy("own", &selector("v1beta1"), &on("m1"));
    stage.apply(&own).await;
    stage.is_bound_in("v1beta1").await;
    stage.has_size(1).await;
    stage.restart().await;
    stage.advance(WHILE).await;
    stage.is_bound_in("v1beta1").await;
    stage
        .template("propagationpolicies", "test/own")
        .delete()
        .await;
    stage.is_bound_in("v1").await;
}
