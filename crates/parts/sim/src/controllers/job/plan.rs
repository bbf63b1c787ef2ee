//! What a Job does next.

use std::collections::BTreeSet;
use std::sync::Arc;

use object::time::Time;
use object::{Object, Value};
use serde_json::json;

use crate::controllers::template::pod_of;
use crate::engine::action::{Plan, Writer};
use crate::engine::kind::Kind;
use crate::read;

const INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// The wait after the first failure; it doubles.
const FIRST_WAIT: i64 = 10;
/// The longest wait.
const LONGEST_WAIT: i64 = 360;

/// Everything the decision may look at.
pub(crate) struct Inputs<'a> {
    pub(crate) job: &'a Object,
    pub(crate) pods: &'a [&'a Arc<Object>],
    pub(crate) now: Time,
}

/// What has become of the pods.
struct Tally<'a> {
    active: Vec<&'a Object>,
    ready: usize,
    succeeded: i64,
    failed: i64,
    /// Indexes that have ended well.
    done: BTreeSet<i64>,
}

pub(crate) fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    let job = inputs.job;
    if let Some(finished) = finished_at(job) {
        retire(job, finished, inputs.now, &mut plan);
        return plan;
    }
    let tally = tally(inputs);
    let is_suspended = flag(job, "suspend");
    let started = job
        .text_at(&["status", "startTime"])
        .and_then(|text| text.parse::<Time>().ok());
    let started = if is_suspended {
        None
    } else {
        Some(started.unwrap_or(inputs.now))
    };
    let verdict = verdict(inputs, &tally, started, &mut plan);
    let mut conditions = read::conditions(job);
    if let Some((kind, reason, message)) = &verdict {
        let criterion = if *kind == "Complete" {
            "SuccessCriteriaMet"
        } else {
            "FailureTarget"
        };
        for kind in [criterion, *kind] {
            let condition = json!({
                "type": kind, "status": "True", "reason": reason, "message": message,
                "lastProbeTime": inputs.now.to_string(),
            });
            read::put_condition(&mut conditions, condition, inputs.now);
        }
        for pod in &tally.active {
            plan.delete(Kind::Pod, pod);
        }
        match *kind {
            "Complete" => plan.report(
                job,
                Writer::Controllers,
                "Completed",
                "Job completed".to_owned(),
            ),
            _ => plan.warn(
                job,
                Writer::Controllers,
                "BackoffLimitExceeded",
                message.clone(),
            ),
        }
    } else if is_suspended {
        suspend(inputs, &tally, &mut conditions, &mut plan);
    } else {
        let was_suspended = read::condition(job, "Suspended")
            .is_some_and(|condition| read::text(condition, "status") == "True");
        if was_suspended {
            let condition = json!({"type": "Suspended", "status": "False", "reason": "JobResumed", "message": "Job resumed"});
            read::put_condition(&mut conditions, condition, inputs.now);
        }
        fill(inputs, &tally, &mut plan);
    }
    let status = status(inputs, &tally, started, verdict.as_ref(), conditions);
    plan.status(Kind::Job, job, status, Writer::Controllers);
    plan
}

fn flag(job: &Object, name: &str) -> bool {
    job.at(&["spec", name]).and_then(Value::as_bool) == Some(true)
}

fn finished_at(job: &Object) -> Option<Time> {
    ["Complete", "Failed"].iter().find_map(|kind| {
        let condition = read::condition(job, kind)?;
        (read::text(condition, "status") == "True")
            .then(|| read::time(condition, "lastTransitionTime"))
            .flatten()
    })
}

/// A Job that has ended goes when its time is over.
fn retire(job: &Object, finished: Time, now: Time, plan: &mut Plan) {
    let Some(life) = job.integer_at(&["spec", "ttlSecondsAfterFinished"]) else {
        return;
    };
    let due = finished.plus_seconds(life);
    if now < due {
        plan.wake_at(due);
    } else if !job.is_terminating() {
        plan.delete(Kind::Job, job);
    }
}

fn tally<'a>(inputs: &Inputs<'a>) -> Tally<'a> {
    let count = |phase: &str| {
        let pods = inputs.pods.iter().filter(|pod| read::phase(pod) == phase);
        i64::try_from(pods.count()).unwrap_or(i64::MAX)
    };
    let before = |name: &str| inputs.job.integer_at(&["status", name]).unwrap_or(0);
    let active: Vec<&Object> = inputs
        .pods
        .iter()
        .map(|pod| &***pod)
        .filter(|pod| read::is_active(pod))
        .collect();
    let done = inputs
        .pods
        .iter()
        .filter(|pod| read::phase(pod) == "Succeeded")
        .filter_map(|pod| index_of(pod))
        .collect();
    Tally {
        ready: active.iter().filter(|pod| read::is_ready(pod)).count(),
        active,
        // Pods that were counted and taken away stay counted.
        succeeded: count("Succeeded").max(before("succeeded")),
        failed: count("Failed").max(before("failed")),
        done,
    }
}

fn index_of(pod: &Object) -> Option<i64> {
    pod.annotation(INDEX)?.parse().ok()
}

/// Whether it is over: the condition, its reason and message.
fn verdict(
    inputs: &Inputs<'_>,
    tally: &Tally<'_>,
    started: Option<Time>,
    plan: &mut Plan,
) -> Option<(&'static str, &'static str, String)> {
    let job = inputs.job;
    let limit = job.integer_at(&["spec", "backoffLimit"]).unwrap_or(6);
    let restarts: i64 = tally
        .active
        .iter()
        .flat_map(|pod| read::list(pod, &["status", "containerStatuses"]))
        .filter_map(|status| status.get("restartCount")?.as_i64())
        .fold(0, i64::saturating_add);
    if tally.failed > limit || (restarts > 0 && restarts >= limit.max(1)) {
        let message = "Job has reached the specified backoff limit".to_owned();
        return Some(("Failed", "BackoffLimitExceeded", message));
    }
    let deadline = job.integer_at(&["spec", "activeDeadlineSeconds"]);
    if let (Some(seconds), Some(started)) = (deadline, started) {
        let due = started.plus_seconds(seconds);
        if inputs.now >= due {
            let message = "Job was active longer than specified deadline".to_owned();
            return Some(("Failed", "DeadlineExceeded", message));
        }
        plan.wake_at(due);
    }
    let is_done = match job.integer_at(&["spec", "completions"]) {
        Some(wanted) => tally.succeeded >= wanted,
        None => tally.succeeded > 0 && tally.active.is_empty(),
    };
    let message = "Reached expected number of succeeded pods".to_owned();
    is_done.then_some(("Complete", "CompletionsReached", message))
}

fn suspend(inputs: &Inputs<'_>, tally: &Tally<'_>, conditions: &mut Vec<Value>, plan: &mut Plan) {
    let condition = json!({"type": "Suspended", "status": "True", "reason": "JobSuspended", "message": "Job suspended"});
    read::put_condition(conditions, condition, inputs.now);
    for pod in &tally.active {
        plan.delete(Kind::Pod, pod);
    }
}

/// Makes as many pods as may run at once and are still needed, after a wait if the last one failed.
fn fill(inputs: &Inputs<'_>, tally: &Tally<'_>, plan: &mut Plan) {
    let job = inputs.job;
    let parallel = job.integer_at(&["spec", "parallelism"]).unwrap_or(1).max(0);
    let active = i64::try_from(tally.active.len()).unwrap_or(i64::MAX);
    let needed = match job.integer_at(&["spec", "completions"]) {
        Some(wanted) => (wanted - tally.succeeded).min(parallel),
        // A queue of work: no new ones once one has ended well.
        None if tally.succeeded > 0 => active,
        None => parallel,
    };
    if active > needed {
        let surplus = usize::try_from(active - needed).unwrap_or_default();
        for pod in tally.active.iter().rev().take(surplus) {
            plan.delete(Kind::Pod, pod);
        }
        return;
    }
    if active == needed {
        return;
    }
    if let Some(last) = last_failure(inputs) {
        let doublings = u32::try_from((tally.failed - 1).clamp(0, 10)).unwrap_or(10);
        let wait = FIRST_WAIT.saturating_mul(1 << doublings).min(LONGEST_WAIT);
        let again = last.plus_seconds(wait);
        if inputs.now < again {
            plan.wake_at(again);
            return;
        }
    }
    let is_indexed = job.text_at(&["spec", "completionMode"]) == Some("Indexed");
    let busy: BTreeSet<i64> = tally
        .active
        .iter()
        .filter_map(|pod| index_of(pod))
        .collect();
    let mut free = (0..).filter(|index| !busy.contains(index) && !tally.done.contains(index));
    for _ in active..needed {
        let index = is_indexed.then(|| free.next()).flatten();
        plan.create(Kind::Pod, pod(job, index));
    }
}

fn last_failure(inputs: &Inputs<'_>) -> Option<Time> {
    let failed = inputs
        .pods
        .iter()
        .filter(|pod| read::phase(pod) == "Failed");
    failed
        .flat_map(|pod| read::list(pod, &["status", "containerStatuses"]))
        .filter_map(|status| read::time(status.pointer("/state/terminated")?, "finishedAt"))
        .max()
}

fn pod(job: &Object, index: Option<i64>) -> Value {
    let mut pod = pod_of(job, None);
    let Some(index) = index else { return pod };
    let Some(metadata) = pod.get_mut("metadata").and_then(Value::as_object_mut) else {
        return pod;
    };
    metadata.insert(
        "generateName".to_owned(),
        json!(format!("{}-{index}-", job.name())),
    );
    for field in ["annotations", "labels"] {
        let notes = metadata.entry(field).or_insert_with(|| json!({}));
        if let Some(notes) = notes.as_object_mut() {
            notes.insert(INDEX.to_owned(), json!(index.to_string()));
        }
    }
    if let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert(
            "hostname".to_owned(),
            json!(format!("{}-{index}", job.name())),
        );
    }
    pod
}

fn status(
    inputs: &Inputs<'_>,
    tally: &Tally<'_>,
    started: Option<Time>,
    verdict: Option<&(&'static str, &'static str, String)>,
    conditions: Vec<Value>,
) -> Value {
    let job = inputs.job;
    let is_over = verdict.is_some();
    let active = if is_over { 0 } else { tally.active.len() };
    let ready = if is_over { 0 } else { tally.ready };
    let mut status = json!({"ready": ready, "terminating": 0, "uncountedTerminatedPods": {}});
    let Some(fields) = status.as_object_mut() else {
        return status;
    };
    for (name, count) in [
        ("active", i64::try_from(active).unwrap_or(i64::MAX)),
        ("succeeded", tally.succeeded),
        ("failed", tally.failed),
    ] {
        if count > 0 {
            fields.insert(name.to_owned(), json!(count));
        }
    }
    if let Some(started) = started {
        fields.insert("startTime".to_owned(), json!(started.to_string()));
    }
    if verdict.is_some_and(|verdict| verdict.0 == "Complete") {
        fields.insert("completionTime".to_owned(), json!(inputs.now.to_string()));
    }
    if job.text_at(&["spec", "completionMode"]) == Some("Indexed") && !tally.done.is_empty() {
        fields.insert("completedIndexes".to_owned(), json!(spell(&tally.done)));
    }
    if !conditions.is_empty() {
        fields.insert("conditions".to_owned(), conditions.into());
    }
    status
}

/// Indexes as Kubernetes writes them: `0-2,5`.
fn spell(indexes: &BTreeSet<i64>) -> String {
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for index in indexes {
        match runs.last_mut() {
            Some((_, end)) if *end + 1 == *index => *end = *index,
            _ => runs.push((*index, *index)),
        }
    }
    let parts = runs.iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first},{last}"),
        _ => format!("{first}-{last}"),
    });
    parts.collect::<Vec<_>>().join(",")
}
