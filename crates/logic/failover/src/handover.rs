//! When an old copy may go.

use std::collections::BTreeSet;

use api::work::{
    ResourceHealth,
    v1alpha2::{GracefulEvictionTask, ResourceBindingSpec, ResourceBindingStatus},
};
use object::time::Time;

/// What becomes of the tasks of a binding.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Handover {
    /// The tasks that go on, stamped.
    pub kept: Vec<GracefulEvictionTask>,
    /// The clusters whose old copy may go, and why.
    pub ended: Vec<(String, End)>,
    /// When the next of them is up.
    pub next: Option<Time>,
    /// Whether the list is to be written.
    pub is_changed: bool,
}

/// Why an old copy may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Somebody said so.
    Released,
    /// Its time is up.
    TimedOut,
    /// All new copies are healthy.
    Replaced,
    /// The cluster has left, and the copy with it as far as anybody here can tell.
    ClusterGone,
}

impl End {
    /// As a part of a sentence.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Released => "it was released",
            Self::TimedOut => "its grace period is over",
            Self::Replaced => "its replacement is healthy",
            Self::ClusterGone => "the cluster is gone",
        }
    }
}

/// Looks through the tasks of a binding. `gone` has those of its clusters that are known not to exist any more,
/// `grace_seconds` is for tasks that do not say how long they may take.
#[must_use]
pub fn look(
    spec: &ResourceBindingSpec,
    status: &ResourceBindingStatus,
    generation: i64,
    gone: &BTreeSet<String>,
    grace_seconds: i64,
    now: Time,
) -> Handover {
    let is_replaced = is_replaced(spec, status, generation);
    let mut handover = Handover::default();
    for task in &spec.graceful_eviction_tasks {
        // Upstream: waits all the same, and keeps away from a cluster that joins by that name meanwhile.
        if gone.contains(&task.from_cluster) {
            let ended = (task.from_cluster.clone(), End::ClusterGone);
            handover.ended.push(ended);
            handover.is_changed = true;
            continue;
        }
        let Some(since) = task.creation_timestamp else {
            // Its time begins now.
            let stamped = GracefulEvictionTask {
                creation_timestamp: Some(now),
                ..task.clone()
            };
            handover.wait(&stamped, now, grace_seconds);
            handover.kept.push(stamped);
            handover.is_changed = true;
            continue;
        };
        let end = match task.suppress_deletion {
            Some(true) => None,
            Some(false) => Some(End::Released),
            None if now > deadline(task, since, grace_seconds) => Some(End::TimedOut),
            None if is_replaced => Some(End::Replaced),
            None => None,
        };
        match end {
            Some(end) => {
                handover.ended.push((task.from_cluster.clone(), end));
                handover.is_changed = true;
            }
            None => {
                handover.wait(task, since, grace_seconds);
                handover.kept.push(task.clone());
            }
        }
    }
    handover
}

impl Handover {
    fn wait(&mut self, task: &GracefulEvictionTask, since: Time, grace_seconds: i64) {
        if task.suppress_deletion.is_none() {
            // The time is up when it has passed, not when it has come.
            let time = deadline(task, since, grace_seconds).plus_seconds(1);
            self.next = self.next.into_iter().chain([time]).min();
        }
    }
}

fn deadline(task: &GracefulEvictionTask, since: Time, grace_seconds: i64) -> Time {
    let seconds = task.grace_period_seconds.map_or(grace_seconds, i64::from);
    since.plus_seconds(seconds.max(0))
}

/// Whether the scheduler has seen the binding as it is, and all clusters it chose report a healthy copy.
fn is_replaced(
    spec: &ResourceBindingSpec,
    status: &ResourceBindingStatus,
    generation: i64,
) -> bool {
    status.scheduler_observed_generation == generation
        && spec.clusters.iter().all(|target| {
            status.aggregated_status.iter().any(|item| {
                item.cluster_name == target.name && item.health == Some(ResourceHealth::Healthy)
            })
        })
}
