//! What a work says about having been applied.

use api::{
    well_known::{
        annotations::TEMPLATE_UID,
        conditions::work::{
            APPLIED, APPLIED_FAILED, APPLIED_SUCCESSFUL, DISPATCHING, RECREATE_FAILED,
            RECREATE_SUCCESSFUL, SUSPEND_DISPATCHING,
        },
        events::work::{SYNC_FAILED, SYNC_SUCCEED, WORK_DISPATCHING},
    },
    work::v1alpha1::Work,
};
use intent::{Action, EventKind, ObjectRef, Part, Plan};
use object::condition::{Condition, ConditionStatus, find, is_true, with_condition};
use object::{Object, time::Time};

use crate::resources;

/// The message of a work that was applied.
const APPLIED_MESSAGE: &str = "Manifest has been successfully applied";

/// What became of one manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// The member had it already.
    Kept,
    /// It was made.
    Made,
    /// It was changed.
    Changed,
    /// It could not be written, for this reason.
    Failed(String),
}

/// The patch of a work's conditions, with the events about it. `done` is what became of each manifest, or `None` if its
/// changes are held back. Nothing is written when the conditions say it already.
pub(crate) fn plan(
    object: &Object,
    work: &Work,
    done: Option<&[(&Object, Done)]>,
    now: Time,
) -> Plan {
    let mut plan = Plan::default();
    let mut conditions = work.status.conditions.clone();
    if let Some((condition, event)) = dispatching(object, work) {
        conditions = with_condition(conditions, condition, now).0;
        plan.extend(event);
    }
    if let Some(done) = done {
        if let Some(applied) = applied(&conditions, done) {
            conditions = with_condition(conditions, applied, now).0;
        }
        plan.extend(events(object, done));
    }
    if conditions != work.status.conditions {
        // No revision: only this crate writes a work's conditions, and its other status is written beside them.
        let patch = Action::Patch {
            resource: resources::of::<Work>(),
            key: object.key(),
            uid: Some(object.uid().to_owned()),
            revision: None,
            patch: serde_json::json!({"status": {"conditions": conditions}}),
            part: Part::Status,
        };
        plan.actions.insert(0, patch);
    }
    plan
}

/// Whether changes are held back, if that is news, and the event that says so. That a work begins as it should is no event.
fn dispatching(object: &Object, work: &Work) -> Option<(Condition, Option<Action>)> {
    let is_held = work.spec.suspend_dispatching.unwrap_or_default();
    let status = ConditionStatus::from(!is_held);
    if find(&work.status.conditions, DISPATCHING).is_some_and(|known| known.status == status) {
        return None;
    }
    let (reason, message) = if is_held {
        (
            SUSPEND_DISPATCHING,
            "Work dispatching is in a suspended state.",
        )
    } else {
        (DISPATCHING, "Work is being dispatched to member clusters.")
    };
    let is_flip = is_held || find(&work.status.conditions, DISPATCHING).is_some();
    let event = is_flip.then(|| {
        let about = ObjectRef::of(object);
        Action::report(about, EventKind::Normal, WORK_DISPATCHING, message)
    });
    Some((Condition::new(DISPATCHING, status, reason, message), event))
}

/// Whether the work is applied, if there is anything new to say.
fn applied(conditions: &[Condition], done: &[(&Object, Done)]) -> Option<Condition> {
    let failures: Vec<&str> = done
        .iter()
        .filter_map(|(_, done)| match done {
            Done::Failed(why) => Some(why.as_str()),
            _ => None,
        })
        .collect();
    let was_applied = is_true(conditions, APPLIED);
    if failures.is_empty() {
        let has_written = done
            .iter()
            .any(|(_, done)| matches!(done, Done::Made | Done::Changed));
        if was_applied && !has_written {
            return None;
        }
        // Applied once and not there: somebody deleted it in the member.
        let is_again = was_applied && done.iter().any(|(_, done)| *done == Done::Made);
        let reason = if is_again {
            RECREATE_SUCCESSFUL
        } else {
            APPLIED_SUCCESSFUL
        };
        return Some(Condition::new(
            APPLIED,
            ConditionStatus::True,
            reason,
            APPLIED_MESSAGE,
        ));
    }
    let message = format!(
        "Failed to apply all manifests ({}/{}): {}",
        done.len() - failures.len(),
        done.len(),
        failures.join(", ")
    );
    let is_again = find(conditions, APPLIED).is_some_and(|known| known.reason == RECREATE_FAILED);
    let reason = if is_again {
        RECREATE_FAILED
    } else {
        APPLIED_FAILED
    };
    Some(Condition::new(
        APPLIED,
        ConditionStatus::False,
        reason,
        message,
    ))
}

/// What is told about each manifest that was written or could not be: on the work, and on the template it came from.
fn events(object: &Object, done: &[(&Object, Done)]) -> Vec<Action> {
    let mut events = Vec::new();
    for (manifest, done) in done {
        let what = format!("{} {}", manifest.kind(), manifest.key());
        let (kind, reason, message) = match done {
            Done::Kept => continue,
            Done::Made | Done::Changed => (
                EventKind::Normal,
                SYNC_SUCCEED,
                format!("applied {what} to the cluster"),
            ),
            Done::Failed(why) => (
                EventKind::Warning,
                SYNC_FAILED,
                format!("cannot apply {what}: {why}"),
            ),
        };
        events.push(Action::report(
            ObjectRef::of(object),
            kind,
            reason,
            message.clone(),
        ));
        if let Some(template) = template_of(manifest) {
            events.push(Action::report(template, kind, reason, message));
        }
    }
    events
}

/// The template that a manifest was made from, if the manifest says.
fn template_of(manifest: &Object) -> Option<ObjectRef> {
    let uid = manifest
        .annotation(TEMPLATE_UID)
        .filter(|uid| !uid.is_empty())?;
    Some(ObjectRef {
        kind: manifest.group_version_kind(),
        key: manifest.key(),
        uid: uid.to_owned(),
        revision: String::new(),
    })
}
