//! Whom a change wakes: the bindings whose status has to be folded.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use client::Change;
use object::{Object, ObjectKey};

use crate::{
    bindings::{binding_of, clusters_of},
    change::is_of_status,
    members::is_silent,
    setback,
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

/// Whether a work has just come, so that its member has not said anything yet.
#[must_use]
pub fn is_silent_news(change: &Change) -> bool {
    let after = change.after.as_ref();
    change.before.is_none() && after.is_some_and(|work| work.at(&["status"]).is_none())
}

/// A binding that came and has been looked at by the scheduler, that has other clusters than before, that the scheduler has
/// looked at for the first time, or whose works are held up by something else than before.
#[must_use]
pub fn of_binding(change: &Change) -> Option<ObjectKey> {
    let after = change.after.as_ref()?;
    let is_scheduled = |binding: &Object| binding.at(&["status", "lastScheduledTime"]).is_some();
    let concerns = match &change.before {
        None => is_scheduled(after) || !clusters_of(after).is_empty(),
        Some(before) => {
            clusters_of(before) != clusters_of(after)
                || is_scheduled(before) != is_scheduled(after)
                || setback::of_binding(before) != setback::of_binding(after)
        }
    };
    concerns.then(|| change.key())
}

/// How long a binding is not looked at after a change of its own: the members it has just been given to say something in a
/// moment, and until then there is nothing to tell.
#[must_use]
pub fn wait_of_binding(change: &Change, first: Duration) -> Duration {
    let has_clusters = |binding: &Option<Arc<Object>>| {
        let binding = binding.as_ref();
        binding.is_some_and(|binding| !clusters_of(binding).is_empty())
    };
    match (has_clusters(&change.before), has_clusters(&change.after)) {
        (false, true) if change.before.is_some() => first,
        _ => Duration::ZERO,
    }
}

/// The bindings on a cluster that fell silent or answers again.
#[must_use]
pub fn of_cluster(change: &Change, on_cluster: impl Fn(&str) -> Vec<ObjectKey>) -> Vec<ObjectKey> {
    let silent = |cluster: &Option<Arc<Object>>| cluster.as_ref().is_some_and(|c| is_silent(c));
    if silent(&change.before) == silent(&change.after) {
        return Vec::new();
    }
    on_cluster(&change.key().name)
}
