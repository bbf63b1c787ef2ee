//! Several things that each work alone, at once or one after the other.

use intent::Propagation;
use world::json;

use crate::stage::{
    CONFIG_MAPS, DEPLOYMENTS, SOON, Stage, WHILE, all, cluster_policy, config_map, deployment, on,
    one_deployment, overriding, policy,
};

const WIDGETS: &str = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.acme.io}, spec: {group: acme.io, scope: Namespaced, names: {plural: widgets, singular: widget, kind: Widget}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}";

/// A Deployment that refers to a ConfigMap.
fn with_settings(name: &str, settings: &str) -> String {
    let wanted = format!("name: web, envFrom: [{{configMapRef: {{name: {settings}}}}}], image:");
    deployment(name, 1).replacen("name: web, image:", &wanted, 1)
}

/// A policy for one Deployment that sends along what it refers to.
fn along(name: &str, clusters: &str, more: &str) -> String {
    let spec = format!("propagateDeps: true, {more}{}", on(clusters));
    policy(name, &one_deployment(name), &spec)
}

/// With a definition all its objects go, which nobody asked for.
#[tokio::test(start_paused = true)]
async fn a_definition_that_is_deleted_in_a_member_comes_back_with_its_objects() {
    let stage = Stage::with(1).await;
    let definition = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, name: widgets.acme.io}";
    stage.apply(WIDGETS).await;
    stage.advance(WHILE).await;
    stage
        .apply(&all(&[
            "{apiVersion: acme.io/v1, kind: Widget, metadata: {name: w, namespace: test}, spec: {size: 3}}".to_owned(),
            policy("p", "{apiVersion: acme.io/v1, kind: Widget}", &on("m1")),
            cluster_policy("definitions", definition, &on("m1")),
        ]))
        .await;
    let crd = stage.copy("m1", "customresourcedefinitions", "widgets.acme.io");
    let m1 = stage.member("m1");
    let size = async || m1.field("widgets", "test/w", "spec.size").await;
    crd.comes().await;
    stage.advance(WHILE).await;
    stage
        .until_is("the object is there", SOON * 2, json!(3), size)
        .await;
    let (before, uid) = (
        crd.field("metadata.uid").await,
        m1.field("widgets", "test/w", "metadata.uid").await,
    );
    crd.delete().await;
    stage
        .until("the definition is there again", SOON, async || {
            let now = crd.field("metadata.uid").await;
            now.is_string() && now != before
        })
        .await;
    stage.advance(WHILE).await;
    stage
        .until("the object is there again", SOON * 2, async || {
            let now = m1.field("widgets", "test/w", "metadata.uid").await;
            now.is_string() && now != uid
        })
        .await;
    let binding = stage.template("rb", "test/w-widget");
    binding
        .says("FullyApplied", "True FullyAppliedSuccess")
        .await;
}

#[tokio::test(start_paused = true)]
async fn what_workloads_share_is_wherever_one_of_them_is_or_its_own_policy_says() {
    let stage = Stage::with(3).await;
    let settings = |member: &str| stage.copy(member, "configmaps", "test/settings");
    stage
        .apply(&all(&[
            config_map("settings", "{a: b}"),
            with_settings("one", "settings"),
            with_settings("two", "settings"),
            along("one", "m1", ""),
            along("two", "m1, m2", ""),
        ]))
        .await;
    settings("m1").comes().await;
    settings("m2").comes().await;
    // Its own policy brings it to a third, and takes nothing from the others.
    stage.apply(&policy("own", CONFIG_MAPS, &on("m3"))).await;
    settings("m3").comes().await;
    stage
        .template("configmaps", "test/settings")
        .patch(json!({"data": {"a": "c"}}))
        .await;
    for member in ["m1", "m2", "m3"] {
        settings(member).shows("data.a", "c").await;
    }
    // One of the two that need it leaves; the other stays.
    stage.template("deployments", "test/two").delete().await;
    settings("m2").goes().await;
    settings("m1").keeps("data.a", "c").await;
    settings("m3").keeps("data.a", "c").await;
    stage.template("deployments", "test/one").delete().await;
    settings("m1").goes().await;
    settings("m3").keeps("data.a", "c").await;
    // One moves to where it is already, and away again.
    stage
        .apply(&all(&[
            with_settings("one", "settings"),
            along("one", "m3", ""),
        ]))
        .await;
    stage.copy("m3", "deployments", "test/one").comes().await;
    stage.apply(&along("one", "m1", "")).await;
    settings("m1").comes().await;
    stage.copy("m3", "deployments", "test/one").goes().await;
    settings("m3").keeps("data.a", "c").await;
}

#[tokio::test(start_paused = true)]
async fn what_is_preserved_is_preserved_with_what_it_needs() {
    let stage = Stage::with(2).await;
    let preserve = "preserveResourcesOnDeletion: true, ";
    stage
        .apply(&all(&[
            config_map("settings", "{a: b}"),
            with_settings("one", "settings"),
            along("one", "m1", preserve),
        ]))
        .await;
    let settings = stage.copy("m1", "configmaps", "test/settings");
    let one = stage.copy("m1", "deployments", "test/one");
    settings.comes().await;
    one.comes().await;
    stage.apply(&along("one", "m2", preserve)).await;
    stage
        .copy("m2", "configmaps", "test/settings")
        .comes()
        .await;
    stage
        .until("m1 is left", SOON, async || {
            stage.work("Deployment", "one", "m1").await.is_none()
                && stage.work("ConfigMap", "settings", "m1").await.is_none()
        })
        .await;
    for copy in [&settings, &one] {
        let found = copy.found().await;
        assert_eq!(found.label("karmada.io/managed"), None, "{copy}");
        assert!(!found.is_terminating(), "{copy}");
    }
}

#[tokio::test(start_paused = true)]
async fn overriders_of_all_types_have_their_say_in_one_rule() {
    let stage = Stage::with(2).await;
    let rules = "{imageOverrider: [{component: Registry, operator: replace, value: other.io}, {component: Tag, operator: replace, value: v2, predicate: {path: /spec/template/spec/containers/0/image}}], commandOverrider: [{containerName: web, operator: add, value: [run]}], argsOverrider: [{containerName: web, operator: add, value: [-v]}], labelsOverrider: [{operator: add, value: {mine: first}}], annotationsOverrider: [{operator: add, value: {note: here}}], plaintext: [{path: /spec/replicas, operator: replace, value: 4}, {path: /metadata/labels/mine, operator: replace, value: second}]}";
    let fields = "{fieldOverrider: [{fieldPath: /data/first, json: [{subPath: /b, operator: replace, value: 2}, {subPath: /c, operator: add, value: [1]}]}, {fieldPath: /data/second, yaml: [{subPath: /b/0, operator: remove}]}]}";
    stage
        .apply(&all(&[
            overriding("o", DEPLOYMENTS, "m1", rules),
            overriding("f", CONFIG_MAPS, "m1", fields),
            config_map(
                "c",
                "{first: '{\"b\": 1}', second: \"b: [1, 2]\\nrest: 1\\n\"}",
            ),
        ]))
        .await;
    let both = format!("{DEPLOYMENTS}, {CONFIG_MAPS}");
    stage.spread(&[deployment("web", 1)], &both, "m1, m2").await;
    let web = stage.copy("m1", "deployments", "test/web");
    let container = "spec.template.spec.containers.0";
    web.shows(&format!("{container}.image"), "other.io/app/web:v2")
        .await;
    for (path, expected) in [
        (format!("{container}.command"), json!(["run"])),
        (format!("{container}.args"), json!(["-v"])),
        ("metadata.labels.mine".to_owned(), json!("second")),
        ("metadata.annotations.note".to_owned(), json!("here")),
        ("spec.replicas".to_owned(), json!(4)),
    ] {
        assert_eq!(web.field(&path).await, expected, "{path}");
    }
    let maps = stage.copy("m1", "configmaps", "test/c");
    maps.comes().await;
    let text = |value: object::Value| value.as_str().unwrap_or_default().to_owned();
    let j: object::Value = serde_json::from_str(&text(maps.field("data.first").await)).unwrap();
    assert_eq!(j, json!({"b": 2, "c": [1]}));
    let y = text(maps.field("data.second").await);
    assert!(
        y.contains("- 2") && !y.contains("- 1") && y.contains("rest: 1"),
        "{y}"
    );
    let other = stage.copy("m2", "deployments", "test/web");
    other.shows("spec.replicas", 1).await;
    // Without the rule all is as the template says.
    stage.template("overridepolicies", "test/o").delete().await;
    web.shows("spec.replicas", 1).await;
    web.shows(&format!("{container}.command"), json!(null))
        .await;
    web.shows("metadata.labels.mine", json!(null)).await;
    assert_eq!(
        web.field(&format!("{container}.image")).await,
        json!("reg.io/app/web:v1")
    );
}

#[tokio::test(start_paused = true)]
async fn what_was_taken_over_stays_ours_when_nothing_more_is_to_be_taken_over() {
    let stage = Stage::with(1).await;
    let copy = stage.copy("m1", "configmaps", "test/c");
    stage.copy("m1", "namespaces", "test").comes().await;
    stage
        .member("m1")
        .apply(&config_map("c", "{theirs: 'yes'}"))
        .await;
    let uid = copy.field("metadata.uid").await;
    let resolving = |how: &str| {
        let spec = format!("conflictResolution: {how}, {}", on("m1"));
        policy("p", CONFIG_MAPS, &spec)
    };
    stage.apply(&config_map("c", "{a: b}")).await;
    stage.apply(&resolving("Overwrite")).await;
    copy.shows("data.a", "b").await;
    stage.apply(&resolving("Abort")).await;
    stage.advance(WHILE).await;
    stage.restart().await;
    stage
        .template("configmaps", "test/c")
        .patch(json!({"data": {"a": "c"}}))
        .await;
    copy.shows("data.a", "c").await;
    assert_eq!(copy.field("metadata.uid").await, uid);
    stage.template("configmaps", "test/c").delete().await;
    copy.goes().await;
}

#[tokio::test(start_paused = true)]
async fn a_template_and_a_policy_that_are_replaced_in_haste_end_as_they_were_written_last() {
    let stage = Stage::with(2).await;
    let copies = ["m1", "m2"].map(|member| stage.copy(member, "configmaps", "test/c"));
    let template = stage.template("configmaps", "test/c");
    let p = stage.template("propagationpolicies", "test/p");
    stage
        .spread(&[config_map("c", "{n: '0'}")], CONFIG_MAPS, "m1")
        .await;
    copies[0].comes().await;
    for round in 1..8 {
        for _ in 0..round * 5 {
            tokio::task::yield_now().await;
        }
        // As `kubectl replace --force` does.
        template.delete().await;
        if round % 2 == 0 {
            p.delete().await;
        }
        let cluster = ["m1", "m2"][round % 2];
        stage
            .spread(
                &[config_map("c", &format!("{{n: '{round}'}}"))],
                CONFIG_MAPS,
                cluster,
            )
            .await;
    }
    copies[1].shows("data.n", "7").await;
    copies[0].goes().await;
    let binding = stage.template("rb", "test/c-configmap");
    let owner = binding.field("metadata.ownerReferences.0.uid").await;
    assert_eq!(owner, template.field("metadata.uid").await);
    copies[1].keeps("data.n", "7").await;
}

#[tokio::test(start_paused = true)]
async fn a_namespace_goes_with_its_templates_and_everywhere() {
    let stage = Stage::with(2).await;
    stage
        .spread(
            &[deployment("web", 1), config_map("c", "{a: b}")],
            &format!("{DEPLOYMENTS}, {CONFIG_MAPS}"),
            "m1, m2",
        )
        .await;
    let kinds = [
        ("deployments", "test/web"),
        ("configmaps", "test/c"),
        ("namespaces", "test"),
    ];
    for member in ["m1", "m2"] {
        for (kind, name) in kinds {
            stage.copy(member, kind, name).comes().await;
        }
    }
    // What is to be preserved as well goes: it has no place without its namespace.
    stage.template("namespaces", "test").delete().await;
    stage.template("namespaces", "test").goes().await;
    for member in ["m1", "m2"] {
        for (kind, name) in kinds {
            stage.copy(member, kind, name).goes().await;
        }
        stage
            .until("no works are left", SOON, async || {
                let works = stage.names("works", &format!("karmada-es-{member}")).await;
                works.iter().all(|name| {
                    !name.contains("/web-") && !name.contains("/c-") && !name.contains("/test-")
                })
            })
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_suspended_from_the_beginning_comes_when_that_is_lifted() {
    let stage = Stage::with(2).await;
    let suspended = format!("suspension: {{dispatching: true}}, {}", on("m1, m2"));
    let copies = ["m1", "m2"].map(|member| stage.copy(member, "configmaps", "test/c"));
    stage
        .apply(&all(&[
            config_map("c", "{a: b}"),
            policy("p", CONFIG_MAPS, &suspended),
        ]))
        .await;
    stage.advance(WHILE).await;
    for copy in &copies {
        assert!(copy.is_missing().await, "{copy}");
    }
    let template = stage.template("configmaps", "test/c");
    template.patch(json!({"data": {"a": "c"}})).await;
    stage.restart().await;
    stage.advance(WHILE).await;
    assert!(copies[0].is_missing().await);
    stage.apply(&policy("p", CONFIG_MAPS, &on("m1, m2"))).await;
    for copy in &copies {
        copy.shows("data.a", "c").await;
    }
    stage.apply(&policy("p", CONFIG_MAPS, &suspended)).await;
    stage.advance(WHILE).await;
    template.patch(json!({"data": {"a": "d"}})).await;
    copies[1].keeps("data.a", "c").await;
    // A cluster that is left is left, suspended or not.
    let fewer = format!("suspension: {{dispatching: true}}, {}", on("m1"));
    stage.apply(&policy("p", CONFIG_MAPS, &fewer)).await;
    copies[1].goes().await;
    copies[0].keeps("data.a", "c").await;
    // So is what its author left behind.
    stage
        .control()
        .delete_with("configmaps", "test/c", Propagation::Orphan)
        .await;
    template.goes().await;
    copies[0].keeps("data.a", "c").await;
}

/// Whoever ends a suspension and moves the placement in one change does not mean the clusters that are left.
#[tokio::test(start_paused = true)]
async fn what_moves_as_its_suspension_ends_goes_to_its_new_clusters_alone() {
    let stage = Stage::with(3).await;
    let [in_m1, in_m2, in_m3] =
        ["m1", "m2", "m3"].map(|member| stage.copy(member, "configmaps", "test/c"));
    let suspended = format!("suspension: {{dispatching: true}}, {}", on("m1, m2"));
    stage
        .apply(&all(&[
            config_map("c", "{a: b}"),
            policy("p", CONFIG_MAPS, &suspended),
        ]))
        .await;
    let waiting = stage.work_of("ConfigMap", "c", "m1").await;
    waiting
        .says("Dispatching", "False SuspendDispatching")
        .await;
    drop(stage.member("m1").calls());
    // As long as nobody decides where it goes, it stays held back where it was.
    let binding = stage.template("rb", "test/c-configmap");
    let scheduling = |held: bool| json!({"spec": {"suspension": {"scheduling": held}}});
    binding.patch(scheduling(true)).await;
    // One of the old clusters is among the new ones.
    stage.apply(&policy("p", CONFIG_MAPS, &on("m2, m3"))).await;
    binding
        .shows("spec.suspension", json!({"scheduling": true}))
        .await;
    stage.restart().await;
    waiting.keeps("spec.suspendDispatching", true).await;
    for copy in [&in_m1, &in_m2, &in_m3] {
        assert!(copy.is_missing().await, "{copy}");
    }
    binding.patch(scheduling(false)).await;
    in_m2.shows("data.a", "b").await;
    in_m3.shows("data.a", "b").await;
    stage
        .until("the work is gone", SOON, async || {
            stage.work("ConfigMap", "c", "m1").await.is_none()
        })
        .await;
    let calls = stage.member("m1").calls();
    let is_write = |call: &&String| {
        call.contains("/configmaps/c") && (call.starts_with("PATCH") || call.starts_with("PUT"))
    };
    assert_eq!(calls.iter().find(is_write), None);
    assert!(in_m1.is_missing().await);
}

#[tokio::test(start_paused = true)]
async fn a_lazy_policy_that_preempts_waits_for_an_edit_too() {
    let stage = Stage::gated(2, "PropagationPolicyPreemption=true").await;
    let copies = ["m1", "m2"].map(|member| stage.copy(member, "deployments", "test/web"));
    stage
        .spread(&[deployment("web", 1)], DEPLOYMENTS, "m1")
        .await;
    copies[0].comes().await;
    let uid = copies[0].field("metadata.uid").await;
    let lazy = format!(
        "priority: 5, preemption: Always, activationPreference: Lazy, {}",
        on("m2")
    );
    stage
        .apply(&policy("lazy", &one_deployment("web"), &lazy))
        .await;
    stage.claimed("web", "pp/lazy").await;
    copies[0].keeps("metadata.uid", uid.clone()).await;
    assert!(copies[1].is_missing().await);
    // What the former policy says is nobody's concern any more.
    stage
        .template("propagationpolicies", "test/p")
        .delete()
        .await;
    stage.restart().await;
    copies[0].keeps("metadata.uid", uid).await;
    stage
        .template("deployments", "test/web")
        .patch(json!({"metadata": {"annotations": {"x": "y"}}}))
        .await;
    copies[1].comes().await;
    copies[0].goes().await;
}
