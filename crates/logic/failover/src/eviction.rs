//! A binding that leaves a cluster.

use std::collections::BTreeMap;

use api::{
    policy::PurgeMode,
    work::v1alpha2::{GracefulEvictionTask, ResourceBindingSpec, TargetCluster},
};

/// Why and how a binding leaves a cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Eviction<'a> {
    /// The cluster.
    pub cluster: &'a str,
    /// Why, as one word.
    pub reason: &'a str,
    /// Why, as a sentence.
    pub message: String,
    /// Who decided so.
    pub producer: &'a str,
    /// What becomes of the old copy.
    pub purge_mode: Option<PurgeMode>,
    /// How long the old copy may wait for its replacement; the operator's default if absent.
    pub grace_period_seconds: Option<i32>,
    /// Whether the old copy stays until somebody decides about it.
    pub suppress_deletion: Option<bool>,
    /// What the new copy inherits.
    pub preserved_label_state: BTreeMap<String, String>,
    /// Whether to note where the workload was before.
    pub notes_clusters: bool,
}

/// What an eviction makes of the two lists it writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Evicted {
    /// The clusters that remain.
    pub clusters: Vec<TargetCluster>,
    /// The tasks, the new one last.
    pub tasks: Vec<GracefulEvictionTask>,
}

/// The lists of a binding that leaves a cluster; `None` if it is not there, or has left it already.
#[must_use]
pub fn evict(spec: &ResourceBindingSpec, eviction: &Eviction<'_>) -> Option<Evicted> {
    let target = spec.target(eviction.cluster)?;
    let clusters = spec
        .clusters
        .iter()
        .filter(|other| other.name != eviction.cluster)
        .cloned()
        .collect();
    let mut tasks = spec.graceful_eviction_tasks.clone();
    if !tasks
        .iter()
        .any(|task| task.from_cluster == eviction.cluster)
    {
        tasks.push(GracefulEvictionTask {
            from_cluster: eviction.cluster.to_owned(),
            purge_mode: eviction.purge_mode,
            replicas: Some(target.replicas).filter(|replicas| *replicas > 0),
            reason: eviction.reason.to_owned(),
            message: eviction.message.clone(),
            producer: eviction.producer.to_owned(),
            grace_period_seconds: eviction.grace_period_seconds,
            suppress_deletion: eviction.suppress_deletion,
            preserved_label_state: eviction.preserved_label_state.clone(),
            // Stamped by whoever sees to the task, when its time begins.
            creation_timestamp: None,
            clusters_before_failover: if eviction.notes_clusters {
                spec.clusters
                    .iter()
                    .map(|other| other.name.clone())
                    .collect()
            } else {
                Vec::new()
            },
        });
    }
    Some(Evicted { clusters, tasks })
}
