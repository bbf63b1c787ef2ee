//! CronFederatedHPAs scale by the clock.

use std::time::Duration;

use world::json;

use crate::stage::{DEPLOYMENTS, SOON, Stage, deployment};

/// A CronFederatedHPA with one rule for every minute.
pub(crate) fn every_minute(target: &str, rule: &str) -> String {
    format!(
        "{{apiVersion: autoscaling.karmada.io/v1alpha1, kind: CronFederatedHPA, metadata: {{name: clock, namespace: test}}, spec: {{scaleTargetRef: {target}, rules: [{{name: up, schedule: '*/1 * * * *', {rule}}}]}}}}"
    )
}

const WEB: &str = "{apiVersion: apps/v1, kind: Deployment, name: web}";
const MINUTE: Duration = Duration::from_secs(61);

#[tokio::test(start_paused = true)]
async fn a_rule_scales_its_target_each_time_and_rests_while_it_is_suspended() {
    let stage = Stage::with(1).await;
    stage
        .spread(&[deployment("web", 1)], DEPLOYMENTS, "m1")
        .await;
    let copy = stage.copy("m1", "deployments", "test/web");
    copy.shows("spec.replicas", 1).await;
    let clock = stage.template("cronfederatedhpas", "test/clock");
    stage
        .apply(&every_minute(WEB, "targetReplicas: 3, suspend: true"))
        .await;
    let history = "status.executionHistories.0";
    clock.shows(&format!("{history}.ruleName"), "up").await;
    stage.advance(MINUTE).await;
    assert_eq!(
        clock.field(&format!("{history}.nextExecutionTime")).await,
        json!(null)
    );
    assert_eq!(copy.field("spec.replicas").await, json!(1));

    stage
        .apply(&every_minute(WEB, "targetReplicas: 3, suspend: false"))
        .await;
    stage.advance(MINUTE).await;
    copy.shows("spec.replicas", 3).await;
    let runs = format!("{history}.successfulExecutions");
    clock.shows(&format!("{runs}.0.appliedReplicas"), 3).await;
    // What is done by hand lasts until the next time; three runs are kept, the latest first.
    let template = stage.template("deployments", "test/web");
    template.patch(json!({"spec": {"replicas": 2}})).await;
    for _ in 0..4 {
        stage.advance(MINUTE).await;
    }
    copy.shows("spec.replicas", 3).await;
    let kept = clock.field(&runs).await;
    let times: Vec<&str> = kept
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|run| run["scheduleTime"].as_str())
        .collect();
    assert_eq!(times.len(), 3, "{kept}");
    assert!(times.is_sorted_by(|a, b| a > b), "{times:?}");
}

#[tokio::test(start_paused = true)]
async fn bounds_of_an_autoscaler_move_and_a_target_that_is_missing_is_told() {
    let stage = Stage::with(1).await;
    stage
        .apply("{apiVersion: autoscaling.karmada.io/v1alpha1, kind: FederatedHPA, metadata: {name: f, namespace: test}, spec: {minReplicas: 2, maxReplicas: 4, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}")
        .await;
    let target = "{apiVersion: autoscaling.karmada.io/v1alpha1, kind: FederatedHPA, name: NAME}";
    let rule = "targetMaxReplicas: 9";
    stage
        .apply(&every_minute(&target.replace("NAME", "f"), rule))
        .await;
    stage.advance(MINUTE).await;
    let autoscaler = stage.template("federatedhpas", "test/f");
    autoscaler.shows("spec.maxReplicas", 9).await;
    assert_eq!(autoscaler.field("spec.minReplicas").await, json!(2));

    stage
        .apply(&every_minute(&target.replace("NAME", "g"), rule))
        .await;
    let clock = stage.template("cronfederatedhpas", "test/clock");
    stage.advance(MINUTE).await;
    let failed = "status.executionHistories.0.failedExecutions.0.message";
    stage
        .until("the failure is told", SOON, async || {
            let message = clock.field(failed).await;
            message
                .as_str()
                .is_some_and(|text| text.contains("not found"))
        })
        .await;
    stage
        .told("CronFederatedHPA", "clock", "ScaleFailed", "not found")
        .await;
}
