//! What a Job does next.

use std::collections::BTreeSet;
use std::sync::Arc;

use object::time::Time;
use object::{Object, Value};
use serde_json::json;

use crate::controllers::job::indexes;
use crate::controllers::job::tally::{
    INDEX, Tally, index_of, is_indexed, restarts, tally, waits_for_failure,
};
use crate::controllers::template::pod_of;
use crate::engine::action::{Plan, Writer};
use crate::engine::kind::Kind;
use crate::read;

/// The wait after the first failure; it doubles.
const FIRST_WAIT: i64 = 10;
/// The longest wait.
const LONGEST_WAIT: i64 = 360;
const BY: Writer = Writer::Controllers;

/// Everything the decision may look at.
pub(crate) struct Inputs<'a> {
    pub(crate) job: &'a Object,
    pub(crate) pods: &'a [&'a Arc<Object>],
    pub(crate) now: Time,
}

/// How a Job ends.
struct End {
    /// `Complete` or `Failed`.
    kind: &'static str,
    reason: &'static str,
    message: String,
}

impl End {
    fn failed(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind: "Failed",
            reason,
            message: message.into(),
        }
    }
}

pub(crate) fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    let job = inputs.job;
    if let Some(finished) = finished_at(job) {
        retire(job, finished, inputs.now, &mut plan);
        return plan;
    }
    if is_managed_elsewhere(job) {
        return plan;
    }
    let tally = tally(inputs);
    let is_suspended = flag(job, "suspend");
    let started = job
        .text_at(&["status", "startTime"])
        .and_then(|text| text.parse::<Time>().ok());
    // Upstream: a Job that is suspended begins anew when it is resumed, as far as its deadline goes.
    let started = (!is_suspended).then(|| started.unwrap_or(inputs.now));
    let end = end(inputs, &tally, started, &mut plan);
    let mut conditions = read::conditions(job);
    match &end {
        Some(end) => finish(inputs, &tally, end, &mut conditions, &mut plan),
        None if is_suspended => {
            if tell(
                &mut conditions,
                inputs,
                "True",
                "JobSuspended",
                "Job suspended",
            ) {
                plan.report(job, BY, "Suspended", "Job suspended".to_owned());
            }
            dismiss(job, &tally.active, &mut plan);
        }
        None => {
            let was_suspended = read::condition(job, "Suspended").is_some();
            if was_suspended
                && tell(
                    &mut conditions,
                    inputs,
                    "False",
                    "JobResumed",
                    "Job resumed",
                )
            {
                plan.report(job, BY, "Resumed", "Job resumed".to_owned());
            }
            if !job.is_terminating() {
                fill(inputs, &tally, &mut plan);
            }
        }
    }
    let status = status(inputs, &tally, started, end.as_ref(), conditions);
    plan.status(Kind::Job, job, status, BY);
    plan
}

/// Whether a Job is left to a controller of somebody else's, by the name it gives.
pub(crate) fn is_managed_elsewhere(job: &Object) -> bool {
    let name = job.text_at(&["spec", "managedBy"]);
    name.is_some_and(|name| name != "kubernetes.io/job-controller")
}

/// Says whether it is suspended; whether that is news.
fn tell(
    conditions: &mut Vec<Value>,
    inputs: &Inputs<'_>,
    state: &str,
    reason: &str,
    message: &str,
) -> bool {
    let known = read::condition(inputs.job, "Suspended");
    let is_news = known.is_none_or(|known| read::text(known, "status") != state);
    let condition = json!({
        "type": "Suspended", "status": state, "reason": reason, "message": message,
    });
    if is_news {
        read::put_condition(conditions, condition, inputs.now);
    }
    is_news
}

fn finish(
    inputs: &Inputs<'_>,
    tally: &Tally<'_>,
    end: &End,
    conditions: &mut Vec<Value>,
    plan: &mut Plan,
) {
    let criterion = match end.kind {
        "Complete" => "SuccessCriteriaMet",
        _ => "FailureTarget",
    };
    for kind in [criterion, end.kind] {
        let condition = json!({
            "type": kind, "status": "True", "reason": end.reason, "message": end.message,
            "lastProbeTime": inputs.now.to_string(),
        });
        read::put_condition(conditions, condition, inputs.now);
    }
    dismiss(inputs.job, &tally.active, plan);
    match end.kind {
        "Complete" => plan.report(inputs.job, BY, "Completed", "Job completed".to_owned()),
        _ => plan.warn(inputs.job, BY, end.reason, end.message.clone()),
    }
}

fn dismiss(job: &Object, pods: &[&Object], plan: &mut Plan) {
    for pod in pods {
        plan.delete(Kind::Pod, pod);
        let message = format!("Deleted pod: {}", pod.name());
        plan.report(job, BY, "SuccessfulDelete", message);
    }
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

/// Whether it is over, and how.
fn end(
    inputs: &Inputs<'_>,
    tally: &Tally<'_>,
    started: Option<Time>,
    plan: &mut Plan,
) -> Option<End> {
    let job = inputs.job;
    if let Some(why) = &tally.doom {
        return Some(End::failed("PodFailurePolicy", why.as_str()));
    }
    let by_index = job.integer_at(&["spec", "backoffLimitPerIndex"]).is_some();
    // Upstream: with limits for each index there is none for all together unless it is set.
    let usual = if by_index { i64::from(i32::MAX) } else { 6 };
    let limit = job.integer_at(&["spec", "backoffLimit"]).unwrap_or(usual);
    let restarts = restarts(tally);
    if tally.failed > limit || (restarts > 0 && restarts >= limit.max(1)) {
        let message = "Job has reached the specified backoff limit";
        return Some(End::failed("BackoffLimitExceeded", message));
    }
    let deadline = job.integer_at(&["spec", "activeDeadlineSeconds"]);
    if let (Some(seconds), Some(started)) = (deadline, started) {
        let due = started.plus_seconds(seconds);
        if inputs.now >= due {
            let message = "Job was active longer than specified deadline";
            return Some(End::failed("DeadlineExceeded", message));
        }
        plan.wake_at(due);
    }
    let lost = i64::try_from(tally.lost.len()).unwrap_or(i64::MAX);
    let most_lost = job.integer_at(&["spec", "maxFailedIndexes"]);
    if most_lost.is_some_and(|most| lost > most) {
        let message = "Job has exceeded the specified maximal number of failed indexes";
        return Some(End::failed("MaxFailedIndexesExceeded", message));
    }
    if let Some(end) = enough(inputs, tally) {
        return Some(end);
    }
    let wanted = job.integer_at(&["spec", "completions"]);
    let is_done = match wanted {
        Some(wanted) => tally.succeeded.saturating_add(lost) >= wanted,
        None => tally.succeeded > 0 && tally.active.is_empty(),
    };
    if is_done && lost > 0 {
        return Some(End::failed("FailedIndexes", "Job has failed indexes"));
    }
    is_done.then(|| End {
        kind: "Complete",
        reason: "CompletionsReached",
        message: "Reached expected number of succeeded pods".to_owned(),
    })
}

/// Whether a rule of the success policy is met.
fn enough(inputs: &Inputs<'_>, tally: &Tally<'_>) -> Option<End> {
    let job = inputs.job;
    let wanted = job.integer_at(&["spec", "completions"]).unwrap_or(0);
    let rules = read::list(job, &["spec", "successPolicy", "rules"]);
    let met = rules.iter().position(|rule| {
        let meant: Option<BTreeSet<i64>> = rule
            .get("succeededIndexes")
            .and_then(Value::as_str)
            .map(|text| indexes::read(text, wanted));
        let counts = |index: &&i64| meant.as_ref().is_none_or(|meant| meant.contains(*index));
        let count = tally.done.iter().filter(counts).count();
        let needed = rule
            .get("succeededCount")
            .and_then(Value::as_u64)
            .and_then(|count| usize::try_from(count).ok())
            .or_else(|| meant.as_ref().map(BTreeSet::len));
        needed.is_some_and(|needed| needed > 0 && count >= needed)
    });
    met.map(|place| End {
        kind: "Complete",
        reason: "SuccessPolicy",
        message: format!("Matched rules at index {place}"),
    })
}

/// Makes as many pods as may run at once and are still needed, after a wait if the last one failed.
fn fill(inputs: &Inputs<'_>, tally: &Tally<'_>, plan: &mut Plan) {
    let job = inputs.job;
    let parallel = job.integer_at(&["spec", "parallelism"]).unwrap_or(1).max(0);
    let active = i64::try_from(tally.active.len()).unwrap_or(i64::MAX);
    let lost = i64::try_from(tally.lost.len()).unwrap_or(i64::MAX);
    let needed = match job.integer_at(&["spec", "completions"]) {
        Some(wanted) => (wanted - tally.succeeded - lost).clamp(0, parallel),
        // A queue of work: no new ones once one has ended well.
        None if tally.succeeded > 0 => active.min(parallel),
        None => parallel,
    };
    if active > needed {
        let surplus = usize::try_from(active - needed).unwrap_or_default();
        let youngest: Vec<&Object> = tally.active.iter().rev().copied().take(surplus).collect();
        dismiss(job, &youngest, plan);
        return;
    }
    // Pods whose places are not free yet.
    let going = match waits_for_failure(job) {
        true => tally.terminating.as_slice(),
        false => &[],
    };
    let taken = active.saturating_add(i64::try_from(going.len()).unwrap_or(i64::MAX));
    if taken >= needed {
        return;
    }
    if let Some(last) = tally.last_failure {
        let doublings = u32::try_from((tally.failed - 1).clamp(0, 10)).unwrap_or(10);
        let wait = FIRST_WAIT.saturating_mul(1 << doublings).min(LONGEST_WAIT);
        let again = last.plus_seconds(wait);
        if inputs.now < again {
            plan.wake_at(again);
            return;
        }
    }
    let missing = usize::try_from(needed - taken).unwrap_or_default();
    if !is_indexed(job) {
        for _ in 0..missing {
            plan.create_pod(job, pod_of(job, None));
        }
        return;
    }
    let busy: BTreeSet<i64> = tally
        .active
        .iter()
        .chain(going)
        .filter_map(|pod| index_of(pod))
        .collect();
    let wanted = job.integer_at(&["spec", "completions"]).unwrap_or(0);
    let is_free = |index: &i64| {
        !busy.contains(index) && !tally.done.contains(index) && !tally.lost.contains(index)
    };
    for index in (0..wanted).filter(is_free).take(missing) {
        let failures = tally.failures_of.get(&index).copied().unwrap_or(0);
        plan.create_pod(job, pod(job, index, failures));
    }
}

/// The pod of an index: it can tell which one it is.
fn pod(job: &Object, index: i64, failures: i64) -> Value {
    let mut pod = pod_of(job, None);
    let Some(metadata) = pod.get_mut("metadata").and_then(Value::as_object_mut) else {
        return pod;
    };
    let prefix = format!("{}-{index}-", job.name());
    metadata.insert("generateName".to_owned(), json!(prefix));
    for field in ["annotations", "labels"] {
        let notes = metadata.entry(field).or_insert_with(|| json!({}));
        if let Some(notes) = notes.as_object_mut() {
            notes.insert(INDEX.to_owned(), json!(index.to_string()));
            if field == "annotations" && job.at(&["spec", "backoffLimitPerIndex"]).is_some() {
                let name = "batch.kubernetes.io/job-index-failure-count".to_owned();
                notes.insert(name, json!(failures.to_string()));
            }
        }
    }
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
        return pod;
    };
    let host = format!("{}-{index}", job.name());
    spec.insert("hostname".to_owned(), json!(host));
    let from = format!("metadata.annotations['{INDEX}']");
    let entry = json!({
        "name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": from}},
    });
    for list in ["containers", "initContainers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        for container in containers
            .into_iter()
            .flatten()
            .filter_map(Value::as_object_mut)
        {
            let variables = container.entry("env").or_insert_with(|| json!([]));
            if let Some(variables) = variables.as_array_mut() {
                variables.push(entry.clone());
            }
        }
    }
    pod
}

fn status(
    inputs: &Inputs<'_>,
    tally: &Tally<'_>,
    started: Option<Time>,
    end: Option<&End>,
    conditions: Vec<Value>,
) -> Value {
    let job = inputs.job;
    let is_over = end.is_some();
    let active = if is_over { 0 } else { tally.active.len() };
    let ready = if is_over { 0 } else { tally.ready };
    let terminating = if is_over { 0 } else { tally.terminating.len() };
    let mut status =
        json!({"ready": ready, "terminating": terminating, "uncountedTerminatedPods": {}});
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
    if end.is_some_and(|end| end.kind == "Complete") {
        fields.insert("completionTime".to_owned(), json!(inputs.now.to_string()));
    }
    if is_indexed(job) {
        for (name, set) in [
            ("completedIndexes", &tally.done),
            ("failedIndexes", &tally.lost),
        ] {
            if !set.is_empty() {
                fields.insert(name.to_owned(), json!(indexes::spell(set)));
            }
        }
    }
    if !conditions.is_empty() {
        fields.insert("conditions".to_owned(), conditions.into());
    }
    status
}
