//! Which policy a template belongs to.

use world::json;

use crate::stage::{
    CONFIG_MAPS, DEPLOYMENTS, Stage, WHILE, all, cluster_policy, config_map, deployment, on,
    one_deployment, overriding, policy,
};

#[tokio::test(start_paused = true)]
async fn a01_a_template_is_claimed_bound_and_brought_to_its_member() {
    let stage = Stage::with(2).await;
    stage
        .apply(&all(&[
            deployment("web", 2),
            policy("p", &one_deployment("web"), &on("m1")),
        ]))
        .await;
    stage.there("m1", "deployments", "test/web", true).await;
    let web = stage.get("deployments", "test/web").await.unwrap();
    let p = stage.get("propagationpolicies", "test/p").await.unwrap();
    let id = "propagationpolicy.karmada.io/permanent-id";
    assert_eq!(web.label(id), p.label(id));
    assert!(web.label(id).is_some_and(|id| !id.is_empty()));
    let annotation = |name: &str| web.annotation(&format!("propagationpolicy.karmada.io/{name}"));
    assert_eq!(
        (annotation("namespace"), annotation("name")),
        (Some("test"), Some("p"))
    );

    let binding = stage.get("rb", "test/web-deployment").await.unwrap();
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
    let work = stage.get("works", &format!("karmada-es-m1/{name}")).await;
    let works = stage.works_of("Deployment", "test/web").await;
    assert_eq!(works.len(), 1, "one work for one cluster");
    assert_eq!(work.as_ref().map(|work| work.key()), Some(works[0].key()));
    let copy = stage
        .member("m1")
        .get("deployments", "test/web")
        .await
        .unwrap();
    assert_eq!(copy.label("karmada.io/managed"), Some("true"));
    assert_eq!(
        copy.label(id),
        web.label(id),
        "claims are visible on members"
    );
    assert!(
        stage
            .member("m2")
            .get("deployments", "test/web")
            .await
            .is_none()
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
    stage.there("m1", "clusterroles", "readers", true).await;
    let binding = stage.get("crb", "readers-clusterrole").await.unwrap();
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
    stage
        .apply(&all(&[
            deployment("web", 1),
            policy("p", DEPLOYMENTS, &on("m1")),
        ]))
        .await;
    stage.there("m1", "deployments", "test/web", true).await;
    let works = stage.names("works", "karmada-es-m1").await;
    stage.delete("propagationpolicies", "test/p").await;
    stage.claimed("web", "").await;
    stage
        .until("the policy is gone", crate::stage::SOON, async || {
            stage.get("propagationpolicies", "test/p").await.is_none()
        })
        .await;
    let binding = stage.get("rb", "test/web-deployment").await.unwrap();
    let is_claim = |key: &&str| key.starts_with("propagationpolicy.karmada.io/");
    assert_eq!(binding.labels().into_keys().find(is_claim), None);
    assert_eq!(stage.names("works", "karmada-es-m1").await, works);
    stage
        .patch("deployments", "test/web", json!({"spec": {"replicas": 3}}))
        .await;
    stage
        .keeps("m1", "deployments", "test/web", "spec.replicas", json!(1))
        .await;
    stage.apply(&policy("q", DEPLOYMENTS, &on("m1"))).await;
    stage
        .has("m1", "deployments", "test/web", "spec.replicas", json!(3))
        .await;
}

#[tokio::test(start_paused = true)]
async fn a08_and_p07_a_template_that_is_no_longer_selected_is_let_go() {
    let stage = Stage::with(1).await;
    stage
        .apply(&all(&[
            deployment("web", 1),
            policy("p", DEPLOYMENTS, &on("m1")),
        ]))
        .await;
    stage.there("m1", "deployments", "test/web", true).await;
    let before = stage.member("m1").get("deployments", "test/web").await;
    stage
        .apply(&policy("p", &one_deployment("other"), &on("m1")))
        .await;
    stage.claimed("web", "").await;
    stage.advance(WHILE).await;
    let after = stage.member("m1").get("deployments", "test/web").await;
    assert_eq!(
        before.map(|copy| copy.uid().to_owned()),
        after.map(|copy| copy.uid().to_owned())
    );
    assert!(stage.get("rb", "test/web-deployment").await.is_some());
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
    stage.there("m1", "configmaps", "test/seen", true).await;
    stage.advance(WHILE).await;
    assert_eq!(stage.claim("configmaps", "kube-foo/c").await, json!(null));
    assert_eq!(stage.claim("leases", "test/l").await, json!(null));
    assert!(stage.get("rb", "kube-foo/c-configmap").await.is_none());
    assert!(stage.get("rb", "test/l-lease").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a12_a_policy_waits_for_the_overrides_it_depends_on() {
    let stage = Stage::with(1).await;
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
    assert!(stage.get("rb", "test/web-deployment").await.is_none());
    stage
        .apply(&overriding(
            "op1",
            DEPLOYMENTS,
            "",
            "{labelsOverrider: [{operator: add, value: {over: ridden}}]}",
        ))
        .await;
    stage
        .has(
            "m1",
            "deployments",
            "test/web",
            "metadata.labels.over",
            json!("ridden"),
        )
        .await;
    let copy = stage
        .member("m1")
        .get("deployments", "test/web")
        .await
        .unwrap();
    assert_eq!(copy.generation(), 1, "the first work has the override");
}

#[tokio::test(start_paused = true)]
async fn a13_what_somebody_else_has_claimed_is_left_alone() {
    let stage = Stage::with(1).await;
    stage
        .apply(&all(&[
            "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: test, labels: {resourcetemplate.karmada.io/claimed-by: MultiClusterService}}, spec: {ports: [{port: 80}]}}".to_owned(),
            policy("p", "{apiVersion: v1, kind: Service}", &on("m1")),
        ]))
        .await;
    stage.advance(WHILE).await;
    assert_eq!(stage.claim("services", "test/s").await, json!(null));
    assert!(stage.get("rb", "test/s-service").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn p02_kinds_of_the_same_name_in_two_groups_do_not_mix() {
    let stage = Stage::with(1).await;
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
    stage
        .shows(
            "rb",
            "test/x-thing",
            "spec.resource.apiVersion",
            json!("one.example.com/v1"),
        )
        .await;
    stage.apply(&thing("two.example.com")).await;
    stage
        .told("Thing", "test/x", "ApplyPolicyFailed", "owner")
        .await;
    stage.advance(WHILE).await;
    assert_eq!(
        stage
            .field("rb", "test/x-thing", "spec.resource.apiVersion")
            .await,
        json!("one.example.com/v1")
    );
}

#[tokio::test(start_paused = true)]
async fn p31_a_policy_and_a_template_edited_at_once_end_in_one_binding_with_both() {
    let stage = Stage::with(2).await;
    stage
        .apply(&all(&[
            deployment("web", 1),
            policy("p", DEPLOYMENTS, &on("m1")),
        ]))
        .await;
    stage.there("m1", "deployments", "test/web", true).await;
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
            .has(
                member,
                "deployments",
                "test/web",
                "spec.replicas",
                json!(round),
            )
            .await;
        let other = ["m1", "m2"][(round + 1) % 2];
        stage.there(other, "deployments", "test/web", false).await;
        let binding = stage.get("rb", "test/web-deployment").await.unwrap();
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
    stage
        .apply(&all(&[half, policy("p", DEPLOYMENTS, &on("m1"))]))
        .await;
    stage.claimed("web", "pp/p").await;
    stage.there("m1", "deployments", "test/web", true).await;
}

#[tokio::test(start_paused = true)]
async fn p08_and_p09_an_edit_moves_the_revision_and_nothing_of_the_scheduler() {
    let stage = Stage::with(2).await;
    stage
        .apply(&all(&[
            deployment("web", 2),
            policy("p", DEPLOYMENTS, &on("m1, m2")),
        ]))
        .await;
    stage.there("m2", "deployments", "test/web", true).await;
    let before = stage.get("rb", "test/web-deployment").await.unwrap();
    stage
        .patch(
            "deployments",
            "test/web",
            json!({"metadata": {"annotations": {"edited": "yes"}}}),
        )
        .await;
    stage
        .has(
            "m1",
            "deployments",
            "test/web",
            "metadata.annotations.edited",
            json!("yes"),
        )
        .await;
    let after = stage.get("rb", "test/web-deployment").await.unwrap();
    assert_eq!(
        before.at(&["spec", "clusters"]),
        after.at(&["spec", "clusters"])
    );
    let revision = ["spec", "resource", "resourceVersion"];
    assert_ne!(before.at(&revision), after.at(&revision));
    assert!(after.generation() > before.generation());
}
