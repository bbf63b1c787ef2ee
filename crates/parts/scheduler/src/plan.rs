//! What is written about a decision.
//!
//! A decision is one write where the server has a part of bindings for it, and else at most two: one patch of targets and
//! annotations, one of the status. Each is left out where it would change nothing. The first carries the revision that was
//! decided about, so a binding that changed meanwhile is left alone and decided again; what it makes is therefore known
//! exactly, and the status can say that the new generation has been seen.

#[cfg(test)]
mod tests;

use api::{
    registry,
    well_known::{
        annotations,
        conditions::binding::{SCHEDULED, SUCCESS},
    },
    work::v1alpha2::ResourceBindingStatus,
};
use intent::{Action, EventKind, ObjectRef};
use object::{
    GroupVersionKind, Map, Object, ObjectKey, ResourceType, Value,
    condition::{self, Condition},
    patch,
    time::Time,
};
use schedule::{
    Decision, Outcome, Target, awaited,
    diagnosis::FilterRefusal,
    plugin::Peers,
    reason::Reason,
    report::{self, Event, Severity, Writing},
    trigger::Trigger,
};

use crate::{bound::Bound, placements::Prepared, queue::Ending};

/// The patch that brings targets and annotation to what was decided; `None` if they are so already, or stay.
#[must_use]
pub(crate) fn result(bound: &Bound, prepared: &Prepared, decision: &Decision) -> Option<Value> {
    let targets = decision.targets_to_write()?;
    let mut fields = Map::new();
    let notes = notes(bound, prepared, decision);
    if !notes.is_empty() {
        let metadata = Map::from_iter([("annotations".to_owned(), Value::Object(notes))]);
        fields.insert("metadata".to_owned(), Value::Object(metadata));
    }
    if !are_same(bound, targets) {
        let clusters = match targets {
            [] => Value::Null,
            targets => Value::Array(targets.iter().map(target_value).collect()),
        };
        let spec = Map::from_iter([("clusters".to_owned(), clusters)]);
        fields.insert("spec".to_owned(), Value::Object(spec));
    }
    (!fields.is_empty()).then_some(Value::Object(fields))
}

/// The annotations that a decision changes: the placement that led to the targets, and whom the division goes without.
///
/// A refusal that only lets go of clusters led to nothing, so both stay what they were.
fn notes(bound: &Bound, prepared: &Prepared, decision: &Decision) -> Map {
    let mut notes = Map::new();
    if decision.only_lets_go() {
        return notes;
    }
    let present = |name: &str| bound.metadata.annotations.get(name).map(String::as_str);
    if present(annotations::APPLIED_PLACEMENT) != Some(&prepared.text) {
        let placement = Value::from(prepared.text.as_str());
        notes.insert(annotations::APPLIED_PLACEMENT.to_owned(), placement);
    }
    if present(awaited::ANNOTATION).unwrap_or_default() != decision.awaited {
        let clusters = match decision.awaited.as_str() {
            "" => Value::Null,
            clusters => Value::from(clusters),
        };
        notes.insert(awaited::ANNOTATION.to_owned(), clusters);
    }
    notes
}

/// Whether the part of bindings for decisions takes this result: it knows of the placement and of no other note.
#[must_use]
pub(crate) fn is_for_placing(result: &Value) -> bool {
    let notes = result.pointer("/metadata/annotations");
    notes.is_none_or(|notes| notes.get(awaited::ANNOTATION).is_none())
}

/// A patch of the result and of the status in one, and the generation that it makes.
///
/// The patch asks for the revision that was decided about, so nothing but the result separates the two generations.
#[must_use]
pub(crate) fn at_once(
    bound: &Bound,
    result: Value,
    decision: &Decision,
    trigger: Trigger,
    now: Time,
) -> (Value, i64) {
    let is_counted = result.get("spec").is_some();
    let generation = bound
        .metadata
        .generation
        .saturating_add(i64::from(is_counted));
    let written = Written {
        writing: Writing::Done,
        is_changed: true,
        status: &bound.status,
        generation,
    };
    let mut patch = result;
    if let (Value::Object(fields), Some(Value::Object(status))) =
        (&mut patch, status(decision, &written, trigger, now))
    {
        fields.extend(status);
    }
    (patch, generation)
}

/// How writing the result went, and what the binding is since.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Written<'a> {
    /// How it went.
    pub writing: Writing,
    /// Whether the result was patched.
    pub is_changed: bool,
    /// The status there is.
    pub status: &'a ResourceBindingStatus,
    /// The generation whose spec is what was decided about, and its result.
    pub generation: i64,
}

/// The patch that brings the status to what was decided; `None` if there is nothing to say.
///
/// The time of a decision alone is nothing to say, unless a fresh one was asked for: then the time is the answer.
#[must_use]
pub(crate) fn status(
    decision: &Decision,
    written: &Written<'_>,
    trigger: Trigger,
    now: Time,
) -> Option<Value> {
    let mut next = report::status(
        written.status,
        decision,
        &written.writing,
        written.generation,
        now,
    );
    if !written.is_changed && trigger != Trigger::FreshWanted {
        let timed = next.last_scheduled_time;
        next.last_scheduled_time = written.status.last_scheduled_time;
        if next == *written.status {
            return None;
        }
        next.last_scheduled_time = timed;
    }
    status_patch(written.status, &next)
}

/// The patch that says that a binding was looked at and needs no decision; `None` if its status says so.
///
/// One that could not be placed and needs nothing any more, because it needs less or was left where it was, is placed.
#[must_use]
pub(crate) fn seen(bound: &Bound, now: Time) -> Option<Value> {
    let mut next = bound.status.clone();
    next.scheduler_observed_generation = bound.metadata.generation;
    if condition::is_false(&next.conditions, SCHEDULED) {
        let placed = Condition::new(SCHEDULED, true.into(), SUCCESS, report::SUCCESS_MESSAGE);
        (next.conditions, _) = condition::with_condition(next.conditions, placed, now);
    }
    status_patch(&bound.status, &next)
}

/// Whether what came of a decision is new to those who follow the binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    New,
    Repeated,
}

impl News {
    /// How many attempts in a row follow each other soon: what the last of them says is told again, and all after it.
    const SOON: u32 = 6;

    /// Of the so many-eth attempt in a row, which has something to write into the status or not.
    pub(crate) fn of(attempt: u32, is_written: bool) -> Self {
        match !is_written && (2..Self::SOON).contains(&attempt) {
            true => Self::Repeated,
            false => Self::New,
        }
    }
}

/// The events after a decision, on the binding and on its template.
///
/// A decision that confirmed what there is happens often and is not worth an event; nor is a refusal that the condition
/// tells of already, while the binding is tried soon after.
#[must_use]
pub(crate) fn events(
    bound: &Bound,
    object: &Object,
    decision: &Decision,
    written: &Written<'_>,
    news: News,
) -> Vec<Action> {
    let is_confirmed = matches!(decision.outcome(), Outcome::Placed(_)) || news == News::Repeated;
    let is_quiet = !written.is_changed && written.writing == Writing::Done && is_confirmed;
    if is_quiet {
        return Vec::new();
    }
    let events = report::events(&bound.view(), decision, &written.writing);
    events
        .iter()
        .flat_map(|event| report_twice(bound, object, event))
        .collect()
}

/// An event on the binding and one on its template. What went as it should is a step of the template's, whose author looks
/// there.
pub(crate) fn report_twice(bound: &Bound, object: &Object, event: &Event) -> [Action; 2] {
    let (on_binding, on_template) = match event.severity {
        Severity::Normal => (EventKind::Progress, EventKind::Normal),
        Severity::Warning => (EventKind::Warning, EventKind::Warning),
    };
    let report = |about, kind| Action::report(about, kind, event.reason, event.message.as_str());
    [
        report(ObjectRef::of(object), on_binding),
        report(template(bound), on_template),
    ]
}

/// What becomes of the binding in the queue.
#[must_use]
pub(crate) fn ending(decision: &Decision, written: &Written<'_>) -> Ending {
    let is_written = written.writing == Writing::Done;
    match decision.refusal() {
        None if is_written => Ending::Settled(written.generation),
        Some(refusal) if is_written && !refusal.is_retried() => Ending::Settled(written.generation),
        Some(refusal) if is_written && refusal.is_for_room() => Ending::Unschedulable,
        Some(_) if is_written && is_unheard(decision) => Ending::Unheard,
        _ => Ending::Failed,
    }
}

/// Whether a decision ended because somebody was not heard.
fn is_unheard(decision: &Decision) -> bool {
    let mut unheard = decision.diagnosis.unheard().iter();
    unheard.any(|unheard| unheard.ends.is_some())
}

/// Whether a refusal may be due to others of its groups who are about to move. Whether they do is known in a moment, and
/// nobody brings the binding back then: until it is known nothing is written.
#[must_use]
pub(crate) fn hangs_on_peers(decision: &Decision, peers: &Peers) -> bool {
    let is_for_group = |refusal: &FilterRefusal| {
        let reason = &refusal.reason;
        matches!(reason, Reason::AffinityGroup | Reason::AntiAffinityGroup)
    };
    let mut peers = peers.affinity.iter().chain(&peers.anti_affinity);
    let mut attempts = decision.diagnosis.attempts().iter();
    decision.refusal().is_some()
        && peers.any(|peer| peer.is_meant)
        && attempts.any(|attempt| attempt.refusals.iter().any(is_for_group))
}

/// The patch, for the state of the binding that was looked at and for no other.
#[must_use]
pub(crate) fn guarded(object: &Object, patch: Value) -> Value {
    let Value::Object(mut fields) = patch else {
        return patch;
    };
    let metadata = fields
        .entry("metadata")
        .or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(metadata) = metadata {
        metadata.insert("uid".to_owned(), Value::from(object.uid()));
        let revision = Value::from(object.resource_version());
        metadata.insert("resourceVersion".to_owned(), revision);
    }
    Value::Object(fields)
}

/// Where bindings of the scope of this one are found.
#[must_use]
pub(crate) fn resource(object: &Object) -> ResourceType {
    ResourceType::from(if object.namespace().is_empty() {
        &registry::CLUSTER_RESOURCE_BINDING
    } else {
        &registry::RESOURCE_BINDING
    })
}

/// The template of a binding.
fn template(bound: &Bound) -> ObjectRef {
    let resource = &bound.spec.resource;
    ObjectRef {
        kind: GroupVersionKind::from_api_version(&resource.api_version, &resource.kind)
            .unwrap_or_default(),
        key: ObjectKey::namespaced(&resource.namespace, &resource.name),
        uid: resource.uid.clone(),
        revision: resource.resource_version.clone(),
    }
}

/// Whether the binding has these targets; the list is a set.
fn are_same(bound: &Bound, targets: &[Target]) -> bool {
    let present = &bound.spec.clusters;
    let is_there = |target: &Target| {
        bound
            .spec
            .target(&target.cluster)
            .is_some_and(|known| known.replicas == target.replicas)
    };
    let in_order = || {
        let mut pairs = present.iter().zip(targets);
        pairs.all(|(known, target)| {
            *known.name == *target.cluster && known.replicas == target.replicas
        })
    };
    present.len() == targets.len() && (in_order() || targets.iter().all(is_there))
}

fn target_value(target: &Target) -> Value {
    let mut fields = Map::from_iter([("name".to_owned(), Value::from(&*target.cluster))]);
    if target.replicas != 0 {
        fields.insert("replicas".to_owned(), Value::from(target.replicas));
    }
    Value::Object(fields)
}

/// What differs between two statuses, below `status`; fields that are not the scheduler's never differ.
fn status_patch(present: &ResourceBindingStatus, next: &ResourceBindingStatus) -> Option<Value> {
    if present == next {
        return None;
    }
    let value = |status: &ResourceBindingStatus| {
        // The members' reports can be large and are not ours to write.
        let ours = ResourceBindingStatus {
            aggregated_status: Vec::new(),
            conditions: status.conditions.clone(),
            scheduler_observed_affinity_name: status.scheduler_observed_affinity_name.clone(),
            ..*status
        };
        serde_json::to_value(ours).unwrap_or_default()
    };
    let difference = patch::diff(&value(present), &value(next));
    let fields = Map::from_iter([("status".to_owned(), difference)]);
    Some(Value::Object(fields))
}
