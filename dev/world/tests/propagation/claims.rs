//! Which policy a template belongs to.

use member::join::UnjoinOptions;
use object::Value;
use world::json;

use crate::stage::{
    CONFIG_MAPS, DEPLOYMENTS, Stage, WHILE, all, cluster_policy, config_map, deployment, on,
    one_deployment, overriding, policy,
};

#[tokio::test(start_paused = true)]
async fn a01_a_template_is_claimed_bound_and_brought_to_its_member() {
    let stage = Stage::with(2).await;
    let web_in_m1 = stage.copy("m1", "deployments", "test/web");
    stage
        .spread(&[deployment("web", 2)], &one_deployment("web"), "m1")
        .await;
    web_in_m1.comes().await;
    let web = stage.template("deployments", "test/web").found().await;
    let p = stage
        .template("propagationpolicies", "test/p")
        .found()
        .await;
    let id = "propagationpolicy.karmada.io/permanent-id";
    assert_eq!(web.label(id), p.label(id));
    assert!(web.label(id).is_some_and(|id| !id.is_empty()));
    let annotation = |name: &str| web.annotation(&format!("propagationpolicy.karmada.io/{name}"));
    assert_eq!(
        (annotation("namespace"), annotation("name")),
        (Some("test"), Some("p"))
    );

    let binding = stage.template("rb", "test/web-deployment").found().await;
    let owner = binding.owner_references().next().unwrap();
    assert_eq!(
        (owner.kind.as_str(), owner.uid.as_str()),
        ("Deployment", web.uid())
    );
    assert_eq!(
        (owner.controller, owner.block_owner_deletion),
        (Some(true), Some(true))
    );
    assert!(
        binding
            .finalizers()
            .any(|found| found == "karmada.io/binding-controller")
    );
    assert_eq!(binding.integer_at(&["spec", "replicas"]), Some(2));

    let name = api::names::work_name("Deployment", "web", "test");
    let work = stage
        .template("works", &format!("karmada-es-m1/{name}"))
        .get()
        .await;
    let works = stage.works_of("Deployment", "test/web").await;
    assert_eq!(works.len(), 1, "one work for one cluster");
    assert_eq!(work.as_ref().map(|work| work.key()), Some(works[0].key()));
    let copy = web_in_m1.found().await;
    assert_eq!(copy.label("karmada.io/managed"), Some("true"));
    assert_eq!(
        copy.label(id),
        web.label(id),
        "claims are visible on members"
    );
    assert!(
        stage
            .copy("m2", "deployments", "test/web")
            .is_missing()
            .await
    );
}

#[tokio::test(start_paused = true)]
async fn a02_priority_then_precision_then_name_decide_between_policies() {
    let stage = Stage::with(1).await;
    stage
        .apply(&all(&[
            policy("a", DEPLOYMENTS, &format!("priority: 1, {}", on("m1"))),
            policy("b", &one_deployment("web"), &on("m1")),
            // `even` has equal priorities, `named` has two that name it.
            policy(
                "c",
                &one_deployment("named"),
                &format!("priority: 5, {}", on("m1")),
            ),
            policy(
                "d",
                &one_deployment("named"),
                &format!("priority: 5, {}", on("m1")),
            ),
            policy(
                "e",
                &one_deployment("even"),
                &format!("priority: 1, {}", on("m1")),
            ),
        ]))
        .await;
    stage
        .apply(&all(&[
            deployment("web", 1),
            deployment("named", 1),
            deployment("even", 1),
        ]))
        .await;
    stage.claimed("web", "pp/a").await;
    stage.claimed("named", "pp/c").await;
    stage.claimed("even", "pp/e").await;
}

#[tokio::test(start_paused = true)]
async fn a03_and_p03_a_policy_of_the_namespace_goes_before_any_cluster_wide_one() {
    let stage = Stage::with(1).await;
    let roles = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, name: readers}";
    stage
        .apply(&all(&[
            cluster_policy("far", &format!("{DEPLOYMENTS}, {roles}"), &format!("priority: 100, {}", on("m1"))),
            policy("near", DEPLOYMENTS, &on("m1")),
            deployment("web", 1),
            "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: readers}, rules: []}".to_owned(),
        ]))
        .await;
    stage.claimed("web", "pp/near").await;
    stage.copy("m1", "clusterroles", "readers").comes().await;
    let binding = stage.template("crb", "readers-clusterrole").found().await;
    assert_eq!(
        binding.annotation("clusterpropagationpolicy.karmada.io/name"),
        Some("far")
    );
}

#[tokio::test(start_paused = true)]
async fn a04_and_p04_claims_are_sticky_unless_a_policy_may_preempt() {
    for (gates, expected) in [("", "pp/b"), ("PropagationPolicyPreemption=true", "pp/c")] {
        let stage = Stage::gated(1, gates).await;
        stage
            .apply(&all(&[
                deployment("web", 1),
                policy("b", DEPLOYMENTS, &on("m1")),
            ]))
            .await;
        stage.claimed("web", "pp/b").await;
        let higher = format!("priority: 10, {}", on("m1"));
        stage
            .apply(&policy("c", &one_deployment("web"), &higher))
            .await;
        stage.advance(WHILE).await;
        stage.claimed("web", "pp/b").await;
        let always = format!("preemption: Always, {higher}");
        stage
            .apply(&policy("c", &one_deployment("web"), &always))
            .await;
        stage.advance(WHILE).await;
        stage.claimed("web", expected).await;
        if expected == "pp/c" {
            stage
                .told("Deployment", "test/web", "PreemptPolicySucceed", "")
                .await;
        }
        let highest = format!("preemption: Always, priority: 1000, {}", on("m1"));
        stage
            .apply(&cluster_policy("far", &one_deployment("web"), &highest))
            .await;
        stage.advance(WHILE).await;
        stage.claimed("web", expected).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a05_a_policy_that_lowers_its_priority_is_overtaken() {
    let stage = Stage::gated(1, "PropagationPolicyPreemption=true").await;
    let prioritised = |name: &str, priority: i32, preemption: &str| {
        policy(
            name,
            &one_deployment("web"),
            &format!(
                "priority: {priority}, preemption: {preemption}, {}",
                on("m1")
            ),
        )
    };
    stage
        .apply(&all(&[deployment("web", 1), prioritised("hi", 5, "Never")]))
        .await;
    stage.claimed("web", "pp/hi").await;
    stage.apply(&prioritised("mid", 4, "Always")).await;
    stage.advance(WHILE).await;
    stage.claimed("web", "pp/hi").await;
    stage.apply(&prioritised("hi", 3, "Never")).await;
    stage.claimed("web", "pp/mid").await;
}

#[tokio::test(start_paused = true)]
async fn a06_a_policy_that_preempts_must_name_what_it_takes() {
    let stage = Stage::with(1).await;
    let refused = stage
        .try_apply(&policy(
            "p",
            DEPLOYMENTS,
            &format!("preemption: Always, {}", on("m1")),
        ))
        .await;
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("resourceSelectors[0].name"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a07_and_p06_deleting_a_policy_touches_nothing_but_claims() {
    let stage = Stage::with(1).await;
    let web_in_m1 = stage.copy("m1", "deployments", "test/web");
    let p = stage.template("propagationpolicies", "test/p");
    stage
        .spread(&[deployment("web", 1)], DEPLOYMENTS, "m1")
        .await;
    web_in_m1.comes().await;
    let uid = web_in_m1.field("metadata.uid").await;
    let works = stage.names("works", "karmada-es-m1").await;
    p.delete().await;
    stage.claimed("web", "").await;
    stage
        .until("the policy is gone", crate::stage::SOON, async || {
            p.is_missing().await
        })
        .await;
    let binding = stage.template("rb", "test/web-deployment").found().await;
    let is_claim = |key: &&str| key.starts_with("propagationpolicy.karmada.io/");
    for object in [
        &binding,
        &stage.template("deployments", "test/web").found().await,
    ] {
        assert_eq!(object.labels().into_keys().find(is_claim), None);
        assert_eq!(object.annotations().into_keys().find(is_claim), None);
    }
    assert_eq!(stage.names("works", "karmada-es-m1").await, works);
    assert_eq!(web_in_m1.field("metadata.uid").await, uid);
    stage
        .template("deployments", "test/web")
        .patch(json!({"spec": {"replicas": 3}}))
        .await;
    web_in_m1.keeps("spec.replicas", 1).await;
    stage.apply(&policy("q", DEPLOYMENTS, &on("m1"))).await;
    web_in_m1.shows("spec.replicas", 3).await;
}

#[tokio::test(start_paused = true)]
async fn a08_and_p07_a_template_that_is_no_longer_selected_is_let_go() {
    let stage = Stage::with(1).await;
    let web_in_m1 = stage.copy("m1", "deployments", "test/web");
    stage
        .spread(&[deployment("web", 1)], DEPLOYMENTS, "m1")
        .await;
    web_in_m1.comes().await;
    let before = web_in_m1.get().await;
    stage
        .apply(&policy("p", &one_deployment("other"), &on("m1")))
        .await;
    stage.claimed("web", "").await;
    stage.advance(WHILE).await;
    let after = web_in_m1.get().await;
    let state = |copy: Option<object::Object>| {
        copy.map(|copy| (copy.uid().to_owned(), copy.at(&["spec"]).cloned()))
    };
    assert_eq!(state(before), state(after));
    let binding = stage.template("rb", "test/web-deployment").found().await;
    let is_claim = |key: &&str| key.starts_with("propagationpolicy.karmada.io/");
    assert_eq!(binding.labels().into_keys().find(is_claim), None);
    assert_eq!(binding.annotations().into_keys().find(is_claim), None);
}

#[tokio::test(start_paused = true)]
async fn a11_what_belongs_to_the_system_is_never_claimed() {
    let stage = Stage::with(1).await;
    stage
        .apply(&all(&[
            "{apiVersion: v1, kind: Namespace, metadata: {name: kube-foo}}".to_owned(),
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: kube-foo}}".to_owned(),
            "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: l, namespace: test}}".to_owned(),
            cluster_policy(
                "all",
                &format!("{CONFIG_MAPS}, {{apiVersion: coordination.k8s.io/v1, kind: Lease}}, {{apiVersion: v1, kind: Event}}"),
                &on("m1"),
            ),
            config_map("seen", "{a: b}"),
        ]))
        .await;
    stage.copy("m1", "configmaps", "test/seen").comes().await;
    stage.advance(WHILE).await;
    assert_eq!(stage.claim("configmaps", "kube-foo/c").await, json!(null));
    assert_eq!(stage.claim("leases", "test/l").await, json!(null));
    // There are events by now, which the policy selects as well.
    assert!(!stage.list("events", "").await.is_empty());
    let bindings = stage.names("rb", "").await;
    assert_eq!(
        bindings
            .iter()
            .filter(|name| !name.ends_with("/kube-root-ca.crt-configmap"))
            .collect::<Vec<_>>(),
        ["test/seen-configmap"]
    );
}

#[tokio::test(start_paused = true)]
async fn a12_a_policy_waits_for_the_overrides_it_depends_on() {
    let stage = Stage::with(1).await;
    let web_in_m1 = stage.copy("m1", "deployments", "test/web");
    stage
        .apply(&all(&[
            deployment("web", 1),
            policy(
                "p",
                DEPLOYMENTS,
                &format!("dependentOverrides: [op1], {}", on("m1")),
            ),
        ]))
        .await;
    stage
        .told("Deployment", "test/web", "ApplyPolicyFailed", "op1")
        .await;
    stage.advance(WHILE).await;
    assert!(
        stage
            .template("rb", "test/web-deployment")
            .is_missing()
            .await
    );
    stage
        .apply(&overriding(
            "op1",
            DEPLOYMENTS,
            "",
            "{labelsOverrider: [{operator: add, value: {over: ridden}}]}",
        ))
        .await;
    web_in_m1.shows("metadata.labels.over", "ridden").await;
    let work = stage.work("Deployment", "web", "m1").await.unwrap();
    assert_eq!(work.generation(), 1, "the first work has the override");
}

#[tokio::test(start_paused = true)]
async fn a13_what_somebody_else_has_claimed_is_left_alone() {
    let stage = Stage::with(1).await;
    let template = "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: test, labels: {resourcetemplate.karmada.io/claimed-by: MultiClusterService}}, spec: {ports: [{port: 80}]}}".to_owned();
    stage
        .spread(&[template], "{apiVersion: v1, kind: Service}", "m1")
        .await;
    stage.advance(WHILE).await;
    assert_eq!(stage.claim("services", "test/s").await, json!(null));
    assert!(stage.template("rb", "test/s-service").is_missing().await);
}

/// A policy that somebody holds back from going claims nothing any more, lets go of what it has, and takes nothing with it.
#[tokio::test(start_paused = true)]
async fn a_policy_that_is_going_claims_nothing() {
    let stage = Stage::with(2).await;
    stage
        .spread(&[deployment("old", 1)], DEPLOYMENTS, "m1")
        .await;
    stage.claimed("old", "pp/p").await;
    let old = stage.copy("m1", "deployments", "test/old");
    old.comes().await;
    let uid = old.field("metadata.uid").await;
    let p = stage.template("propagationpolicies", "test/p");
    let mut finalizers = p.field("metadata.finalizers").await;
    let list = finalizers.as_array_mut().unwrap();
    list.push(json!("example.com/held"));
    p.patch(json!({"metadata": {"finalizers": finalizers}}))
        .await;
    p.delete().await;
    stage.claimed("old", "").await;
    stage.apply(&deployment("new", 1)).await;
    stage.advance(WHILE).await;
    p.shows("metadata.finalizers", json!(["example.com/held"]))
        .await;
    stage.claimed("new", "").await;
    old.keeps("metadata.uid", uid).await;
    // Nor does it stand in the way of a lesser one.
    let lesser = format!("priority: -1, {}", on("m2"));
    stage.apply(&policy("lesser", DEPLOYMENTS, &lesser)).await;
    stage.claimed("new", "pp/lesser").await;
    stage.copy("m2", "deployments", "test/new").comes().await;
    p.patch(json!({"metadata": {"finalizers": null}})).await;
    p.goes().await;
    stage.claimed("new", "pp/lesser").await;
}

#[tokio::test(start_paused = true)]
async fn p02_kinds_of_the_same_name_in_two_groups_do_not_mix() {
    let stage = Stage::with(1).await;
    let binding = stage.template("rb", "test/x-thing");
    for group in ["one.example.com", "two.example.com"] {
        stage.apply(&format!(
            "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: things.{group}}}, spec: {{group: {group}, scope: Namespaced, names: {{plural: things, singular: thing, kind: Thing}}, versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}]}}}}"
        )).await;
    }
    stage.advance(WHILE).await;
    let thing = |group: &str| {
        format!(
            "{{apiVersion: {group}/v1, kind: Thing, metadata: {{name: x, namespace: test}}, spec: {{}}}}"
        )
    };
    stage.apply(&thing("one.example.com")).await;
    stage
        .apply(&policy(
            "p",
            "{apiVersion: one.example.com/v1, kind: Thing}, {apiVersion: two.example.com/v1, kind: Thing}",
            &on("m1"),
        ))
        .await;
    binding
        .shows("spec.resource.apiVersion", "one.example.com/v1")
        .await;
    stage.apply(&thing("two.example.com")).await;
    stage
        .told("Thing", "test/x", "ApplyPolicyFailed", "owner")
        .await;
    stage.advance(WHILE).await;
    assert_eq!(
        binding.field("spec.resource.apiVersion").await,
        json!("one.example.com/v1")
    );
}

#[tokio::test(start_paused = true)]
async fn p31_a_policy_and_a_template_edited_at_once_end_in_one_binding_with_both() {
    let stage = Stage::with(2).await;
    stage
        .spread(&[deployment("web", 1)], DEPLOYMENTS, "m1")
        .await;
    stage.copy("m1", "deployments", "test/web").comes().await;
    for round in 2..6 {
        let member = ["m1", "m2"][round % 2];
        let replicas = u32::try_from(round).unwrap();
        stage
            .apply(&all(&[
                policy("p", DEPLOYMENTS, &on(member)),
                deployment("web", replicas),
            ]))
            .await;
        stage
            .copy(member, "deployments", "test/web")
            .shows("spec.replicas", json!(round))
            .await;
        let other = ["m1", "m2"][(round + 1) % 2];
        stage.copy(other, "deployments", "test/web").goes().await;
        let binding = stage.template("rb", "test/web-deployment").found().await;
        let placement = ["spec", "placement", "clusterAffinity", "clusterNames"];
        assert_eq!(
            (binding.at(&["spec", "replicas"]), binding.at(&placement)),
            (Some(&json!(round)), Some(&json!([member])))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn p05_half_a_claim_is_no_claim() {
    let stage = Stage::with(1).await;
    let half = deployment("web", 1).replacen(
        "namespace: test",
        "namespace: test, labels: {propagationpolicy.karmada.io/permanent-id: somebody}",
        1,
    );
    stage.spread(&[half], DEPLOYMENTS, "m1").await;
    stage.claimed("web", "pp/p").await;
    stage.copy("m1", "deployments", "test/web").comes().await;
}

#[tokio::test(start_paused = true)]
async fn p08_and_p09_an_edit_moves_the_revision_and_nothing_of_the_scheduler() {
    let stage = Stage::with(2).await;
    let binding = stage.template("rb", "test/web-deployment");
    stage
        .spread(&[deployment("web", 2)], DEPLOYMENTS, "m1, m2")
        .await;
    stage.copy("m2", "deployments", "test/web").comes().await;
    let before = binding.found().await;
    stage
        .template("deployments", "test/web")
        .patch(json!({"metadata": {"annotations": {"edited": "yes"}}}))
        .await;
    stage
        .copy("m1", "deployments", "test/web")
        .shows("metadata.annotations.edited", "yes")
        .await;
    let after = binding.found().await;
    assert_eq!(
        before.at(&["spec", "clusters"]),
        after.at(&["spec", "clusters"])
    );
    let revision = ["spec", "resource", "resourceVersion"];
    assert_ne!(before.at(&revision), after.at(&revision));
    assert!(after.generation() > before.generation());
}

/// Deletes the policy `p` and waits until nobody speaks for `web` any more; then its author edits it.
async fn abandon_and_edit(stage: &Stage) {
    let p = stage.template("propagationpolicies", "test/p");
    p.delete().await;
    stage.claimed("web", "").await;
    let binding = stage.template("rb", "test/web-deployment");
    stage
        .see("the binding is let go", Value::Null, async || {
            stage.claim("rb", &binding.name).await
        })
        .await;
    stage
        .template("deployments", "test/web")
        .patch(json!({"metadata": {"annotations": {"edited": "yes"}}}))
        .await;
}

const EDITED: &str = "metadata.annotations.edited";

#[tokio::test(start_paused = true)]
async fn a_template_without_policy_moves_as_it_is_when_its_cluster_leaves() {
    let stage = Stage::with(2).await;
    let one_of_two = "placement: {clusterAffinity: {clusterNames: [m1, m2]}, spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 1}]}";
    stage
        .apply(&all(&[
            deployment("web", 1),
            policy("p", DEPLOYMENTS, one_of_two),
        ]))
        .await;
    let binding = stage.template("rb", "test/web-deployment");
    binding.says("Scheduled", "True Success").await;
    let place = binding.field("spec.clusters.0.name").await;
    let (place, other) = match place.as_str() {
        Some("m1") => ("m1", "m2"),
        _ => ("m2", "m1"),
    };
    stage.copy(place, "deployments", "test/web").comes().await;
    abandon_and_edit(&stage).await;
    stage
        .copy(place, "deployments", "test/web")
        .keeps(EDITED, Value::Null)
        .await;
    stage.unjoin(place, &UnjoinOptions::new(place)).await;
    let moved = stage.copy(other, "deployments", "test/web");
    moved.shows(EDITED, "yes").await;
    binding
        .shows("status.aggregatedStatus.0.applied", true)
        .await;
    binding
        .says("FullyApplied", "True FullyAppliedSuccess")
        .await;
    // What is there is kept again, also by a control plane that starts anew.
    stage
        .template("deployments", "test/web")
        .patch(json!({"metadata": {"annotations": {"edited": "twice"}}}))
        .await;
    stage.restart().await;
    moved.keeps(EDITED, "yes").await;
}

#[tokio::test(start_paused = true)]
async fn a_template_without_policy_comes_back_to_a_cluster_that_comes_back() {
    let stage = Stage::with(2).await;
    stage
        .spread(&[deployment("web", 1)], DEPLOYMENTS, "m1, m2")
        .await;
    for member in ["m1", "m2"] {
        stage.copy(member, "deployments", "test/web").comes().await;
    }
    abandon_and_edit(&stage).await;
    stage.unjoin("m2", &UnjoinOptions::new("m2")).await;
    let again = stage.copy("m2", "deployments", "test/web");
    again.goes().await;
    stage.join("m2").await;
    again.shows(EDITED, "yes").await;
    stage
        .copy("m1", "deployments", "test/web")
        .keeps(EDITED, Value::Null)
        .await;
}
