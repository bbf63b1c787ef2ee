//! Rules about whom processes run as, and what they may do.

use super::{
    spot::{Errors, Spot},
    words::in_range,
};

/// The highest number of a user or group.
const HIGHEST_ID: i64 = i32::MAX as i64;

/// What one container may do.
pub(super) fn container(context: &Spot<'_>, errors: &mut Errors) {
    for field in ["runAsUser", "runAsGroup"] {
        in_range(&context.field(field), 0, HIGHEST_ID, errors);
    }
    let escalation = context.field("allowPrivilegeEscalation");
    if escalation.value != &object::Value::Bool(false) {
        return;
    }
    if context.field("privileged").is_true() {
        errors
            .push(context.invalid(
                "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
            ));
    }
    let capabilities = context.field("capabilities");
    let added = capabilities.field("add");
    if added.elements().any(|name| name.text() == "CAP_SYS_ADMIN") {
        errors.push(context.invalid(
            "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
        ));
    }
}

/// What all containers of a pod may do.
pub(super) fn pod(context: &Spot<'_>, errors: &mut Errors) {
    for field in ["fsGroup", "runAsUser", "runAsGroup"] {
        in_range(&context.field(field), 0, HIGHEST_ID, errors);
    }
    for group in context.field("supplementalGroups").elements() {
        in_range(&group, 0, HIGHEST_ID, errors);
    }
}
