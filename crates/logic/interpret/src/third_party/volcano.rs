//! Volcano's Job.

use api::work::v1alpha2::{AggregatedStatusItem, Component};
use object::{Map, Object, Value, duration::Duration};

use crate::{
    error::RuleError,
    native::Options,
    node::Node,
    table::{KindRules, reported},
    third_party::{
        conditions::{holds, latest},
        fold::{Field, Fold, fold, pick, single},
        groups,
    },
};

pub(super) const RULES: KindRules = KindRules {
    components: Some(components),
    aggregate: Some(aggregate),
    reflect: Some(|observed| pick(observed, &REFLECTED)),
    is_healthy: Some(is_healthy),
    ..KindRules::of("batch.volcano.sh/v1alpha1", "Job")
};

const REFLECTED: [&str; 14] = [
    "state",
    "minAvailable",
    "taskStatusCount",
    "pending",
    "running",
    "succeeded",
    "failed",
    "terminating",
    "unknown",
    "version",
    "retryCount",
    "runningDuration",
    "controlledResources",
    "conditions",
];

const COUNTS: [Field; 10] = [
    ("minAvailable", Fold::Sum),
    ("pending", Fold::Sum),
    ("running", Fold::Sum),
    ("succeeded", Fold::Sum),
    ("failed", Fold::Sum),
    ("terminating", Fold::Sum),
    ("unknown", Fold::Sum),
    ("retryCount", Fold::Sum),
    ("version", Fold::Largest),
    ("controlledResources", Fold::Union),
];

/// Phases in which a job is on its way, or got to where it was meant to go.
const GOOD_PHASES: [&str; 9] = [
    "Pending",
    "Running",
    "Restarting",
    "Completing",
    "Completed",
    "Aborting",
    "Aborted",
    "Terminating",
    "Terminated",
];

/// Phases of a condition after which a job brings nothing to an end.
const LOST_PHASES: [&str; 5] = ["Failed", "Aborted", "Aborting", "Terminated", "Terminating"];

fn is_healthy(observed: &Object) -> Result<bool, RuleError> {
    let root = Node::of(observed);
    let phase = root.at(&["status", "state", "phase"])?;
    Ok(GOOD_PHASES.contains(&phase.text_or_empty()?))
}

/// A component for each task, with as many pods as it needs to start.
fn components(template: &Object, options: Options) -> Result<Vec<Component>, RuleError> {
    let root = Node::of(template);
    let mut components = Vec::new();
    for (position, task) in root.at(&["spec", "tasks"])?.list()?.enumerate() {
        let name = match task.at(&["name"])?.text_or_empty()? {
            "" => format!("task-{position}"),
            name => name.to_owned(),
        };
        let replicas = groups::replicas(task.at(&["minAvailable"])?, 1)?;
        let pods = task.at(&["template"])?;
        components.push(groups::component(&name, replicas, pods, options)?);
    }
    Ok(components)
}

/// The sums, and what became of the job as a whole.
///
/// Upstream: the state bears the time at which it was written, so that the status never settles.
fn aggregate(_: &Object, items: &[AggregatedStatusItem]) -> Result<Option<Value>, RuleError> {
    if items.is_empty() {
        return Ok(None);
    }
    if let Some(status) = single(items) {
        return Ok(status);
    }
    let mut status = fold(Map::new(), items, &COUNTS)?;
    status.retain(|_, value| value.as_i64() != Some(0));
    put_tasks(&mut status, items)?;
    put_longest(&mut status, items)?;
    put_conditions(&mut status, items)?;
    let mut failed = Vec::new();
    let mut completed = 0;
    for (cluster, member) in reported(items) {
        match member.at(&["state", "phase"])?.text_or_empty()? {
            "Completed" => completed += 1,
            "Failed" | "Aborted" => failed.push(cluster),
            _ => {}
        }
    }
    let state = if failed.is_empty() {
        (completed == items.len()).then(|| {
            (
                "Completed",
                "Completed",
                "Job completed in all clusters".to_owned(),
            )
        })
    } else {
        let message = format!("Job failed in these clusters: {}", failed.join(", "));
        Some(("Failed", "VolcanoJobFailed", message))
    };
    if let Some((phase, reason, message)) = state {
        let mut fields = Map::new();
        fields.insert("phase".to_owned(), phase.into());
        fields.insert("reason".to_owned(), reason.into());
        fields.insert("message".to_owned(), message.into());
        status.insert("state".to_owned(), Value::Object(fields));
    }
    Ok(Some(Value::Object(status)))
}

/// The pods of every task by phase, added up.
fn put_tasks(status: &mut Map, items: &[AggregatedStatusItem]) -> Result<(), RuleError> {
    let mut tasks: Vec<(&str, Map)> = Vec::new();
    for (_, member) in reported(items) {
        let reports = member.at(&["taskStatusCount"])?;
        for (task, report) in reports.fields()?.into_iter().flatten() {
            let report = reports.key(task, report);
            let phases = report.at(&["phase"])?;
            for (phase, count) in phases.fields()?.into_iter().flatten() {
                let count = phases.key(phase, count).integer()?.unwrap_or_default();
                let position = match tasks.iter().position(|(known, _)| known == task) {
                    Some(position) => position,
                    None => {
                        tasks.push((task, Map::new()));
                        tasks.len() - 1
                    }
                };
                if let Some((_, sums)) = tasks.get_mut(position) {
                    let before = sums.get(phase).and_then(Value::as_i64).unwrap_or_default();
                    sums.insert(phase.clone(), before.saturating_add(count).into());
                }
            }
        }
    }
    if tasks.is_empty() {
        return Ok(());
    }
    let tasks = tasks.into_iter().map(|(task, phases)| {
        let mut counts = Map::new();
        counts.insert("phase".to_owned(), Value::Object(phases));
        (task.to_owned(), Value::Object(counts))
    });
    status.insert("taskStatusCount".to_owned(), Value::Object(tasks.collect()));
    Ok(())
}

/// The longest time that a member's part has been running.
fn put_longest(status: &mut Map, items: &[AggregatedStatusItem]) -> Result<(), RuleError> {
    let mut longest: Option<(Duration, &Value)> = None;
    for (_, member) in reported(items) {
        let field = member.at(&["runningDuration"])?;
        let Some(text) = field.text()? else {
            continue;
        };
        let duration: Duration = text
            .parse()
            .map_err(|_| field.wrong(format!("{text:?} is not a duration")))?;
        if let Some(value) = field.raw()
            && longest.is_none_or(|(before, _)| duration > before)
        {
            longest = Some((duration, value));
        }
    }
    if let Some((_, value)) = longest {
        status.insert("runningDuration".to_owned(), value.clone());
    }
    Ok(())
}

/// The story of the first member where the job was lost; else of every phase the latest entry into it.
fn put_conditions(status: &mut Map, items: &[AggregatedStatusItem]) -> Result<(), RuleError> {
    let mut conditions = None;
    for (_, member) in reported(items) {
        let is_lost = holds(member, |condition| {
            let phase = condition.at(&["status"])?;
            Ok(LOST_PHASES.contains(&phase.text_or_empty()?))
        })?;
        if is_lost && conditions.is_none() {
            conditions = member.at(&["conditions"])?.raw().cloned();
        }
    }
    let conditions = match conditions {
        Some(conditions) => conditions,
        None => Value::Array(latest(items, "status", &["lastTransitionTime"])?),
    };
    if conditions.as_array().is_some_and(|list| !list.is_empty()) {
        status.insert("conditions".to_owned(), conditions);
    }
    Ok(())
}
