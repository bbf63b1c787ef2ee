//! How large each ReplicaSet is to be next: rolling, recreating, or only scaling.

use std::collections::BTreeMap;
use std::sync::Arc;

use object::Object;

use crate::controllers::deployment::sets::{MAXIMUM, Wants, count, note, wanted};
use crate::read;

/// Sizes by the uid of the ReplicaSet; those that are missing stay as they are.
pub(crate) type Sizes = BTreeMap<String, i64>;

/// One step of a rolling update: the new one grows as far as the surge allows; if it cannot, old ones shrink as far as
/// availability allows, those that do not work first.
pub(crate) fn roll(wants: &Wants, new: Option<&Arc<Object>>, old: &[&Arc<Object>]) -> Sizes {
    let mut sizes = Sizes::new();
    let Some(new) = new else { return sizes };
    let all = |of: &dyn Fn(&Object) -> i64| -> i64 {
        of(new) + old.iter().map(|set| of(set)).sum::<i64>()
    };
    let present = all(&wanted);
    let grown = grow(wants, wanted(new), present);
    if grown != wanted(new) {
        sizes.insert(new.uid().to_owned(), grown);
        return sizes;
    }
    let least = wants.replicas - wants.unavailable;
    let not_yet = (wanted(new) - count(new, "availableReplicas")).max(0);
    let mut may_go = present - least - not_yet;
    if old.iter().all(|set| wanted(set) == 0) || may_go <= 0 {
        return sizes;
    }
    for set in old {
        let broken = wanted(set) - count(set, "availableReplicas");
        let share = broken.clamp(0, may_go);
        if share > 0 {
            sizes.insert(set.uid().to_owned(), wanted(set) - share);
            may_go -= share;
        }
    }
    let available = all(&|set| count(set, "availableReplicas"));
    let mut may_go = (available - least).max(0);
    for set in old {
        let size = sizes.get(set.uid()).copied().unwrap_or_else(|| wanted(set));
        let share = size.min(may_go);
        if share > 0 {
            sizes.insert(set.uid().to_owned(), size - share);
            may_go -= share;
        }
    }
    sizes
}

/// The size of the new ReplicaSet with `present` pods wanted in all.
fn grow(wants: &Wants, size: i64, present: i64) -> i64 {
    if size >= wants.replicas {
        // Also the way down, when fewer are wanted than there are.
        return wants.replicas;
    }
    let room = (wants.replicas.saturating_add(wants.surge) - present).max(0);
    size + room.min(wants.replicas - size)
}

/// One step of recreating: all old ones go, and when their last pod is gone the new one comes.
pub(crate) fn recreate(
    wants: &Wants,
    new: Option<&Arc<Object>>,
    old: &[&Arc<Object>],
    pods_of: &dyn Fn(&str) -> usize,
) -> Sizes {
    let mut sizes: Sizes = old
        .iter()
        .filter(|set| wanted(set) > 0)
        .map(|set| (set.uid().to_owned(), 0))
        .collect();
    if let (true, Some(new), true) = (sizes.is_empty(), new, are_gone(old, pods_of)) {
        sizes.insert(new.uid().to_owned(), wants.replicas);
    }
    sizes
}

/// Whether no pod of these is left.
pub(crate) fn are_gone(old: &[&Arc<Object>], pods_of: &dyn Fn(&str) -> usize) -> bool {
    old.iter()
        .all(|set| wanted(set) == 0 && pods_of(set.uid()) == 0)
}

/// Another number of replicas while nothing else moves: the one that runs gets it, or several in proportion.
pub(crate) fn scale(wants: &Wants, new: Option<&Arc<Object>>, old: &[&Arc<Object>]) -> Sizes {
    let mut sizes = Sizes::new();
    let active: Vec<&Arc<Object>> = new
        .into_iter()
        .chain(old.iter().copied())
        .filter(|set| wanted(set) > 0)
        .collect();
    let only = match active.as_slice() {
        [] => new.or_else(|| old.last().copied()),
        [only] => Some(*only),
        _ => None,
    };
    if let Some(only) = only {
        sizes.insert(only.uid().to_owned(), wants.replicas);
        return sizes;
    }
    let is_saturated = new.is_some_and(|new| {
        wanted(new) == wants.replicas && count(new, "availableReplicas") == wants.replicas
    });
    if is_saturated {
        for set in old {
            sizes.insert(set.uid().to_owned(), 0);
        }
        return sizes;
    }
    if wants.recreates {
        return sizes;
    }
    in_proportion(wants, active)
}

/// Shares what is to be added or taken among the active ones, by their sizes; what rounding leaves goes to the largest.
fn in_proportion(wants: &Wants, mut active: Vec<&Arc<Object>>) -> Sizes {
    let allowed = if wants.replicas > 0 {
        wants.replicas.saturating_add(wants.surge)
    } else {
        0
    };
    let present: i64 = active.iter().map(|set| wanted(set)).sum();
    let change = allowed - present;
    // The largest first; of equals the newer when growing, the older when shrinking.
    active.sort_by_key(|set| {
        let age = read::created(set).unix_seconds();
        (-wanted(set), if change > 0 { -age } else { age })
    });
    let mut left = change;
    let mut sizes = Sizes::new();
    for set in &active {
        let size = wanted(set);
        let before = note(set, MAXIMUM)
            .filter(|most| *most > 0)
            .unwrap_or(present);
        let ideal = round_share(size.saturating_mul(allowed), before);
        let share = ideal - size;
        let share = if change > 0 {
            share.clamp(0, left.max(0))
        } else {
            share.clamp(left.min(0), 0)
        };
        left -= share;
        sizes.insert(set.uid().to_owned(), size + share);
    }
    if let Some(first) = active.first()
        && let Some(size) = sizes.get_mut(first.uid())
    {
        *size = size.saturating_add(left).max(0);
    }
    sizes
}

/// A quotient, rounded half away from zero.
fn round_share(dividend: i64, divisor: i64) -> i64 {
    let divisor = divisor.max(1);
    dividend.saturating_mul(2).saturating_add(divisor) / divisor.saturating_mul(2)
}
