//! What clusters are marked with, and what namespaces may use of them.

use world::json;

use crate::stage::{DEPLOYMENTS, SOON, Stage, WHILE, deployment};

const DOWN: &str = "{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterTaintPolicy, metadata: {name: dns}, spec: {addOnConditions: [{conditionType: DnsReady, operator: In, statusValues: ['False']}], removeOnConditions: [{conditionType: DnsReady, operator: In, statusValues: ['True']}], taints: [{key: dns, effect: NoSchedule}]}}";

async fn dns(stage: &Stage, cluster: &str, status: &str) {
    let mut conditions = stage
        .template("clusters", cluster)
        .field("status.conditions")
        .await;
    let list = conditions.as_array_mut().unwrap();
    list.retain(|condition| condition["type"] != "DnsReady");
    list.push(json!({"type": "DnsReady", "status": status, "reason": "Test", "message": "", "lastTransitionTime": "2030-01-01T00:00:00Z"}));
    stage
        .template("clusters", cluster)
        .patch_status(json!({"status": {"conditions": conditions}}))
        .await;
}

async fn is_tainted(stage: &Stage, cluster: &str) -> bool {
    let taints = stage
        .template("clusters", cluster)
        .field("spec.taints")
        .await;
    taints
        .as_array()
        .into_iter()
        .flatten()
        .any(|taint| taint["key"] == "dns")
}

#[tokio::test(start_paused = true)]
async fn c30_conditions_of_a_cluster_put_taints_on_it_and_take_them_off() {
    for (gates, expected) in [("Failover=true", true), ("", false)] {
        let stage = Stage::gated(2, gates).await;
        stage.apply(DOWN).await;
        dns(&stage, "m1", "False").await;
        stage.advance(WHILE).await;
        assert_eq!(is_tainted(&stage, "m1").await, expected, "{gates}");
        assert!(!is_tainted(&stage, "m2").await);
        if expected {
            dns(&stage, "m1", "True").await;
            stage
                .until("the taint goes", SOON, async || {
                    !is_tainted(&stage, "m1").await
                })
                .await;
            dns(&stage, "m1", "False").await;
            stage
                .until("it comes again", SOON, async || {
                    is_tainted(&stage, "m1").await
                })
                .await;
            // Taints stay when their policy goes.
            stage.template("clustertaintpolicies", "dns").delete().await;
            stage.advance(WHILE).await;
            assert!(is_tainted(&stage, "m1").await);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn c31_remedies_call_for_actions_as_long_as_they_are_there() {
    let stage = Stage::with(2).await;
    stage
        .apply("{apiVersion: remedy.karmada.io/v1alpha1, kind: Remedy, metadata: {name: r}, spec: {actions: [TrafficControl]}}")
        .await;
    for cluster in ["m1", "m2"] {
        stage
            .template("clusters", cluster)
            .shows("status.remedyActions", json!(["TrafficControl"]))
            .await;
    }
    // The cluster's own reports leave them alone.
    stage.advance(SOON * 10).await;
    stage
        .template("clusters", "m1")
        .shows("status.remedyActions", json!(["TrafficControl"]))
        .await;
    stage.template("remedies", "r").delete().await;
    for cluster in ["m1", "m2"] {
        stage
            .template("clusters", cluster)
            .shows("status.remedyActions", json!(null))
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn c35_a_quota_is_shared_out_and_what_is_used_comes_back() {
    let stage = Stage::with(2).await;
    let q_in_m1 = stage.copy("m1", "resourcequotas", "test/q");
    let q_in_m2 = stage.copy("m2", "resourcequotas", "test/q");
    let q = stage.template("federatedresourcequotas", "test/q");
    let quota = |shares: &str| {
        format!(
            "{{apiVersion: policy.karmada.io/v1alpha1, kind: FederatedResourceQuota, metadata: {{name: q, namespace: test}}, spec: {{overall: {{pods: '10'}}, staticAssignments: [{shares}]}}}}"
        )
    };
    stage
        .apply(&quota(
            "{clusterName: m1, hard: {pods: '4'}}, {clusterName: m2, hard: {pods: '2'}}",
        ))
        .await;
    q_in_m1.shows("spec.hard.pods", "4").await;
    q_in_m2.shows("spec.hard.pods", "2").await;
    q.shows("status.overall.pods", "10").await;
    stage
        .member("m1")
        .apply("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: test}, spec: {containers: [{name: c, image: i}]}}")
        .await;
    q.shows("status.overallUsed.pods", "1").await;
    q.shows("status.aggregatedStatus.clusterName=m1.used.pods", "1")
        .await;
    stage
        .apply(&quota("{clusterName: m1, hard: {pods: '5'}}"))
        .await;
    q_in_m1.shows("spec.hard.pods", "5").await;
    q_in_m2.goes().await;
    q.delete().await;
    q_in_m1.goes().await;
    let refused = stage
        .try_apply(&quota("{clusterName: m1, hard: {pods: '11'}}"))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("overall is less than assignments"),
        "{refused}"
    );
}

#[tokio::test(start_paused = true)]
async fn c37_a_rebalancer_tells_whom_it_had_placed_anew_and_whom_it_did_not_find() {
    let stage = Stage::with(1).await;
    stage
        .spread(&[deployment("web", 2)], DEPLOYMENTS, "m1")
        .await;
    stage.copy("m1", "deployments", "test/web").comes().await;
    let workload = |name: &str| {
        format!("{{apiVersion: apps/v1, kind: Deployment, namespace: test, name: {name}}}")
    };
    stage
        .apply(&format!(
            "{{apiVersion: apps.karmada.io/v1alpha1, kind: WorkloadRebalancer, metadata: {{name: anew}}, spec: {{workloads: [{}, {}]}}}}",
            workload("web"),
            workload("nowhere")
        ))
        .await;
    let anew = stage.template("workloadrebalancers", "anew");
    let result = async |name: &str| {
        let observed = anew.field("status.observedWorkloads").await;
        let mut all = observed.as_array().cloned().unwrap_or_default().into_iter();
        let found = all.find(|one| one["workload"]["name"] == json!(name));
        let found = found.unwrap_or_default();
        format!("{} {}", found["result"], found["reason"])
    };
    stage
        .until("both are told", SOON, async || {
            result("web").await == "\"Successful\" null"
                && result("nowhere").await == "\"Failed\" \"ReferencedBindingNotFound\""
        })
        .await;
    let made = anew.field("metadata.creationTimestamp").await;
    let binding = stage.template("rb", "test/web-deployment");
    assert_eq!(binding.field("spec.rescheduleTriggeredAt").await, made);
    anew.patch(json!({"spec": {"ttlSecondsAfterFinished": 0}}))
        .await;
    anew.goes().await;
}
