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

/// The patch of a work's conditions after an attempt to apply it, with the events about it. Nothing is written when the
/// conditions say it already.
pub(crate) fn plan_applied(
    object: &Object,
    work: &Work,
    done: &[(&Object, Done)],
    now: Time,
) -> Plan {
    let mut plan = Plan::default();
    let conditions = &work.status.conditions;
    let failures: Vec<&str> = done
        .iter()
        .filter_map(|(_, done)| match done {
            Done::Failed(why) => Some(why.as_str()),
            _ => None,
        })
        .collect();
    let was_applied = is_true(conditions, APPLIED);
    let has_written = done
        .iter()
        .any(|(_, done)| matches!(done, Done::Made | Done::Changed));
    // Applied once and not there: somebody deleted it in the member.
    let is_again = was_applied && done.iter().any(|(_, done)| *done == Done::Made);
    let applied = if failures.is_empty() {
        if was_applied && !has_written {
            return plan;
        }
        let reason = if is_again {
            RECREATE_SUCCESSFUL
        } else {
            APPLIED_SUCCESSFUL
        };
        Condition::new(APPLIED, ConditionStatus::True, reason, APPLIED_MESSAGE)
    } else {
        let message = format!(
            "Failed to apply all manifests ({}/{}): {}",
            done.len() - failures.len(),
            done.len(),
            failures.join(", ")
        );
        let again =
            find(conditions, APPLIED).is_some_and(|applied| applied.reason == RECREATE_FAILED);
        let reason = if again {
            RECREATE_FAILED
        } else {
            APPLIED_FAILED
        };
        Condition::new(APPLIED, ConditionStatus::False, reason, message)
    };
    set(object, conditions, applied, now, &mut plan);
    for (manifest, done) in done {
        let (kind, reason, message) = match done {
            Done::Kept => continue,
            Done::Made | Done::Changed => (
                EventKind::Normal,
                SYNC_SUCCEED,
                format!(
                    "applied {} {} to the cluster",
                    manifest.kind(),
                    manifest.key()
                ),
            ),
            Done::Failed(why) => (
                EventKind::Warning,
                SYNC_FAILED,
                format!("cannot apply {} {}: {why}", manifest.kind(), manifest.key()),
            ),
        };
        plan.push(Action::report(
            ObjectRef::of(object),
            kind,
            reason,
            message.clone(),
        ));
        if let Some(template) = template_of(manifest) {
            plan.push(Action::report(template, kind, reason, message));
        }
    }
    plan
}

/// The patch of a work's conditions when its changes are held back, or no longer are.
pub(crate) fn plan_dispatching(object: &Object, work: &Work, now: Time) -> Plan {
    let mut plan = Plan::default();
    let is_held = work.spec.suspend_dispatching.unwrap_or_default();
    let (reason, message) = if is_held {
        (
            SUSPEND_DISPATCHING,
            "Work dispatching is in a suspended state.",
        )
    } else {
        (DISPATCHING, "Work is being dispatched to member clusters.")
    };
    let status = ConditionStatus::from(!is_held);
    if find(&work.status.conditions, DISPATCHING).is_some_and(|known| known.status == status) {
        return plan;
    }
    let condition = Condition::new(DISPATCHING, status, reason, message);
    set(object, &work.status.conditions, condition, now, &mut plan);
    plan.push(Action::report(
        ObjectRef::of(object),
        EventKind::Normal,
        WORK_DISPATCHING,
        message,
    ));
    plan
}

fn set(object: &Object, conditions: &[Condition], new: Condition, now: Time, plan: &mut Plan) {
    let (conditions, is_changed) = with_condition(conditions.to_vec(), new, now);
    if !is_changed {
        return;
    }
    // No revision: only this crate writes a work's conditions, and its other status is written beside them.
    plan.push(Action::Patch {
        resource: resources::of::<Work>(),
        key: object.key(),
        uid: Some(object.uid().to_owned()),
        revision: None,
        patch: serde_json::json!({"status": {"conditions": conditions}}),
        part: Part::Status,
    });
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
