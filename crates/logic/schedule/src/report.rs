//! What the binding's status and events say about a decision.

use std::fmt;

use api::{
    registry::Scope,
    well_known::{conditions::binding as reason, events},
    work::v1alpha2::ResourceBindingStatus,
};
use object::{
    condition::{Condition, ConditionStatus, find, with_condition},
    time::Time,
};

use crate::{
    binding::BindingView,
    decision::{Decision, Outcome, Refusal, TargetsText, cut},
};

/// What the condition says of a success.
pub const SUCCESS_MESSAGE: &str = "Binding has been scheduled successfully.";

/// Why a refusal takes targets away; the end of what the condition says then.
const LET_GO: &str = ": removed from the fleet; what was there waits for a place)";

/// How long the message of a condition may be: a longer one is refused, and with it everything else of the decision.
const LONGEST_MESSAGE: usize = 32_768;

/// How long the reason may be why a plugin was not heard, beside a result of which an event is to say as much as it can.
const LONGEST_WHY: usize = 256;

/// How long the names of the clusters that are let go may be together.
const LONGEST_NAMES: usize = 8_192;

/// How writing the result went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Writing {
    /// It was written, or there was nothing to write.
    Done,
    /// A quota of the control plane forbids it; its words.
    QuotaExceeded(String),
    /// It failed; why.
    Failed(String),
}

/// An event about a binding, recorded on it and on its template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Whether somebody should look at it.
    pub severity: Severity,
    /// Why it was recorded, as one word.
    pub reason: &'static str,
    /// What happened.
    pub message: String,
}

/// The two types of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// As it should be.
    Normal,
    /// Not as it should be.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        })
    }
}

/// The condition `Scheduled` after a decision whose result was written like this.
#[must_use]
pub fn condition(decision: &Decision, writing: &Writing) -> Condition {
    let (status, reason, message) = match (decision.outcome(), writing) {
        (Outcome::Placed(_), Writing::Done) => (
            ConditionStatus::True,
            reason::SUCCESS,
            SUCCESS_MESSAGE.to_owned(),
        ),
        (_, Writing::QuotaExceeded(text)) => {
            (ConditionStatus::False, reason::QUOTA_EXCEEDED, text.clone())
        }
        (Outcome::Placed(_), Writing::Failed(text)) => (
            ConditionStatus::False,
            reason::SCHEDULER_ERROR,
            text.clone(),
        ),
        (Outcome::Refused(refusal), writing) => (
            ConditionStatus::False,
            refusal.reason(),
            refusal_text(decision, refusal, writing),
        ),
    };
    let message = cut(&message, LONGEST_MESSAGE).into_owned();
    Condition::new(reason::SCHEDULED, status, reason, message)
}

/// The status after a decision; equal to the present one if there is nothing to write.
///
/// `generation` is the one the decision was made for, not that of the binding after the result was written: a change
/// made in between must still be seen.
#[must_use]
pub fn status(
    present: &ResourceBindingStatus,
    decision: &Decision,
    writing: &Writing,
    generation: i64,
    now: Time,
) -> ResourceBindingStatus {
    let mut next = present.clone();
    let mut condition = condition(decision, writing);
    let is_success = condition.status == ConditionStatus::True;
    // The same refusal again does not unsay what was let go with it.
    if let Some(said) = find(&present.conditions, reason::SCHEDULED)
        && !is_success
        && said.reason == condition.reason
        && let Some(more) = said.message.strip_prefix(condition.message.as_str())
        && more.ends_with(LET_GO)
    {
        condition.message.clone_from(&said.message);
    }
    let (conditions, _) = with_condition(present.conditions.clone(), condition, now);
    next.conditions = conditions;
    if is_success {
        next.scheduler_observed_generation = generation;
        next.last_scheduled_time = Some(now);
        if let Some(term) = &decision.term {
            next.scheduler_observed_affinity_name = term.to_string();
        }
    }
    next
}

/// The events after a decision: one for each group of clusters that failed, then the result.
#[must_use]
pub fn events(binding: &BindingView<'_>, decision: &Decision, writing: &Writing) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    for attempt in decision.diagnosis.attempts() {
        if let (Some((index, _)), Some(refusal)) = (&attempt.term, &attempt.refusal) {
            events.push(group_failed(binding, *index, refusal));
        }
    }
    events.extend(result_event(binding, decision, writing));
    events
}

/// The event for a binding that waits in the queue while it is being deleted.
#[must_use]
pub fn deleting_event(binding: &BindingView<'_>) -> Event {
    let kind = match binding.scope {
        Scope::Namespaced => "resourceBinding",
        Scope::Cluster => "clusterResourceBinding",
    };
    failed(format!("skip schedule deleting {kind}: {}", binding.key()))
}

/// What is wrong with a binding that has no placement; it is tried again, and its status is left alone.
#[must_use]
pub fn no_placement(binding: &BindingView<'_>) -> String {
    let kind = match binding.scope {
        Scope::Namespaced => "resourceBinding",
        Scope::Cluster => "clusterResourceBinding",
    };
    format!("failed to get placement from {kind}({})", binding.key())
}

fn group_failed(binding: &BindingView<'_>, index: usize, refusal: &Refusal) -> Event {
    // Upstream: the misspelling is what people search for.
    failed(format!(
        "failed to schedule {}({}) with clusterAffiliates index({index}): {refusal}",
        binding.kind(),
        binding.key()
    ))
}

fn result_event(
    binding: &BindingView<'_>,
    decision: &Decision,
    writing: &Writing,
) -> Option<Event> {
    match (decision.outcome(), writing) {
        (Outcome::Placed(targets), Writing::Done) => {
            let colon = match binding.scope {
                Scope::Namespaced => ":",
                Scope::Cluster => "",
            };
            let (result, without) = (TargetsText(targets), without(decision));
            Some(Event {
                severity: Severity::Normal,
                reason: events::binding::SCHEDULE_BINDING_SUCCEED,
                message: format!("{SUCCESS_MESSAGE} Result{colon} {result}{without}"),
            })
        }
        (Outcome::Placed(_), Writing::QuotaExceeded(text) | Writing::Failed(text)) => {
            Some(failed(text.clone()))
        }
        (Outcome::Refused(refusal), writing) => {
            // With groups, a failure that keeps the targets was told group by group.
            let mut attempts = decision.diagnosis.attempts().iter();
            let is_told =
                attempts.any(|attempt| attempt.term.is_some()) && !refusal.clears_targets();
            let is_told = is_told && !decision.only_lets_go();
            (!is_told).then(|| failed(refusal_text(decision, refusal, writing)))
        }
    }
}

/// Who was not heard about a result, and why; nothing if all were. Whoever wonders about it shall not have to look further.
fn without(decision: &Decision) -> String {
    let unheard = decision.diagnosis.unheard().iter();
    let unheard = unheard.map(|unheard| {
        let why = cut(&unheard.why, LONGEST_WHY);
        format!(" Decided without the plugin {}: {why}.", unheard.plugin)
    });
    unheard.collect()
}

/// The refusal, with what is let go all the same, or with what went wrong when its consequences were written.
fn refusal_text(decision: &Decision, refusal: &Refusal, writing: &Writing) -> String {
    match writing {
        Writing::Done if decision.only_lets_go() => {
            let going = decision.diagnosis.going();
            let going: Vec<&str> = going.iter().map(|target| &*target.cluster).collect();
            let going = going.join(", ");
            let going = cut(&going, LONGEST_NAMES);
            format!("{refusal} (taken off {going}{LET_GO}")
        }
        Writing::Done => refusal.to_string(),
        Writing::QuotaExceeded(text) | Writing::Failed(text) => format!("[{refusal}, {text}]"),
    }
}

fn failed(message: String) -> Event {
    Event {
        severity: Severity::Warning,
        reason: events::binding::SCHEDULE_BINDING_FAILED,
        message,
    }
}
