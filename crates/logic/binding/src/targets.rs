//! Which clusters get a work, and which works are to go.

use std::collections::BTreeSet;

use api::{
    names,
    policy::PurgeMode,
    work::v1alpha2::{GracefulEvictionTask, ResourceBindingSpec, TargetCluster},
};
use object::ObjectKey;

/// The clusters that get a work: those the scheduler chose, then those that only a binding which depends on this one
/// brings in, with that binding's number of replicas.
#[must_use]
pub fn targets(binding: &ResourceBindingSpec) -> Vec<&TargetCluster> {
    let mut seen = BTreeSet::new();
    let required = binding
        .required_by
        .iter()
        .flat_map(|referrer| &referrer.clusters);
    binding
        .clusters
        .iter()
        .chain(required)
        .filter(|target| seen.insert(target.name.as_str()))
        .collect()
}

/// The clusters that may have a work: the targets, and those that are being left gracefully.
#[must_use]
pub fn expected(binding: &ResourceBindingSpec) -> BTreeSet<&str> {
    let left = left(binding).map(|task| task.from_cluster.as_str());
    targets(binding)
        .into_iter()
        .map(|target| target.name.as_str())
        .chain(left)
        .collect()
}

/// Of the clusters that are being left those in which the copy stays for the time being.
pub(crate) fn left(binding: &ResourceBindingSpec) -> impl Iterator<Item = &GracefulEvictionTask> {
    let tasks = binding.graceful_eviction_tasks.iter();
    tasks.filter(|task| !is_direct(task.purge_mode))
}

/// The works among those given that no cluster of the binding accounts for. Ask only with a complete list of the
/// binding's works: what is not listed cannot be missed, but what is listed wrongly is deleted.
#[must_use]
pub fn orphans<'w>(
    binding: &ResourceBindingSpec,
    works: impl IntoIterator<Item = &'w ObjectKey>,
) -> Vec<&'w ObjectKey> {
    let expected = expected(binding);
    works
        .into_iter()
        .filter(|work| {
            names::cluster_of_execution_space(&work.namespace)
                .is_none_or(|cluster| !expected.contains(cluster))
        })
        .collect()
}

/// The targets that must wait: they have no work yet, and a cluster that is to be left directly still has one. Of an
/// application that is moved directly no two copies may run.
///
/// Upstream: all works of the binding wait, and the clusters are looked at every five seconds.
#[must_use]
pub fn held_back<'b>(
    binding: &'b ResourceBindingSpec,
    clusters_with_work: &BTreeSet<&str>,
) -> Vec<&'b str> {
    let leaves_directly = binding
        .graceful_eviction_tasks
        .iter()
        .any(|task| is_direct(task.purge_mode) && clusters_with_work.contains(&*task.from_cluster));
    if !leaves_directly {
        return Vec::new();
    }
    targets(binding)
        .into_iter()
        .map(|target| target.name.as_str())
        .filter(|cluster| !clusters_with_work.contains(cluster))
        .collect()
}

pub(crate) fn is_direct(mode: Option<PurgeMode>) -> bool {
    mode.is_some_and(|mode| mode.current() == PurgeMode::Directly)
}
