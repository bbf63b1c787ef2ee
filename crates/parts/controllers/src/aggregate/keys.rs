//! Whom a change wakes: the bindings whose status has to be folded.

use std::{collections::BTreeSet, sync::Arc};

use client::Change;
use object::{Object, ObjectKey};

use crate::{
    bindings::{binding_of, clusters_of},
    change::is_of_status,
    views::is_silent,
};

/// The binding of a work that came, went, is going, or whose member has reported.
#[must_use]
pub fn of_work(change: &Change) -> Vec<ObjectKey> {
    let is_going = |work: &Option<Arc<Object>>| work.as_ref().is_some_and(|w| w.is_terminating());
    let concerns = is_of_status(change.before.as_ref(), change.after.as_ref())
        || is_going(&change.before) != is_going(&change.after);
    if !concerns {
        return Vec::new();
    }
    let keys: BTreeSet<ObjectKey> = change
        .states()
        .filter_map(|work| binding_of(work))
        .collect();
    keys.into_iter().collect()
}

/// A binding that came, that has other clusters than before, or that the scheduler has looked at for the first time.
#[must_use]
pub fn of_binding(change: &Change) -> Option<ObjectKey> {
    let after = change.after.as_ref()?;
    let is_scheduled = |binding: &Object| binding.at(&["status", "lastScheduledTime"]).is_some();
    let concerns = match &change.before {
        None => true,
        Some(before) => {
            clusters_of(before) != clusters_of(after) || is_scheduled(before) != is_scheduled(after)
        }
    };
    concerns.then(|| change.key())
}

/// The bindings on a cluster that fell silent or answers again.
#[must_use]
pub fn of_cluster(
    change: &Change,
    on_cluster: impl Fn(&str) -> Vec<Arc<Object>>,
) -> Vec<ObjectKey> {
    let silent = |cluster: &Option<Arc<Object>>| cluster.as_ref().is_some_and(|c| is_silent(c));
    if silent(&change.before) == silent(&change.after) {
        return Vec::new();
    }
    let bindings = on_cluster(&change.key().name);
    bindings.iter().map(|binding| binding.key()).collect()
}
