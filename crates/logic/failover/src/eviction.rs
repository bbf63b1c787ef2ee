//! A binding that leaves a cluster, and one that need not after all.

use std::collections::BTreeMap;

use api::{
    policy::{Placement, PurgeMode, ReplicaSchedulingType},
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

/// The lists of a binding that goes on where it was: the task of that producer is taken back, and the cluster is among those
/// it goes to again, in one write, so that the old copy is wanted all the time. `None` if there is no such task, if the old
/// copy goes in any case, or if others have taken over what ran there.
///
/// Upstream: a task that is there runs to its end. A workload that finds no other place is then deleted when its time is up
/// and made anew where it was, although nothing drives it away any more.
#[must_use]
pub fn withdraw(spec: &ResourceBindingSpec, cluster: &str, producer: &str) -> Option<Evicted> {
    let is_meant = |task: &&GracefulEvictionTask| task.from_cluster == cluster;
    let task = spec.graceful_eviction_tasks.iter().find(is_meant)?;
    let is_handed_over = task.purge_mode.unwrap_or(PurgeMode::Gracefully).current()
        == PurgeMode::Gracefully
        && task.suppress_deletion.is_none();
    if task.producer != producer || !is_handed_over || spec.target(cluster).is_some() {
        return None;
    }
    let replicas = lacking(spec, task.replicas.unwrap_or_default())?;
    let mut clusters = spec.clusters.clone();
    clusters.push(TargetCluster {
        name: cluster.to_owned(),
        replicas,
    });
    let tasks = spec.graceful_eviction_tasks.iter();
    let tasks = tasks.filter(|task| !is_meant(task)).cloned().collect();
    Some(Evicted { clusters, tasks })
}

/// How many of the replicas that left are nowhere else; `None` if the others have taken over.
fn lacking(spec: &ResourceBindingSpec, left: i32) -> Option<i32> {
    if spec.clusters.is_empty() {
        return Some(left);
    }
    let placement = spec.placement.as_ref()?;
    if !is_divided(placement) {
        // Every cluster gets the same. Where only some clusters or groups of them are wanted, another may have come for it.
        let is_free =
            placement.spread_constraints.is_empty() && placement.cluster_affinities.is_empty();
        return is_free.then_some(left);
    }
    let placed: i64 = spec
        .clusters
        .iter()
        .map(|target| i64::from(target.replicas))
        .sum();
    let lacking = i64::from(spec.replicas) - placed;
    let back = i32::try_from(lacking.min(i64::from(left))).ok()?;
    (back > 0).then_some(back)
}

/// Whether replicas are shared out; a strategy that does not say so means it, as the schema's default does.
fn is_divided(placement: &Placement) -> bool {
    let strategy = placement.replica_scheduling.as_ref();
    strategy.is_some_and(|strategy| {
        strategy.replica_scheduling_type != Some(ReplicaSchedulingType::Duplicated)
    })
}
