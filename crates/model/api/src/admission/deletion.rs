//! Objects that must not be deleted.

use object::Object;

use super::{
    Verdict,
    verdict::{Allowed, FORBIDDEN, Refusal},
};
use crate::well_known::labels::{DELETION_PROTECTION, DELETION_PROTECTION_ALWAYS};

const WEBHOOK: &str = "resourcedeletionprotection.karmada.io";

/// Whether an object, of any kind, may be deleted.
pub fn check_deletion(stored: &Object) -> Verdict {
    if stored.label(DELETION_PROTECTION) != Some(DELETION_PROTECTION_ALWAYS) {
        return Ok(Allowed::default());
    }
    Err(denied(format!(
        "This resource is protected, please make sure to remove the label: {DELETION_PROTECTION}"
    )))
}

/// Whether a binding may be deleted whose template is there to stay and carries these labels; `template` names it.
///
/// Invariant: what a protected template made stays as long as the template. With its binding it would go from every member,
/// and where the namespace of both is being deleted nobody could make another binding.
///
/// Upstream: the template alone is protected, and loses all its copies when its namespace is deleted.
pub fn check_binding_deletion<'l>(
    template: &str,
    label: impl FnOnce(&str) -> Option<&'l str>,
) -> Verdict {
    if label(DELETION_PROTECTION) != Some(DELETION_PROTECTION_ALWAYS) {
        return Ok(Allowed::default());
    }
    Err(denied(format!(
        "This resource is the binding of {template}, which is protected, please make sure to remove the label from that: {DELETION_PROTECTION}"
    )))
}

fn denied(text: String) -> Refusal {
    Refusal::Denied {
        webhook: WEBHOOK,
        reason: FORBIDDEN,
        text,
        errors: Vec::new(),
    }
}
