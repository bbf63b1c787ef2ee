//! What a member's objects say, as their work reports it.

use api::{
    names,
    well_known::events::work::{
        INTERPRET_HEALTH_FAILED, INTERPRET_HEALTH_SUCCEED, REFLECT_STATUS_FAILED,
        REFLECT_STATUS_SUCCEED,
    },
    work::{
        ResourceHealth,
        v1alpha1::{ManifestStatus, ResourceIdentifier, Work},
    },
};
use intent::{Action, EventKind, ObjectRef, Part, Plan};
use interpret::InterpretError;
use object::{Object, Value};

use crate::apply::outcome::template_of;
use crate::reflect::reading::Reading;
use crate::resources;

/// The patch that reports what the member's objects say, or nothing if the work says it already. There is one reading for
/// each manifest of the work, in order; `None` where there is no object or it was not read.
///
/// An object that is not there leaves its last report in place: it is about to be made again, and its own status will
/// replace the report. One that is `gone`, and not to be made again for the moment, takes its report along.
pub(crate) fn plan(
    object: &Object,
    work: &Work,
    observed: &[Option<Reading<'_>>],
    gone: &[bool],
) -> Plan {
    let mut plan = Plan::default();
    let reported = &work.status.manifest_statuses;
    let mut next = Vec::new();
    for (ordinal, seen) in observed.iter().enumerate() {
        let is_gone = gone.get(ordinal).copied().unwrap_or_default();
        let ordinal = i64::try_from(ordinal).unwrap_or(i64::MAX);
        match seen {
            Some(seen) => {
                let known = reported
                    .iter()
                    .find(|known| known.identifier.ordinal == ordinal);
                let new = report(object, ordinal, seen, &mut plan);
                tell_first(&mut plan, object, seen, known, &new);
                next.push(new);
            }
            None if is_gone => {}
            None => next.extend(
                reported
                    .iter()
                    .find(|known| known.identifier.ordinal == ordinal)
                    .cloned(),
            ),
        }
    }
    if next == *reported {
        return plan;
    }
    // No revision: only this crate writes these, and conditions are written beside them.
    plan.actions.insert(
        0,
        Action::Patch {
            resource: resources::of::<Work>(),
            key: object.key(),
            uid: Some(object.uid().to_owned()),
            revision: None,
            patch: serde_json::json!({"status": {"manifestStatuses": next}}),
            part: Part::Status,
        },
    );
    plan
}

/// Tells what was learnt of an object for the first time.
fn tell_first(
    plan: &mut Plan,
    work: &Object,
    reading: &Reading<'_>,
    known: Option<&ManifestStatus>,
    new: &ManifestStatus,
) {
    let mut tell = |reason: &str, what: &str| {
        let seen = reading.object;
        let message = format!("{what} of {} {} is known", seen.kind(), seen.key());
        let about = ObjectRef::of(work);
        plan.push(Action::report(about, EventKind::Progress, reason, message));
    };
    let had_status = known.is_some_and(|known| known.status.is_some());
    if new.status.is_some() && !had_status {
        tell(REFLECT_STATUS_SUCCEED, "the status");
    }
    if known.is_none() && reading.health.is_ok() {
        tell(INTERPRET_HEALTH_SUCCEED, "the health");
    }
}

fn report(work: &Object, ordinal: i64, reading: &Reading<'_>, plan: &mut Plan) -> ManifestStatus {
    let seen = reading.object;
    let mut fail = |reason: &str, error: &InterpretError| {
        let cluster = names::cluster_of_execution_space(work.namespace()).unwrap_or_default();
        let message = format!(
            "{} {} in cluster {cluster}: {}",
            seen.kind(),
            seen.key(),
            telemetry::chain(error)
        );
        let warn = |about| Action::report(about, EventKind::Warning, reason, message.clone());
        plan.push(warn(ObjectRef::of(work)));
        // Works are not what its author looks at.
        plan.extend(template_of(seen).map(warn));
    };
    let status = match &reading.status {
        Ok(status) => status.clone(),
        // A kind that nobody has a rule for is reported as it is.
        Err(InterpretError::NoRule { .. }) => seen.at(&["status"]).cloned(),
        Err(error) => {
            fail(REFLECT_STATUS_FAILED, error);
            None
        }
    };
    let health = match &reading.health {
        Ok(health) => *health,
        Err(error) => {
            fail(INTERPRET_HEALTH_FAILED, error);
            ResourceHealth::Unknown
        }
    };
    let kind = seen.group_version_kind();
    ManifestStatus {
        identifier: ResourceIdentifier {
            ordinal,
            group: kind.group,
            version: kind.version,
            kind: kind.kind,
            resource: String::new(),
            namespace: seen.namespace().to_owned(),
            name: seen.name().to_owned(),
        },
        status: status.filter(Value::is_object),
        health: Some(health),
    }
}
