//! Which bindings wait to be judged because the taints of a cluster changed, for the figures.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use api::kubernetes::scheduling::taint_effect::NO_EXECUTE;
use client::Change;
use object::{ObjectKey, Value};

/// The clusters that each waiting binding may have to leave; clones are the same.
///
/// Upstream: a figure that goes up with every look that is asked for and down with every one that succeeds, so that it grows
/// for ever. Here a binding is counted once for each cluster, and no longer once it was looked at.
#[derive(Clone, Debug, Default)]
pub(super) struct Awaited {
    clusters: Arc<Mutex<HashMap<ObjectKey, BTreeSet<String>>>>,
}

impl Awaited {
    /// The taints of a cluster changed, and these bindings are to be looked at.
    pub(super) fn note(&self, change: &Change, bindings: &[ObjectKey]) {
        if bindings.is_empty() || !drives_away(change) {
            return;
        }
        let cluster = change.key().name;
        let mut clusters = self.lock();
        for binding in bindings {
            let waiting = clusters.entry(binding.clone()).or_default();
            waiting.insert(cluster.clone());
        }
    }

    /// The binding was looked at.
    pub(super) fn over(&self, binding: &ObjectKey) {
        self.lock().remove(binding);
    }

    /// How many bindings wait, for each cluster.
    pub(super) fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for cluster in self.lock().values().flatten() {
            *counts.entry(cluster.clone()).or_default() += 1;
        }
        counts
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ObjectKey, BTreeSet<String>>> {
        // What is behind it is whole between any two lines.
        self.clusters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the cluster has a taint that drives anything away.
fn drives_away(change: &Change) -> bool {
    let cluster = change.after.as_ref();
    let taints = cluster.and_then(|cluster| cluster.at(&["spec", "taints"])?.as_array());
    taints.into_iter().flatten().any(|taint| {
        let effect = taint.get("effect").and_then(Value::as_str);
        effect == Some(NO_EXECUTE)
    })
}
