//! ClusterTaintPolicy: which conditions of a cluster put taints on it.

use object::{
    Object,
    field::{FieldError, FieldPath},
};

use super::{
    AdmissionRules, Request, Verdict,
    problems::repeats,
    verdict::{read, webhook_verdict},
};
use crate::{kubernetes::scheduling::taint_effect, policy::ClusterTaintPolicy};

/// The rules of the kind. Keys, effects and operators are free here: a taint that no cluster may have is refused when
/// it is put on one.
pub(super) struct Rules;

impl AdmissionRules for Rules {
    fn validate(&self, request: &Request<'_>, _old: Option<&Object>, new: &Object) -> Verdict {
        let policy: ClusterTaintPolicy = read(new)?;
        let taints = &policy.spec.taints;
        let list = FieldPath::from("spec.taints");
        let mut errors = Vec::new();
        // The first of two is reported, so the list is looked at from its end.
        let mut repeated: Vec<bool> =
            repeats(taints.iter().rev().map(|taint| (&taint.key, &taint.effect))).collect();
        repeated.reverse();
        for (position, (taint, is_repeated)) in taints.iter().zip(repeated).enumerate() {
            if taint.effect == taint_effect::NO_EXECUTE && !request.allow_no_execute {
                errors.push(FieldError::forbidden(
                    list.index(position),
                    "taints with effect NoExecute are not allowed unless the administrator enables them by a flag",
                ));
            }
            if is_repeated {
                let (key, effect) = (&taint.key, &taint.effect);
                let value =
                    format!("taint with the same key({key}) and effect({effect}) is there again");
                errors.push(FieldError::duplicate(list.index(position), value));
            }
        }
        webhook_verdict("clustertaintpolicy.karmada.io", errors)
    }
}
