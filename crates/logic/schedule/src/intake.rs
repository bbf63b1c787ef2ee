//! Whose business a binding is, and which bindings an event about a cluster concerns.

use api::{cluster::Cluster, well_known::labels};
use object::metadata::ObjectMeta;

use crate::{binding::BindingView, cluster::ClusterFacts, placement::PreparedPlacement};

/// The scheduler that takes bindings which name none.
pub const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// Labels of which a binding must have one: it was made for a policy, or for somebody who manages bindings.
const OWNER_LABELS: [&str; 3] = [
    labels::permanent_id::PROPAGATION_POLICY,
    labels::permanent_id::CLUSTER_PROPAGATION_POLICY,
    labels::BINDING_MANAGED_BY,
];

/// Whether the scheduler called `scheduler` takes the binding in.
///
/// Looked at when an event arrives and never again: what is in the queue is decided, even if it was suspended since.
#[must_use]
pub fn is_taken(binding: &BindingView<'_>, scheduler: &str) -> bool {
    let has_owner = |label: &&str| {
        binding
            .metadata
            .labels
            .get(*label)
            .is_some_and(|value| !value.is_empty())
    };
    is_mine(binding, scheduler) && !is_suspended(binding) && OWNER_LABELS.iter().any(has_owner)
}

/// What a change of a binding means for the queue. `before` and `after` are as the watch delivers them.
#[must_use]
pub fn binding_changed(
    before: Option<&BindingView<'_>>,
    after: &BindingView<'_>,
    scheduler: &str,
) -> Intake {
    let was_taken = before.is_some_and(|before| is_taken(before, scheduler));
    match (was_taken, is_taken(after, scheduler)) {
        (true, false) => Intake::Release,
        (false, false) => Intake::Ignore,
        (false, true) => Intake::Enqueue,
        (true, true) => {
            let is_changed = before
                .is_some_and(|before| before.metadata.generation != after.metadata.generation);
            if is_changed {
                Intake::Enqueue
            } else {
                Intake::Ignore
            }
        }
    }
}

/// What an event about a binding means for the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intake {
    /// Decide about it.
    Enqueue,
    /// It is somebody else's now: forget what is remembered of it, but leave the queue alone.
    Release,
    /// Nothing.
    Ignore,
}

/// Which versions of a changed cluster bindings are to be tested against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterChange {
    /// It is about to go: those it matches now.
    Deleting,
    /// Its labels or spec changed: those it matched before and those it matches now.
    Matching,
    /// Nothing that decisions of waiting bindings hang on.
    Irrelevant,
}

/// What kind of change a cluster went through. A new cluster changes nothing until it becomes ready, which removes a
/// taint.
#[must_use]
pub fn cluster_changed(before: &Cluster, after: &Cluster) -> ClusterChange {
    let (old, new): (&ObjectMeta, &ObjectMeta) = (&before.metadata, &after.metadata);
    if old.deletion_timestamp.is_none() && new.deletion_timestamp.is_some() {
        return ClusterChange::Deleting;
    }
    if old.labels != new.labels || old.generation != new.generation {
        return ClusterChange::Matching;
    }
    ClusterChange::Irrelevant
}

/// Whether a change of `cluster` concerns the binding.
///
/// Of groups of clusters only the one in use is tested, without its overflow; and a binding that was edited since its
/// last decision is concerned in any case, because the group in use may change.
#[must_use]
pub fn is_affected(
    binding: &BindingView<'_>,
    placement: &PreparedPlacement,
    cluster: &ClusterFacts,
    scheduler: &str,
) -> bool {
    if !is_mine(binding, scheduler) || is_suspended(binding) {
        return false;
    }
    if placement.is_ordered() {
        if binding.status.scheduler_observed_generation != binding.metadata.generation {
            return true;
        }
        let term = placement.first_term(&binding.status.scheduler_observed_affinity_name);
        return placement
            .terms
            .get(term)
            .is_some_and(|term| term.affinity.matches(cluster));
    }
    placement
        .affinity
        .as_ref()
        .is_none_or(|affinity| affinity.matches(cluster))
}

fn is_mine(binding: &BindingView<'_>, scheduler: &str) -> bool {
    let name = binding.spec.scheduler_name.as_str();
    let name = if name.is_empty() {
        DEFAULT_SCHEDULER
    } else {
        name
    };
    name == scheduler
}

fn is_suspended(binding: &BindingView<'_>) -> bool {
    binding
        .spec
        .suspension
        .as_ref()
        .is_some_and(|suspension| suspension.scheduling == Some(true))
}
