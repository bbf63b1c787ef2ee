//! Whether a toleration puts up with a taint.

use api::kubernetes::scheduling::{Taint, Toleration, taint_effect, toleration_operator};

/// The first taint in the list that keeps new work away and that no toleration matches.
///
/// `PreferNoSchedule` keeps nothing away. The operators `Lt` and `Gt` match nothing.
pub fn first_untolerated<'a, T: AsRef<Taint>>(
    taints: &'a [T],
    tolerations: &[Toleration],
) -> Option<&'a T> {
    taints.iter().find(|taint| {
        let taint = (*taint).as_ref();
        keeps_away(taint)
            && !tolerations
                .iter()
                .any(|toleration| tolerates(toleration, taint))
    })
}

/// Whether the toleration matches the taint; an empty key, operator or effect asks for nothing in particular.
#[must_use]
pub fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    if !toleration.effect.is_empty() && toleration.effect != taint.effect {
        return false;
    }
    if !toleration.key.is_empty() && toleration.key != taint.key {
        return false;
    }
    match toleration.operator.as_str() {
        "" | toleration_operator::EQUAL => toleration.value == taint.value,
        toleration_operator::EXISTS => true,
        _ => false,
    }
}

fn keeps_away(taint: &Taint) -> bool {
    taint.effect == taint_effect::NO_SCHEDULE || taint.effect == taint_effect::NO_EXECUTE
}
