//! Cells of workloads other than pods.

use object::{Value, time::Time};

use super::{Cell, duration};
use crate::path;

/// Ready of a deployment or stateful set.
pub(super) fn ready_of_wanted(workload: &Value, _now: Time) -> Vec<Cell> {
    let ready = path::number(workload, "status.readyReplicas");
    vec![format!("{ready}/{}", path::number(workload, "spec.replicas")).into()]
}

/// Status, Completions and Duration of a job.
pub(super) fn job(job: &Value, now: Time) -> Vec<Cell> {
    vec![
        job_status(job).into(),
        completions(job).into(),
        run_time(job, now).into(),
    ]
}

/// The controller of a revision.
pub(super) fn controller_revision(revision: &Value, _now: Time) -> Vec<Cell> {
    let owners = path::list(revision, "metadata.ownerReferences");
    let Some(owner) = owners.iter().find(|owner| path::flag(owner, "controller")) else {
        return vec!["<none>".into()];
    };
    let kind = path::text(owner, "kind").to_lowercase();
    let name = path::text(owner, "name");
    let text = match path::text(owner, "apiVersion").split_once('/') {
        Some((group, _)) => format!("{kind}.{}/{name}", group.to_lowercase()),
        None => format!("{kind}/{name}"),
    };
    vec![text.into()]
}

fn job_status(job: &Value) -> &'static str {
    let holds = |ty: &str| {
        let conditions = path::list(job, "status.conditions");
        let found = conditions
            .iter()
            .find(|condition| path::text(condition, "type") == ty);
        found.is_some_and(|condition| path::text(condition, "status") == "True")
    };
    if holds("Complete") {
        return "Complete";
    }
    if holds("Failed") {
        return "Failed";
    }
    if path::is_set(job, "metadata.deletionTimestamp") {
        return "Terminating";
    }
    ["Suspended", "FailureTarget", "SuccessCriteriaMet"]
        .into_iter()
        .find(|ty| holds(ty))
        .unwrap_or("Running")
}

fn completions(job: &Value) -> String {
    let succeeded = path::number(job, "status.succeeded");
    if let Some(wanted) = path::at(job, "spec.completions").and_then(Value::as_i64) {
        return format!("{succeeded}/{wanted}");
    }
    match path::number(job, "spec.parallelism") {
        parallelism if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        _ => format!("{succeeded}/1"),
    }
}

fn run_time(job: &Value, now: Time) -> String {
    let Ok(start) = path::text(job, "status.startTime").parse::<Time>() else {
        return String::new();
    };
    let end = path::text(job, "status.completionTime")
        .parse::<Time>()
        .unwrap_or(now);
    duration::human_duration(end.seconds_since(start))
}
