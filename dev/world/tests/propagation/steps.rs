//! Whoever follows an object closely is told each step, by the reasons that are published.

use crate::stage::{
    DEPLOYMENTS, SOON, Stage, all, config_map, deployment, one_deployment, overriding, policy,
};

#[tokio::test(start_paused = true)]
async fn each_step_from_a_template_to_its_members_and_back_is_told() {
    let stage = Stage::with(1).await;
    let with_config = deployment("web", 2).replace(
        "containers:",
        "volumes: [{name: v, configMap: {name: settings}}], containers:",
    );
    let labels = "{labelsOverrider: [{operator: add, value: {only: here}}]}";
    stage
        .apply(&all(&[
            config_map("settings", "{a: b}"),
            with_config,
            overriding("o", &one_deployment("web"), "", labels),
            policy(
                "p",
                DEPLOYMENTS,
                "propagateDeps: true, placement: {clusterAffinity: {clusterNames: [m1]}}",
            ),
        ]))
        .await;
    for (reason, message) in [
        ("ApplyPolicySucceed", "PropagationPolicy test/p"),
        ("GetReplicasSucceed", "2 replicas"),
        ("GetDependenciesSucceed", "ConfigMap settings"),
        ("ApplyOverridePolicySucceed", "m1"),
        ("ScheduleBindingSucceed", ""),
        ("SyncWorkSucceed", ""),
        ("AggregateStatusSucceed", ""),
    ] {
        stage.told("Deployment", "test/web", reason, message).await;
    }
    for (reason, message) in [
        (
            "SyncScheduleResultToDependenciesSucceed",
            "ConfigMap test/settings",
        ),
        ("AggregateStatusSucceed", ""),
    ] {
        let binding = "test/web-deployment";
        stage
            .told("ResourceBinding", binding, reason, message)
            .await;
    }
    stage
        .until("there is a work", SOON, async || {
            stage.work("Deployment", "web", "m1").await.is_some()
        })
        .await;
    let work = stage.work("Deployment", "web", "m1").await.unwrap();
    for (reason, message) in [
        (
            "WorkDispatching",
            "Work is being dispatched to member clusters.",
        ),
        ("SyncSucceed", ""),
        ("ReflectStatusSucceed", "Deployment test/web"),
        ("InterpretHealthSucceed", "Deployment test/web"),
    ] {
        stage.told("Work", work.name(), reason, message).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_steps_of_a_quota_are_told() {
    let stage = Stage::with(1).await;
    stage
        .apply("{apiVersion: policy.karmada.io/v1alpha1, kind: FederatedResourceQuota, metadata: {name: q, namespace: test}, spec: {overall: {cpu: 8}, staticAssignments: [{clusterName: m1, hard: {cpu: 8}}]}}")
        .await;
    for reason in [
        "SyncWorkSucceed",
        "AggregateStatusSucceed",
        "CollectOverallStatusSucceed",
    ] {
        stage
            .told("FederatedResourceQuota", "test/q", reason, "")
            .await;
    }
}
