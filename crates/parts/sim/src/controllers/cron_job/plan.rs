//! Whether a Job is due, and which old ones go.

use std::cmp::Reverse;
use std::sync::Arc;

use calendar::{Schedule, ScheduleError};
use object::time::Time;
use object::{Object, Value};
use serde_json::json;

use crate::engine::action::{Plan, Writer};
use crate::engine::kind::Kind;
use crate::read;

/// Everything the decision may look at.
pub(crate) struct Inputs<'a> {
    pub(crate) cron: &'a Object,
    pub(crate) jobs: &'a [&'a Arc<Object>],
    pub(crate) now: Time,
}

/// More missed times than this are not counted one by one.
const MOST_MISSED: usize = 100;
const BY: Writer = Writer::Controllers;

pub(crate) fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    let cron = inputs.cron;
    let (finished, active): (Vec<&Object>, Vec<&Object>) = inputs
        .jobs
        .iter()
        .map(|job| &***job)
        .partition(|job| is_finished(job));
    say_finished(cron, &finished, &mut plan);
    say_missing(inputs, &mut plan);
    let last = cron
        .text_at(&["status", "lastScheduleTime"])
        .and_then(|text| text.parse::<Time>().ok());
    let begun = run(inputs, &active, last, &mut plan);
    let scheduled = begun.or(last);
    tidy(cron, &finished, &mut plan);
    let mut status = json!({});
    if let Some(fields) = status.as_object_mut() {
        // The ones just made follow when they have a uid.
        // Upstream: those that were replaced are forgotten at once, and nobody misses them.
        let is_replaced = |job: &Object| {
            concurrency(cron) == "Replace" && (begun.is_some() || job.is_terminating())
        };
        let kept = active.iter().filter(|job| !is_replaced(job));
        let mut references: Vec<Value> = kept.map(|job| reference(job)).collect();
        references.sort_by_key(|reference| read::text(reference, "name").to_owned());
        if !references.is_empty() {
            fields.insert("active".to_owned(), references.into());
        }
        if let Some(time) = scheduled {
            fields.insert("lastScheduleTime".to_owned(), json!(time.to_string()));
        }
        let succeeded = finished
            .iter()
            .filter_map(|job| job.text_at(&["status", "completionTime"]))
            .max();
        let known = cron.text_at(&["status", "lastSuccessfulTime"]);
        if let Some(time) = succeeded.max(known) {
            fields.insert("lastSuccessfulTime".to_owned(), json!(time));
        }
    }
    plan.status(Kind::CronJob, cron, status, BY);
    plan
}

/// Makes a Job if one is due, and looks again when the next one is. The time the Job is for.
fn run(
    inputs: &Inputs<'_>,
    active: &[&Object],
    last: Option<Time>,
    plan: &mut Plan,
) -> Option<Time> {
    let cron = inputs.cron;
    let is_suspended = cron.at(&["spec", "suspend"]).and_then(Value::as_bool) == Some(true);
    if is_suspended || cron.is_terminating() {
        return None;
    }
    let text = cron.text_at(&["spec", "schedule"]).unwrap_or_default();
    let schedule = match Schedule::parse(text, cron.text_at(&["spec", "timeZone"])) {
        Ok(schedule) => schedule,
        Err(error) => {
            let reason = match error {
                ScheduleError::Text(_) => "UnparseableSchedule",
                ScheduleError::Zone(_) => "UnknownTimeZone",
            };
            plan.warn(cron, BY, reason, error.to_string());
            return None;
        }
    };
    let due = latest_due(inputs, &schedule, last, plan);
    // What comes every so often counts from the last time there was, not from when somebody looked.
    let from = due.or(last).unwrap_or_else(|| read::created(cron));
    let next = match schedule {
        Schedule::Every(_) => schedule.after(from),
        Schedule::Calendar { .. } => schedule.after(inputs.now),
    };
    if let Some(next) = next {
        plan.wake_at(next);
    }
    let due = due?;
    let policy = concurrency(cron);
    if policy == "Forbid" && !active.is_empty() {
        let message =
            "Not starting job because prior execution is running and concurrency policy is Forbid";
        plan.report(cron, BY, "JobAlreadyActive", message.to_owned());
        return None;
    }
    if policy == "Replace" {
        for job in active {
            dismiss(cron, job, plan);
        }
    }
    let job = job(cron, due);
    let name = job.pointer("/metadata/name").and_then(Value::as_str);
    let message = format!("Created job {}", name.unwrap_or_default());
    plan.report(cron, BY, "SuccessfulCreate", message);
    plan.create(Kind::Job, job);
    Some(due)
}

/// What becomes of a Job that still runs when the next one is due.
fn concurrency(cron: &Object) -> &str {
    let path = ["spec", "concurrencyPolicy"];
    cron.text_at(&path).unwrap_or("Allow")
}

fn dismiss(cron: &Object, job: &Object, plan: &mut Plan) {
    if job.is_terminating() {
        return;
    }
    plan.delete(Kind::Job, job);
    let message = format!("Deleted job {}", job.name());
    plan.report(cron, BY, "SuccessfulDelete", message);
}

/// Tells of Jobs that were active when it was last written and have ended since.
fn say_finished(cron: &Object, finished: &[&Object], plan: &mut Plan) {
    let known = read::list(cron, &["status", "active"]);
    for job in finished {
        if known
            .iter()
            .any(|active| read::text(active, "uid") == job.uid())
        {
            let how = if has(job, "Complete") {
                "Complete"
            } else {
                "Failed"
            };
            let message = format!("Saw completed job: {}, condition: {how}", job.name());
            plan.report(cron, BY, "SawCompletedJob", message);
        }
    }
}

/// Tells of Jobs that were active when it was last written and that somebody has taken away since.
fn say_missing(inputs: &Inputs<'_>, plan: &mut Plan) {
    for known in read::list(inputs.cron, &["status", "active"]) {
        let uid = read::text(known, "uid");
        if inputs.jobs.iter().all(|job| job.uid() != uid) {
            let message = format!("Active job went missing: {}", read::text(known, "name"));
            plan.report(inputs.cron, BY, "MissingJob", message);
        }
    }
}

/// The last time that has passed and was not kept, unless it is too late for it.
fn latest_due(
    inputs: &Inputs<'_>,
    schedule: &Schedule,
    last: Option<Time>,
    plan: &mut Plan,
) -> Option<Time> {
    let cron = inputs.cron;
    let deadline = cron.integer_at(&["spec", "startingDeadlineSeconds"]);
    let mut from = last.unwrap_or_else(|| read::created(cron));
    if let Some(seconds) = deadline {
        from = from.max(inputs.now.plus_seconds(-seconds));
    }
    let mut due = None;
    for _ in 0..MOST_MISSED {
        match schedule.after(due.unwrap_or(from)) {
            Some(time) if time <= inputs.now => due = Some(time),
            _ => return due,
        }
    }
    let message = format!(
        "too many missed start times: > {MOST_MISSED}. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
    );
    plan.warn(cron, BY, "TooManyMissedTimes", message);
    // Upstream: the latest one is still kept.
    latest_before(schedule, inputs.now).or(due)
}

/// The last time there was, looked for in longer and longer spans.
fn latest_before(schedule: &Schedule, now: Time) -> Option<Time> {
    let spans = [60, 3600, 86_400, 31 * 86_400];
    let begin = spans
        .into_iter()
        .map(|span| now.plus_seconds(-span))
        .find(|from| schedule.after(*from).is_some_and(|time| time <= now))?;
    let mut found = schedule.after(begin)?;
    while let Some(next) = schedule.after(found).filter(|next| *next <= now) {
        found = next;
    }
    Some(found)
}

fn is_finished(job: &Object) -> bool {
    ["Complete", "Failed"].iter().any(|kind| has(job, kind))
}

fn has(job: &Object, kind: &str) -> bool {
    read::condition(job, kind).is_some_and(|condition| read::text(condition, "status") == "True")
}

/// Lets go of the oldest finished Jobs beyond the limits.
fn tidy(cron: &Object, finished: &[&Object], plan: &mut Plan) {
    for (kind, limit, usual) in [
        ("Complete", "successfulJobsHistoryLimit", 3),
        ("Failed", "failedJobsHistoryLimit", 1),
    ] {
        let limit = cron.integer_at(&["spec", limit]).unwrap_or(usual);
        let mut jobs: Vec<&Object> = finished
            .iter()
            .copied()
            .filter(|job| has(job, kind))
            .collect();
        jobs.sort_by_key(|job| (Reverse(read::created(job)), job.name().to_owned()));
        for job in jobs
            .into_iter()
            .skip(usize::try_from(limit).unwrap_or_default())
        {
            dismiss(cron, job, plan);
        }
    }
}

/// The Job of a time. Its name has the minute in it.
fn job(cron: &Object, due: Time) -> Value {
    let template = cron
        .at(&["spec", "jobTemplate"])
        .cloned()
        .unwrap_or_default();
    let mut annotations = template
        .pointer("/metadata/annotations")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    annotations.insert(
        "batch.kubernetes.io/cronjob-scheduled-timestamp".to_owned(),
        json!(due.to_string()),
    );
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {
            "name": format!("{}-{}", cron.name(), due.unix_seconds() / 60), "namespace": cron.namespace(),
            "labels": template.pointer("/metadata/labels"), "annotations": annotations,
            "ownerReferences": [read::owner_reference(cron)],
        },
        "spec": template.get("spec"),
    })
}

fn reference(job: &Object) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "namespace": job.namespace(), "name": job.name(),
        "uid": job.uid(),
    })
}
