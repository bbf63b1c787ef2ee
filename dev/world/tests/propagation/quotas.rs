//! Quotas that are enforced: bindings that would use too much are not placed, and say so.

use world::json;

use crate::stage::{DEPLOYMENTS, SOON, Stage, WHILE, all, deployment, on, policy};

/// A Deployment whose replicas ask for a CPU each.
fn asking(name: &str, replicas: u32) -> String {
    deployment(name, replicas).replacen(
        "image: 'reg.io/app/web:v1'",
        "image: i, resources: {requests: {cpu: '1'}}",
        1,
    )
}

fn quota(cpu: u32) -> String {
    format!(
        "{{apiVersion: policy.karmada.io/v1alpha1, kind: FederatedResourceQuota, metadata: {{name: q, namespace: test}}, spec: {{overall: {{cpu: '{cpu}'}}}}}}"
    )
}

/// The words of admission, which operators look for.
const DENIED: &str = "admission webhook \"resourcebinding.karmada.io\" denied the request";

async fn uses(stage: &Stage, cpu: &str) {
    stage
        .template("federatedresourcequotas", "test/q")
        .shows("status.overallUsed.cpu", json!(cpu))
        .await;
}

#[tokio::test(start_paused = true)]
async fn c36_what_would_use_too_much_is_not_placed_until_there_is_room() {
    let stage = Stage::gated(2, "FederatedQuotaEnforcement=true").await;
    stage.spread(&[quota(5)], DEPLOYMENTS, "m1, m2").await;
    stage.apply(&asking("small", 2)).await;
    stage.copy("m2", "deployments", "test/small").comes().await;
    // Two replicas in each of two members.
    uses(&stage, "4").await;
    stage.apply(&asking("large", 1)).await;
    let binding = stage.template("rb", "test/large-deployment");
    binding.says("Scheduled", "False QuotaExceeded").await;
    let told = "status.conditions.type=Scheduled.message";
    let why = binding.field(told).await;
    let why = why.as_str().unwrap_or_default();
    assert_eq!(
        why,
        format!("{DENIED}: FederatedResourceQuota test/q exceeded: cpu would be 6, limit 5.")
    );
    for (kind, name) in [
        ("ResourceBinding", "test/large-deployment"),
        ("Deployment", "test/large"),
    ] {
        stage
            .told(kind, name, "ScheduleBindingFailed", DENIED)
            .await;
    }
    stage.advance(WHILE).await;
    for member in ["m1", "m2"] {
        let copy = stage.copy(member, "deployments", "test/large").get().await;
        assert!(copy.is_none(), "{member}");
    }
    uses(&stage, "4").await;
    // Somebody else makes room.
    stage.template("deployments", "test/small").delete().await;
    stage
        .until("it is placed", SOON * 10, async || {
            let copy = stage.copy("m2", "deployments", "test/large").get().await;
            copy.is_some()
        })
        .await;
    uses(&stage, "2").await;
}

#[tokio::test(start_paused = true)]
async fn scaling_beyond_a_quota_is_refused_and_what_runs_goes_on() {
    let stage = Stage::gated(1, "FederatedQuotaEnforcement=true").await;
    let web = stage.template("deployments", "test/web");
    let web_in_m1 = stage.copy("m1", "deployments", "test/web");
    stage
        .apply(&all(&[
            quota(3),
            policy("p", DEPLOYMENTS, &on("m1")),
            asking("web", 2),
        ]))
        .await;
    web.shows("status.readyReplicas", 2).await;
    uses(&stage, "2").await;
    web.patch(json!({"spec": {"replicas": 9}})).await;
    web_in_m1.keeps("spec.replicas", 2).await;
    uses(&stage, "2").await;
    web.patch(json!({"spec": {"replicas": 3}})).await;
    web_in_m1.shows("spec.replicas", 3).await;
    uses(&stage, "3").await;
    // Replicas that ask for more are refused when the binding is to say so.
    stage
        .apply(&asking("web", 3).replace("cpu: '1'", "cpu: '2'"))
        .await;
    stage
        .told("Deployment", "test/web", "ApplyPolicyFailed", DENIED)
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_namespace_without_a_quota_is_not_limited() {
    let stage = Stage::gated(1, "FederatedQuotaEnforcement=true").await;
    stage
        .apply(&all(&[
            policy("p", DEPLOYMENTS, &on("m1")),
            asking("web", 1),
        ]))
        .await;
    stage.copy("m1", "deployments", "test/web").comes().await;
}

#[tokio::test(start_paused = true)]
async fn bindings_say_where_replicas_run_if_quotas_of_members_are_heeded() {
    for (gates, expected) in [
        ("ResourceQuotaEstimate=true", json!("test")),
        ("ResourceQuotaEstimate=false", json!(null)),
    ] {
        let stage = Stage::gated(1, gates).await;
        stage
            .apply(&all(&[
                policy("p", DEPLOYMENTS, &on("m1")),
                asking("web", 1),
            ]))
            .await;
        stage.copy("m1", "deployments", "test/web").comes().await;
        let binding = stage.template("rb", "test/web-deployment");
        let place = "spec.replicaRequirements.namespace";
        assert_eq!(binding.field(place).await, expected, "{gates}");
    }
}
