//! What a work says about having been applied.

use api::{
    names,
    well_known::{
        annotations::TEMPLATE_UID,
        conditions::work::{
            APPLIED, APPLIED_FAILED, APPLIED_SUCCESSFUL, CONTESTED, DISPATCHING, RECREATE_FAILED,
            RECREATE_SUCCESSFUL, SUSPEND_DISPATCHING, UNREACHED,
        },
        events::work::{SYNC_FAILED, SYNC_SUCCEED, WORK_DISPATCHING},
    },
    work::v1alpha1::Work,
};
use intent::{Action, EventKind, ObjectRef, Part, Plan};
use object::condition::{Condition, ConditionStatus, find, is_true, with_condition};
use object::{Object, time::Time};

use crate::apply::release::Afterwards;
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
    /// Somebody in the member undoes it again and again, as this says. It is left so for a while, or was just brought back.
    Undone(String),
    /// It was brought back a moment ago, and may be undone again.
    Restored,
    /// It is not in the member, and must not be brought there for the moment.
    Absent,
}

/// The patch of a work's conditions, with the events about it. `done` is what became of each manifest; while its changes
/// are held back, only whether it is there. Nothing is written when the conditions say it already.
pub(crate) fn plan(object: &Object, work: &Work, done: &[(&Object, Done)], now: Time) -> Plan {
    let mut plan = Plan::default();
    let mut conditions = work.status.conditions.clone();
    if let Some((condition, event)) = dispatching(object, work) {
        conditions = with_condition(conditions, condition, now).0;
        plan.push(event);
    }
    let applied = if work.spec.suspend_dispatching.unwrap_or_default() {
        missed(&conditions, done)
    } else {
        plan.extend(events(object, done, &conditions));
        applied(&conditions, done)
    };
    if let Some(applied) = applied {
        conditions = with_condition(conditions, applied, now).0;
    }
    if conditions != work.status.conditions {
        plan.actions.insert(0, telling(object, &conditions));
    }
    plan
}

/// The patch of a work's conditions. No revision: only this crate writes them, and its other status is written beside them.
fn telling(object: &Object, conditions: &[Condition]) -> Action {
    Action::Patch {
        resource: resources::of::<Work>(),
        key: object.key(),
        uid: Some(object.uid().to_owned()),
        revision: None,
        patch: serde_json::json!({"status": {"conditions": conditions}}),
        part: Part::Status,
    }
}

/// Whether the work was applied just now, for the first time and without a failure.
pub(crate) fn is_first(work: &Work, done: &[(&Object, Done)]) -> bool {
    find(&work.status.conditions, APPLIED).is_none()
        && !done.is_empty()
        && done.iter().all(|(_, done)| *done == Done::Made)
}

/// That a cluster which does not answer lacks what changed since its work was applied, if the work does not say so already.
pub(crate) fn unbrought(object: &Object, work: &Work, manifests: &[Object], now: Time) -> Plan {
    let mut plan = Plan::default();
    if !is_true(&work.status.conditions, APPLIED) {
        return plan;
    }
    let cluster = names::cluster_of_execution_space(object.namespace()).unwrap_or_default();
    let message = format!(
        "the cluster {cluster} does not answer: what changed meanwhile is brought there when it does"
    );
    let status = ConditionStatus::False;
    let condition = Condition::new(APPLIED, status, UNREACHED, message.as_str());
    let (conditions, _) = with_condition(work.status.conditions.clone(), condition, now);
    plan.push(telling(object, &conditions));
    for manifest in manifests {
        let what = format!("{} {}", manifest.kind(), manifest.key());
        plan.extend(warnings(
            object,
            manifest,
            &format!("cannot apply {what}: {message}"),
        ));
    }
    plan
}

/// The event that something is not in the member as it should be, on the work and on the template it came from.
fn warnings(object: &Object, manifest: &Object, message: &str) -> impl Iterator<Item = Action> {
    let about = [Some(ObjectRef::of(object)), template_of(manifest)];
    let about = about.into_iter().flatten();
    about.map(move |about| Action::report(about, EventKind::Warning, SYNC_FAILED, message))
}

/// What there is to tell of what was done, apart from what the work itself says.
pub(crate) fn news(object: &Object, done: &[(&Object, Done)]) -> Plan {
    let mut plan = Plan::default();
    plan.extend(events(object, done, &[]));
    plan
}

/// What there is to tell of a work that cannot go, because its member does not let go of what it made.
pub(crate) fn kept(object: &Object, manifest: &Object, afterwards: Afterwards, why: &str) -> Plan {
    let cluster = names::cluster_of_execution_space(object.namespace()).unwrap_or_default();
    let what = format!("{} {}", manifest.kind(), manifest.key());
    let message = match afterwards {
        Afterwards::Delete => format!("cannot delete {what} from cluster {cluster}: {why}"),
        Afterwards::Preserve | Afterwards::Leave => {
            format!("cannot let go of {what} in cluster {cluster}: {why}")
        }
    };
    let mut plan = Plan::default();
    plan.extend(warnings(object, manifest, &message));
    plan
}

/// Whether changes are held back, if that is news, and the event that says so.
fn dispatching(object: &Object, work: &Work) -> Option<(Condition, Action)> {
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
    let kind = if is_flip {
        EventKind::Normal
    } else {
        EventKind::Progress
    };
    let event = Action::report(ObjectRef::of(object), kind, WORK_DISPATCHING, message);
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
    let undone = done.iter().find_map(|(_, done)| match done {
        Done::Undone(why) => Some(why.as_str()),
        _ => None,
    });
    let was_applied = is_true(conditions, APPLIED);
    if let (true, Some(why)) = (failures.is_empty(), undone) {
        let status = ConditionStatus::False;
        return Some(Condition::new(APPLIED, status, CONTESTED, why));
    }
    if failures.is_empty() {
        // Who looks soon afterwards is told that it is undone, or that nobody did.
        if done.iter().any(|(_, done)| *done == Done::Restored) {
            return None;
        }
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

/// That a work is applied no longer, because somebody deleted in the member what must not be made again for the moment.
fn missed(conditions: &[Condition], done: &[(&Object, Done)]) -> Option<Condition> {
    let missing: Vec<String> = done
        .iter()
        .filter(|(_, done)| *done == Done::Absent)
        .map(|(manifest, _)| format!("{} {}", manifest.kind(), manifest.key()))
        .collect();
    if missing.is_empty() || !is_true(conditions, APPLIED) {
        return None;
    }
    let message = format!(
        "gone from the member, and not made again while dispatching is suspended: {}",
        missing.join(", ")
    );
    let status = ConditionStatus::False;
    Some(Condition::new(APPLIED, status, APPLIED_FAILED, message))
}

/// What is told about each manifest that was written or could not be: on the work, and on the template it came from.
/// What the conditions say already of somebody who undoes it is not told with each look.
fn events(object: &Object, done: &[(&Object, Done)], conditions: &[Condition]) -> Vec<Action> {
    let said = find(conditions, APPLIED).map_or("", |condition| condition.message.as_str());
    let mut events = Vec::new();
    let cluster = names::cluster_of_execution_space(object.namespace()).unwrap_or_default();
    for (manifest, done) in done {
        let what = format!("{} {}", manifest.kind(), manifest.key());
        // The work's success is a step of the template's, whose author looks there.
        let (kind, on_work, reason, message) = match done {
            Done::Kept | Done::Absent | Done::Restored => continue,
            Done::Undone(why) if said == why => continue,
            Done::Made | Done::Changed => (
                EventKind::Normal,
                EventKind::Progress,
                SYNC_SUCCEED,
                format!("applied {what} to cluster {cluster}"),
            ),
            Done::Failed(why) => (
                EventKind::Warning,
                EventKind::Warning,
                SYNC_FAILED,
                format!("cannot apply {what} to cluster {cluster}: {why}"),
            ),
            Done::Undone(why) => (
                EventKind::Warning,
                EventKind::Warning,
                SYNC_FAILED,
                why.clone(),
            ),
        };
        events.push(Action::report(
            ObjectRef::of(object),
            on_work,
            reason,
            message.clone(),
        ));
        if let Some(template) = template_of(manifest) {
            events.push(Action::report(template, kind, reason, message));
        }
    }
    events
}

/// The template that a manifest or a member's object was made from, if that says.
pub(crate) fn template_of(manifest: &Object) -> Option<ObjectRef> {
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
