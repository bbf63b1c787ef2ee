//! What members report, back on bindings and templates.

use object::Value;
use world::json;

use crate::stage::{DEPLOYMENTS, SOON, Stage, WHILE, all, deployment, divided, on, policy};

/// Writes the status of an object in a member, as its controllers would.
async fn report(stage: &Stage, member: &str, kind: &str, name: &str, status: Value) {
    stage.there(member, kind, name, true).await;
    let patch = json!({ "status": status });
    stage.member(member).patch_status(kind, name, patch).await;
}

#[tokio::test(start_paused = true)]
async fn a26_replicas_are_summed_and_a_generation_counts_once_all_have_seen_it() {
    let stage = Stage::with(2).await;
    stage
        .apply(&all(&[
            deployment("web", 5),
            policy("p", DEPLOYMENTS, &divided(&[("m1", 2), ("m2", 3)])),
        ]))
        .await;
    stage
        .shows("deployments", "test/web", "status.readyReplicas", json!(5))
        .await;
    let generation = stage
        .field("deployments", "test/web", "metadata.generation")
        .await;
    stage
        .shows(
            "deployments",
            "test/web",
            "status.observedGeneration",
            generation.clone(),
        )
        .await;
    let generation = generation.as_i64().unwrap();
    // While one member is away, the new generation is not observed.
    stage.member("m2").faults().cut_off(true);
    stage
        .patch(
            "deployments",
            "test/web",
            json!({"spec": {"template": {"metadata": {"labels": {"new": "yes"}}}}}),
        )
        .await;
    stage
        .has(
            "m1",
            "deployments",
            "test/web",
            "spec.template.metadata.labels.new",
            json!("yes"),
        )
        .await;
    stage.advance(WHILE).await;
    let web = stage.get("deployments", "test/web").await.unwrap();
    assert_eq!(
        (
            web.generation(),
            web.integer_at(&["status", "observedGeneration"])
        ),
        (generation + 1, Some(generation))
    );
    stage.member("m2").faults().cut_off(false);
    stage
        .until_is(
            "the generation is observed",
            SOON * 5,
            json!(generation + 1),
            async || {
                stage
                    .field("deployments", "test/web", "status.observedGeneration")
                    .await
            },
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn a27_a_pod_is_as_well_as_its_worst_copy() {
    let stage = Stage::with(2).await;
    stage
        .apply(&all(&[
            "{apiVersion: v1, kind: Pod, metadata: {name: one, namespace: test}, spec: {containers: [{name: c, image: i}]}}".to_owned(),
            policy("p", "{apiVersion: v1, kind: Pod}", &on("m1, m2")),
        ]))
        .await;
    stage
        .shows("pods", "test/one", "status.phase", json!("Running"))
        .await;
    stage.member("m2").faults().cut_off(true);
    stage.member("m1").faults().cut_off(true);
    // Both copies report anew when they are reached again: one of them failed meanwhile.
    stage
        .member("m2")
        .patch_status("pods", "test/one", json!({"status": {"phase": "Failed"}}))
        .await;
    stage.member("m1").faults().cut_off(false);
    stage.member("m2").faults().cut_off(false);
    stage
        .until_is(
            "the template failed",
            SOON * 5,
            json!("Failed"),
            async || stage.field("pods", "test/one", "status.phase").await,
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn a28_and_p22_a_job_is_over_with_its_first_failure() {
    let stage = Stage::with(2).await;
    stage
        .apply(&all(&[
            "{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: test}, spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}".to_owned(),
            policy("p", "{apiVersion: batch/v1, kind: Job}", &on("m1, m2")),
        ]))
        .await;
    let time = "2030-01-01T00:01:00Z";
    report(
        &stage,
        "m2",
        "jobs",
        "test/j",
        json!({"failed": 1, "startTime": time, "conditions": [
            {"type": "FailureTarget", "status": "True", "lastProbeTime": time, "lastTransitionTime": time},
            {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "lastProbeTime": time, "lastTransitionTime": time}]}),
    )
    .await;
    stage
        .until("the template failed", SOON, async || {
            let failed = stage
                .field("jobs", "test/j", "status.conditions.type=Failed")
                .await;
            failed["status"] == "True"
                && failed["message"]
                    .as_str()
                    .is_some_and(|text| text.contains("m2"))
        })
        .await;
    let frozen = stage.field("jobs", "test/j", "status").await;
    stage
        .member("m1")
        .patch_status("jobs", "test/j", json!({"status": {"active": 3}}))
        .await;
    stage.advance(WHILE).await;
    assert_eq!(stage.field("jobs", "test/j", "status").await, frozen);
}

#[tokio::test(start_paused = true)]
async fn a29_one_address_of_two_load_balancers_is_told_once() {
    let stage = Stage::with(2).await;
    stage
        .apply(&all(&[
            "{apiVersion: v1, kind: Service, metadata: {name: lb, namespace: test}, spec: {type: LoadBalancer, loadBalancerIP: 192.0.2.7, ports: [{port: 80}]}}".to_owned(),
            policy("p", "{apiVersion: v1, kind: Service}", &on("m1, m2")),
        ]))
        .await;
    for member in ["m1", "m2"] {
        let address = "status.loadBalancer.ingress.0.ip";
        stage
            .has(member, "services", "test/lb", address, json!("192.0.2.7"))
            .await;
    }
    stage
        .until("the address is on the template", SOON, async || {
            let ingress = stage
                .field("services", "test/lb", "status.loadBalancer.ingress")
                .await;
            ingress
                .as_array()
                .is_some_and(|list| list.len() == 1 && list[0]["ip"] == "192.0.2.7")
        })
        .await;
    stage.advance(WHILE).await;
    let ingress = stage
        .field("services", "test/lb", "status.loadBalancer.ingress")
        .await;
    assert_eq!(ingress.as_array().map(Vec::len), Some(1), "{ingress}");
}

#[tokio::test(start_paused = true)]
async fn p21_a_kind_without_a_rule_for_health_is_healthy() {
    let stage = Stage::with(1).await;
    stage
        .apply(&all(&[
            crate::stage::config_map("c", "{a: b}"),
            policy("p", crate::stage::CONFIG_MAPS, &on("m1")),
        ]))
        .await;
    stage
        .see("it is healthy", json!("Healthy"), async || {
            stage
                .field("rb", "test/c-configmap", "status.aggregatedStatus.0.health")
                .await
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn p23_a_deployment_without_members_has_observed_its_generation() {
    let stage = Stage::with(1).await;
    stage
        .apply(&all(&[
            deployment("web", 1),
            policy("p", DEPLOYMENTS, &on("m1")),
        ]))
        .await;
    stage
        .shows("deployments", "test/web", "status.readyReplicas", json!(1))
        .await;
    stage.apply(&policy("p", DEPLOYMENTS, &on("nowhere"))).await;
    stage.advance(WHILE).await;
    let web = stage.get("deployments", "test/web").await.unwrap();
    assert_eq!(
        web.integer_at(&["status", "observedGeneration"]),
        Some(web.generation())
    );
}

#[tokio::test(start_paused = true)]
async fn p24_a_kind_without_a_status_part_breaks_nothing() {
    let stage = Stage::with(1).await;
    stage
        .apply("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.acme.io}, spec: {group: acme.io, scope: Namespaced, names: {plural: widgets, singular: widget, kind: Widget}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}")
        .await;
    stage.advance(WHILE).await;
    stage
        .apply(&all(&[
            "{apiVersion: config.karmada.io/v1alpha1, kind: ResourceInterpreterCustomization, metadata: {name: w}, spec: {target: {apiVersion: acme.io/v1, kind: Widget}, customizations: {statusAggregation: {luaScript: \"function AggregateStatus(o, items) o.status = {n = 1} return o end\"}}}}".to_owned(),
            "{apiVersion: acme.io/v1, kind: Widget, metadata: {name: w, namespace: test}, spec: {}}".to_owned(),
            policy("p", "{apiVersion: acme.io/v1, kind: Widget}", &on("m1")),
            crate::stage::cluster_policy("crd", "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, name: widgets.acme.io}", &on("m1")),
        ]))
        .await;
    stage
        .until("the widget is in m1", SOON * 5, async || {
            let crd = stage
                .member("m1")
                .get("customresourcedefinitions", "widgets.acme.io")
                .await;
            crd.is_some() && !stage.works_of("Widget", "w").await.is_empty()
        })
        .await;
    stage
        .until("the widget is applied", SOON * 5, async || {
            let applied = stage.condition("rb", "test/w-widget", "FullyApplied").await;
            applied == "True FullyAppliedSuccess"
        })
        .await;
    assert_eq!(
        stage.field("widgets", "test/w", "status").await,
        json!(null)
    );
    // Others go on.
    stage
        .apply(&all(&[
            deployment("web", 1),
            policy("q", DEPLOYMENTS, &on("m1")),
        ]))
        .await;
    stage
        .shows("deployments", "test/web", "status.readyReplicas", json!(1))
        .await;
}
