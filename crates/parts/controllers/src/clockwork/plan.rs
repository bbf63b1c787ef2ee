//! Which rules of a CronFederatedHPA are due, what they do, and what is told of it.

use api::{
    autoscaling::{
        CronFederatedHPA, CronFederatedHPARule, ExecutionHistory, FailedExecution, FederatedHPA,
        SuccessfulExecution,
    },
    kubernetes::autoscaling::CrossVersionObjectReference,
    well_known::events::cron_federated_hpa::{SCALE_FAILED, START_RULE_FAILED},
};
use calendar::Schedule;
use intent::{Action, EventKind, ObjectRef, Part, Plan};
use object::{Object, ResourceType, time::Time};
use serde_json::json;

use crate::kinds;

/// How late a rule may act, in seconds. What was due longer ago passed while nobody looked, and is left out: the next time
/// may say something else.
const LATE: i64 = 60;
/// How many runs are kept of a rule that does not say.
const KEPT: i32 = 3;

/// A rule whose time has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Due<'a> {
    /// The rule.
    pub rule: &'a CronFederatedHPARule,
    /// When it was to act.
    pub at: Time,
}

/// What came of a rule that was due.
#[derive(Clone, Debug, PartialEq)]
pub struct Run<'a> {
    /// The rule and its time.
    pub due: Due<'a>,
    /// Why nothing was done, if so.
    pub outcome: Result<(), String>,
}

/// What is scaled.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// A FederatedHPA, whose bounds are moved.
    Autoscaler(&'a Object),
    /// Anything that has a scale.
    Template {
        /// Where such templates are.
        resource: &'a ResourceType,
        /// The template.
        object: &'a Object,
    },
}

/// The rules whose time has come.
#[must_use]
pub fn due(cron: &CronFederatedHPA, now: Time) -> Vec<Due<'_>> {
    let rules = cron.spec.rules.iter();
    rules
        .filter_map(|rule| {
            let at = history(cron, rule)?.next_execution_time?;
            let schedule = schedule(rule)?.ok()?;
            // The time may be one of a schedule that the rule had before.
            let is_its = schedule.after(at.plus_seconds(-1)) == Some(at);
            let is_due = at <= now && now.seconds_since(at) <= LATE;
            (is_its && is_due).then_some(Due { rule, at })
        })
        .collect()
}

/// What a rule writes to its target.
#[must_use]
pub fn scale(rule: &CronFederatedHPARule, target: &Target<'_>) -> Plan {
    let mut plan = Plan::default();
    match target {
        Target::Autoscaler(object) => {
            let bounds = [
                ("minReplicas", rule.target_min_replicas),
                ("maxReplicas", rule.target_max_replicas),
            ];
            let mut spec = serde_json::Map::new();
            for (field, wanted) in bounds {
                let Some(wanted) = wanted else { continue };
                if object.at(&["spec", field]) != Some(&json!(wanted)) {
                    spec.insert(field.to_owned(), json!(wanted));
                }
            }
            if !spec.is_empty() {
                plan.push(Action::Patch {
                    resource: kinds::of::<FederatedHPA>(),
                    key: object.key(),
                    uid: Some(object.uid().to_owned()),
                    revision: None,
                    patch: json!({ "spec": spec }),
                    part: Part::Object,
                });
            }
        }
        Target::Template { resource, object } => {
            let wanted = rule.target_replicas.unwrap_or_default();
            plan.push(Action::Patch {
                resource: (*resource).clone(),
                key: object.key(),
                uid: None,
                revision: None,
                patch: json!({"spec": {"replicas": wanted}}),
                part: Part::Named("scale".into()),
            });
        }
    }
    plan
}

/// What is told of the runs, and when the next is due.
#[must_use]
pub fn tell(object: &Object, cron: &CronFederatedHPA, runs: &[Run<'_>], now: Time) -> Plan {
    let mut plan = Plan::default();
    let about = || ObjectRef::of(object);
    let mut histories = Vec::with_capacity(cron.spec.rules.len());
    for rule in &cron.spec.rules {
        let mut entry = history(cron, rule).cloned().unwrap_or_default();
        entry.rule_name.clone_from(&rule.name);
        if let Some(run) = runs.iter().find(|run| run.due.rule.name == rule.name) {
            note(&mut entry, run, now);
            if let Err(message) = &run.outcome {
                let text = format!("rule {}: {message}", rule.name);
                plan.push(Action::report(
                    about(),
                    EventKind::Warning,
                    SCALE_FAILED,
                    text,
                ));
            }
        }
        entry.next_execution_time = match schedule(rule) {
            None => None,
            Some(Ok(schedule)) => schedule.after(now),
            Some(Err(message)) => {
                let text = format!("rule {}: {message}", rule.name);
                plan.push(Action::report(
                    about(),
                    EventKind::Warning,
                    START_RULE_FAILED,
                    text,
                ));
                None
            }
        };
        if let Some(next) = entry.next_execution_time {
            plan.wake_at(next);
        }
        histories.push(entry);
    }
    if histories != cron.status.execution_histories {
        let patch = Action::Patch {
            resource: kinds::of::<CronFederatedHPA>(),
            key: object.key(),
            uid: Some(object.uid().to_owned()),
            revision: None,
            patch: json!({"status": {"executionHistories": histories}}),
            part: Part::Status,
        };
        plan.actions.insert(0, patch);
    }
    plan
}

/// Why a target cannot be scaled that no rule is for.
#[must_use]
pub fn unsupported(reference: &CrossVersionObjectReference) -> String {
    format!(
        "CronFederatedHPA do not support scale target {}/{}",
        reference.api_version, reference.kind
    )
}

/// Why a target cannot be scaled that is not there.
#[must_use]
pub fn missing(reference: &CrossVersionObjectReference) -> String {
    format!("{} {:?} not found", reference.kind, reference.name)
}

/// Adds a run, the latest first, and lets the oldest go.
fn note(entry: &mut ExecutionHistory, run: &Run<'_>, now: Time) {
    let rule = run.due.rule;
    let keep = |limit: Option<i32>| usize::try_from(limit.unwrap_or(KEPT)).unwrap_or_default();
    match &run.outcome {
        Ok(()) => {
            let done = SuccessfulExecution {
                schedule_time: Some(run.due.at),
                execution_time: Some(now),
                applied_replicas: rule.target_replicas,
                applied_max_replicas: rule.target_max_replicas,
                applied_min_replicas: rule.target_min_replicas,
            };
            entry.successful_executions.insert(0, done);
            let limit = keep(rule.successful_history_limit);
            entry.successful_executions.truncate(limit);
        }
        Err(message) => {
            let failed = FailedExecution {
                schedule_time: Some(run.due.at),
                execution_time: Some(now),
                message: message.clone(),
            };
            entry.failed_executions.insert(0, failed);
            let limit = keep(rule.failed_history_limit);
            entry.failed_executions.truncate(limit);
        }
    }
}

/// What was told of a rule so far.
fn history<'a>(
    cron: &'a CronFederatedHPA,
    rule: &CronFederatedHPARule,
) -> Option<&'a ExecutionHistory> {
    let histories = cron.status.execution_histories.iter();
    let mut own = histories.filter(|entry| entry.rule_name == rule.name);
    own.next()
}

/// When a rule acts; `None` while it rests.
fn schedule(rule: &CronFederatedHPARule) -> Option<Result<Schedule, String>> {
    if rule.suspend.unwrap_or_default() {
        return None;
    }
    let zone = rule.time_zone.as_deref();
    // Upstream: the empty name is UTC; `Local`, like no name at all, is what the machine is set to. That is UTC too here,
    // where no answer depends on the machine.
    let zone = zone.filter(|name| !["", "Local"].contains(name));
    let read = Schedule::parse(&rule.schedule, zone);
    Some(read.map_err(|error| error.to_string()))
}
