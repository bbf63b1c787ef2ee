//! What Jobs decide, as tables.

use std::sync::Arc;

use object::time::Time;
use object::{Object, Value};
use serde_json::json;

use super::plan::{Inputs, plan};
use crate::engine::action::Action;

const START: i64 = 1_800_000_000;

fn at(second: i64) -> Time {
    Time::from_unix_seconds(START + second)
}

/// A pod of an index, in a phase, that ended at a second with a code.
fn pod(name: &str, phase: &str, index: Option<i64>, ended: i64, code: i64) -> Arc<Object> {
    let mut pod = json!({
        "metadata": {"name": name, "namespace": "d", "uid": name, "creationTimestamp": at(0).to_string()},
        "status": {"phase": phase},
    });
    if let Some(index) = index {
        pod["metadata"]["annotations"] =
            json!({"batch.kubernetes.io/job-completion-index": index.to_string()});
    }
    if matches!(phase, "Failed" | "Succeeded") {
        let terminated = json!({"exitCode": code, "finishedAt": at(ended).to_string()});
        pod["status"]["containerStatuses"] =
            json!([{"name": "c", "state": {"terminated": terminated}}]);
    }
    Arc::new(Object::from_value(pod).unwrap())
}

/// What is done about a Job, in short: pods made with their index, pods deleted, what was told, and the end.
fn check(spec: Value, status: Value, pods: &[Arc<Object>], second: i64) -> String {
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "d", "uid": "j"},
        "spec": spec, "status": status,
    });
    let job = Object::from_value(job).unwrap();
    let pods: Vec<&Arc<Object>> = pods.iter().collect();
    let plan = plan(&Inputs {
        job: &job,
        pods: &pods,
        now: at(second),
    });
    let mut shown: Vec<String> = Vec::new();
    for action in &plan.actions {
        match action {
            Action::Create { object, .. } => {
                let index =
                    &object["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"];
                shown.push(format!("+{}", index.as_str().unwrap_or("pod")));
            }
            Action::Delete { of, .. } => {
                shown.push(format!("-{}", of.path.rsplit('/').next().unwrap()))
            }
            Action::Report(report) => match report.reason {
                "SuccessfulDelete" => {}
                reason => shown.push(reason.to_owned()),
            },
            Action::Status { status, .. } => {
                let counts = ["active", "succeeded", "failed"]
                    .map(|name| status[name].as_i64().unwrap_or(0));
                shown.push(format!("{}/{}/{}", counts[0], counts[1], counts[2]));
                for name in ["completedIndexes", "failedIndexes"] {
                    if let Some(text) = status[name].as_str() {
                        shown.push(format!("{name}={text}"));
                    }
                }
                let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
                for condition in conditions
                    .iter()
                    .filter(|condition| condition["status"] == "True")
                {
                    shown.push(condition["type"].as_str().unwrap().to_owned());
                }
            }
            other => shown.push(format!("{other:?}")),
        }
    }
    if let Some(wake) = plan.wake {
        shown.push(format!("@{}", wake.unix_seconds() - START));
    }
    shown.join(" ")
}

#[test]
fn pods_are_made_until_enough_have_ended_well() {
    let running = || pod("r", "Running", None, 0, 0);
    let well = |name: &str| pod(name, "Succeeded", None, 5, 0);
    for (spec, pods, expected) in [
        (json!({"completions": 1}), vec![], "+pod 0/0/0"),
        (
            json!({"completions": 3, "parallelism": 2}),
            vec![],
            "+pod +pod 0/0/0",
        ),
        (
            json!({"completions": 3, "parallelism": 2}),
            vec![running(), well("a")],
            "+pod 1/1/0",
        ),
        (
            json!({"completions": 2, "parallelism": 2}),
            vec![running(), well("a")],
            "1/1/0",
        ),
        (
            json!({"completions": 1}),
            vec![well("a")],
            "Completed 0/1/0 SuccessCriteriaMet Complete",
        ),
        (
            json!({"completions": 1, "parallelism": 0}),
            vec![running()],
            "-r 1/0/0",
        ),
        // A queue of work: none is added once one has ended well, and it is over when all have.
        (
            json!({"parallelism": 3}),
            vec![running(), well("a")],
            "1/1/0",
        ),
        (
            json!({"parallelism": 3}),
            vec![well("a")],
            "Completed 0/1/0 SuccessCriteriaMet Complete",
        ),
        (
            json!({"completions": 1, "suspend": true}),
            vec![running()],
            "Suspended -r 1/0/0 Suspended",
        ),
    ] {
        let shown = spec.to_string();
        assert_eq!(check(spec, json!({}), &pods, 10), expected, "{shown}");
    }
}

#[test]
fn failures_count_wait_and_end_a_job() {
    let failed = |name: &str, ended: i64| pod(name, "Failed", None, ended, 1);
    let limit = json!({"completions": 1, "backoffLimit": 1});
    for (spec, pods, second, expected) in [
        (limit.clone(), vec![failed("a", 5)], 6, "0/0/1 @15"),
        (limit.clone(), vec![failed("a", 5)], 15, "+pod 0/0/1"),
        (
            limit,
            vec![failed("a", 5), failed("b", 20)],
            20,
            "BackoffLimitExceeded 0/0/2 FailureTarget Failed",
        ),
        (
            json!({"completions": 1, "activeDeadlineSeconds": 30}),
            vec![pod("r", "Running", None, 0, 0)],
            29,
            "1/0/0 @30",
        ),
        (
            json!({"completions": 1, "activeDeadlineSeconds": 30}),
            vec![pod("r", "Running", None, 0, 0)],
            30,
            "-r DeadlineExceeded 0/0/0 FailureTarget Failed",
        ),
    ] {
        let shown = format!("{spec} at {second}");
        let status = json!({"startTime": at(0).to_string()});
        assert_eq!(check(spec, status, &pods, second), expected, "{shown}");
    }
}

#[test]
fn rules_say_what_a_failure_means() {
    let failed = |code: i64| pod("a", "Failed", None, 5, code);
    let rules = json!([
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
        {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [7]}},
    ]);
    let spec = json!({"completions": 1, "backoffLimit": 0, "podFailurePolicy": {"rules": rules}});
    for (code, expected) in [
        (42, "PodFailurePolicy 0/0/1 FailureTarget Failed"),
        (7, "+pod 0/0/0"),
        (1, "BackoffLimitExceeded 0/0/1 FailureTarget Failed"),
    ] {
        assert_eq!(
            check(spec.clone(), json!({}), &[failed(code)], 60),
            expected,
            "{code}"
        );
    }
}

#[test]
fn every_index_ends_for_itself() {
    let well = |index: i64| pod(&format!("w{index}"), "Succeeded", Some(index), 5, 0);
    let failed = |name: &str, index: i64| pod(name, "Failed", Some(index), 5, 1);
    let spec = json!({"completionMode": "Indexed", "completions": 3, "parallelism": 3});
    let with = |field: &str, value: Value| {
        let mut spec = spec.clone();
        spec[field] = value;
        spec
    };
    let per_index = with("backoffLimitPerIndex", json!(0));
    let mut one_lost = per_index.clone();
    one_lost["maxFailedIndexes"] = json!(0);
    for (spec, status, pods, expected) in [
        (spec.clone(), json!({}), vec![], "+0 +1 +2 0/0/0"),
        (
            spec.clone(),
            json!({}),
            vec![well(1)],
            "+0 +2 0/1/0 completedIndexes=1",
        ),
        (
            spec.clone(),
            json!({"completedIndexes": "0,1", "succeeded": 2}),
            vec![well(2)],
            "Completed 0/3/0 completedIndexes=0-2 SuccessCriteriaMet Complete",
        ),
        (
            per_index.clone(),
            json!({}),
            vec![failed("a", 0)],
            "+1 +2 0/0/1 failedIndexes=0",
        ),
        (
            per_index,
            json!({}),
            vec![failed("a", 0), well(1), well(2)],
            "FailedIndexes 0/2/1 completedIndexes=1,2 failedIndexes=0 FailureTarget Failed",
        ),
        (
            one_lost,
            json!({}),
            vec![failed("a", 0)],
            "MaxFailedIndexesExceeded 0/0/1 failedIndexes=0 FailureTarget Failed",
        ),
        (
            with(
                "successPolicy",
                json!({"rules": [{"succeededIndexes": "0"}]}),
            ),
            json!({}),
            vec![well(0), pod("r", "Running", Some(1), 0, 0)],
            "-r Completed 0/1/0 completedIndexes=0 SuccessCriteriaMet Complete",
        ),
    ] {
        let shown = format!("{spec} {status}");
        assert_eq!(check(spec, status, &pods, 60), expected, "{shown}");
    }
}

#[test]
fn a_job_that_has_ended_goes_when_its_time_is_over() {
    let over = json!({"conditions": [
        {"type": "Complete", "status": "True", "lastTransitionTime": at(0).to_string()},
    ]});
    let spec = json!({"ttlSecondsAfterFinished": 30});
    assert_eq!(check(spec.clone(), over.clone(), &[], 29), "@30");
    assert_eq!(check(spec, over.clone(), &[], 30), "-j");
    assert_eq!(check(json!({}), over, &[], 9999), "");
}

#[test]
fn a_job_of_another_controller_is_left_alone_until_its_time_is_over() {
    let over = json!({"conditions": [
        {"type": "Complete", "status": "True", "lastTransitionTime": at(0).to_string()},
    ]});
    let spec = |name: &str| json!({"managedBy": name, "ttlSecondsAfterFinished": 30});
    let theirs = spec("example.com/controller");
    assert_eq!(check(theirs.clone(), json!({}), &[], 0), "");
    assert_eq!(check(theirs, over, &[], 30), "-j");
    let ours = spec("kubernetes.io/job-controller");
    assert_eq!(check(ours, json!({}), &[], 0), "+pod 0/0/0");
}

#[test]
fn a_pod_on_its_way_out_may_have_to_end_before_it_is_replaced() {
    let going = |phase: &str| {
        let mut pod = Value::Object(pod("a", phase, Some(0), 5, 143).fields().clone());
        pod["metadata"]["deletionTimestamp"] = json!(at(5).to_string());
        Arc::new(Object::from_value(pod).unwrap())
    };
    for (mode, policy, phase, expected) in [
        ("NonIndexed", "TerminatingOrFailed", "Running", "+pod 0/0/0"),
        ("NonIndexed", "Failed", "Running", "0/0/0"),
        ("NonIndexed", "Failed", "Failed", "0/0/1 @15"),
        ("Indexed", "TerminatingOrFailed", "Running", "+0 +1 0/0/0"),
        ("Indexed", "Failed", "Running", "+1 0/0/0"),
    ] {
        let count = if mode == "Indexed" { 2 } else { 1 };
        let spec = json!({
            "completions": count, "parallelism": count, "completionMode": mode, "podReplacementPolicy": policy,
        });
        let shown = check(spec, json!({}), &[going(phase)], 6);
        assert_eq!(shown, expected, "{mode} {policy} {phase}");
    }
}
