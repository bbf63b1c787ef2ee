//! Cases: a rebalancer and bindings in, what is written out.

use std::collections::BTreeMap;

use api::{apps::WorkloadRebalancer, read::read};
use object::{ObjectKey, time::Time};

use super::plan::{Inputs, plan};
use crate::told::{one, told};

const REBALANCER: &str = "{apiVersion: apps.karmada.io/v1alpha1, kind: WorkloadRebalancer, metadata: {name: r, uid: u, generation: 1, creationTimestamp: '2026-01-02T03:00:00Z'}, spec: {workloads: [{apiVersion: apps/v1, kind: Deployment, namespace: test, name: web}]}}";

fn story(document: &str, bindings: &[&str], now: &str) -> String {
    let object = one(document);
    let rebalancer: WorkloadRebalancer = read(&object).unwrap();
    let triggered: BTreeMap<ObjectKey, Option<Time>> = bindings
        .iter()
        .map(|key| (key.parse().unwrap(), None))
        .collect();
    let plan = plan(&Inputs {
        object: &object,
        rebalancer: &rebalancer,
        triggered: &triggered,
        now: now.parse().unwrap(),
    });
    format!(
        "{}\n{}",
        told(&plan),
        serde_json::to_string(&plan.wake).unwrap()
    )
}

#[test]
fn a_workload_is_triggered_with_the_time_of_the_rebalancer() {
    insta::assert_snapshot!(story(REBALANCER, &["test/web-deployment"], "2026-01-02T03:00:05Z"), @r#"
    patch ResourceBinding test/web-deployment {"spec":{"rescheduleTriggeredAt":"2026-01-02T03:00:00Z"}}
    patch WorkloadRebalancer r/status {"status":{"observedWorkloads":[{"workload":{"apiVersion":"apps/v1","kind":"Deployment","name":"web","namespace":"test"},"result":"Successful"}],"observedGeneration":1,"finishTime":"2026-01-02T03:00:05Z"}}
    "onChange"
    "#);
}

#[test]
fn a_rebalancer_goes_when_its_time_to_live_is_over() {
    let short = REBALANCER.replace("spec: {", "spec: {ttlSecondsAfterFinished: 60, ");
    let text = story(&short, &[], "2026-01-02T03:00:05Z");
    assert!(text.contains("ReferencedBindingNotFound"), "{text}");
    assert!(text.ends_with(r#""2026-01-02T03:01:05Z""#), "{text}");
    let at_once = REBALANCER.replace("spec: {", "spec: {ttlSecondsAfterFinished: 0, ");
    assert!(
        story(&at_once, &[], "2026-01-02T03:00:05Z")
            .contains("delete WorkloadRebalancer r: it has finished")
    );
}
