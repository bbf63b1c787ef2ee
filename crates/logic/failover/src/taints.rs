//! Whether a binding may stay on a cluster that carries taints.

use api::kubernetes::scheduling::{Taint, Toleration, taint_effect, toleration_operator};
use object::time::Time;

/// Whether a binding stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stay {
    /// For good, as far as these taints go.
    ForGood,
    /// Until then.
    Until(Time),
    /// Not any more.
    Over,
}

/// Whether a binding with these tolerations may stay on a cluster with these taints. Only `NoExecute` drives anything away.
///
/// For each taint the first toleration that fits counts; what it bears for a time it bears from when the taint was put on,
/// as it does every other taint it fits.
#[must_use]
pub fn stay(taints: &[Taint], tolerations: &[Toleration], now: Time) -> Stay {
    let driving: Vec<&Taint> = taints
        .iter()
        .filter(|taint| taint.effect == taint_effect::NO_EXECUTE)
        .collect();
    let mut until: Option<Time> = None;
    for taint in &driving {
        let Some(chosen) = tolerations.iter().find(|found| tolerates(found, taint)) else {
            return Stay::Over;
        };
        let Some(seconds) = chosen.toleration_seconds else {
            continue;
        };
        let deadlines = driving
            .iter()
            .filter(|other| tolerates(chosen, other))
            .filter_map(|other| other.time_added)
            .map(|added| added.plus_seconds(seconds.max(0)));
        until = deadlines.chain(until).min();
    }
    match until {
        None => Stay::ForGood,
        Some(time) if time <= now => Stay::Over,
        Some(time) => Stay::Until(time),
    }
}

/// Whether the toleration fits the taint; an empty key or effect asks for nothing in particular.
fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let fits = |wanted: &str, found: &str| wanted.is_empty() || wanted == found;
    fits(&toleration.effect, &taint.effect)
        && fits(&toleration.key, &taint.key)
        && match toleration.operator.as_str() {
            "" | toleration_operator::EQUAL => toleration.value == taint.value,
            toleration_operator::EXISTS => true,
            _ => false,
        }
}
