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
    Err(Refusal::Denied {
        webhook: WEBHOOK,
        reason: FORBIDDEN,
        text: format!(
            "This resource is protected, please make sure to remove the label: {DELETION_PROTECTION}"
        ),
        errors: Vec::new(),
    })
}
