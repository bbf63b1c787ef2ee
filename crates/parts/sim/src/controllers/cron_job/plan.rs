//! Whether a Job is due, and which old ones go.

use std::cmp::Reverse;
use std::sync::Arc;

use object::time::Time;
use object::{Object, Value};
use serde_json::json;

use crate::controllers::cron_job::schedule::Schedule;
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

pub(crate) fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    let cron = inputs.cron;
    let (finished, active): (Vec<&Object>, Vec<&Object>) = inputs
        .jobs
        .iter()
        .map(|job| &***job)
        .partition(|job| is_finished(job));
    let last = cron
        .text_at(&["status", "lastScheduleTime"])
        .and_then(|text| text.parse::<Time>().ok());
    let mut scheduled = last;
    let mut made = Vec::new();
    let is_suspended = cron.at(&["spec", "suspend"]).and_then(Value::as_bool) == Some(true);
    let schedule = cron
        .text_at(&["spec", "schedule"])
        .and_then(Schedule::parse);
    if let Some(schedule) = schedule.filter(|_| !is_suspended && !cron.is_terminating()) {
        if let Some(due) = latest_due(inputs, &schedule, last) {
            let policy = cron
                .text_at(&["spec", "concurrencyPolicy"])
                .unwrap_or("Allow");
            if policy == "Forbid" && !active.is_empty() {
                let message = "Not starting job because prior execution is running and concurrency policy is Forbid";
                plan.report(
                    cron,
                    Writer::Controllers,
                    "JobAlreadyActive",
                    message.to_owned(),
                );
            } else {
                if policy == "Replace" {
                    for job in &active {
                        plan.delete(Kind::Job, job);
                    }
                }
                let job = job(cron, due);
                let name = job.pointer("/metadata/name").cloned().unwrap_or_default();
                let message = format!("Created job {}", name.as_str().unwrap_or_default());
                plan.report(cron, Writer::Controllers, "SuccessfulCreate", message);
                made.push(name);
                plan.create(Kind::Job, job);
                scheduled = Some(due);
            }
        }
        if let Some(next) = schedule.after(inputs.now) {
            plan.wake_at(next);
        }
    }
    tidy(cron, &finished, &mut plan);
    let mut status = json!({});
    if let Some(fields) = status.as_object_mut() {
        let mut references: Vec<Value> = active.iter().map(|job| reference(job)).collect();
        // The ones just made follow when they have a uid.
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
    plan.status(Kind::CronJob, cron, status, Writer::Controllers);
    plan
}

/// The last time that has passed and was not kept, unless it is too late for it.
fn latest_due(inputs: &Inputs<'_>, schedule: &Schedule, last: Option<Time>) -> Option<Time> {
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
    due
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
            plan.delete(Kind::Job, job);
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
