//! Whose business a binding is, and which bindings an event about a cluster concerns.

use api::well_known::labels;
use object::{Object, Value, metadata::ObjectMeta};

use crate::{
    binding::{BindingView, priority},
    cluster::ClusterFacts,
    placement::PreparedPlacement,
};

/// The scheduler that takes bindings which name none.
pub const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// Labels of which a binding must have one: it was made for a policy, or for somebody who manages bindings.
const OWNER_LABELS: [&str; 3] = [
    labels::permanent_id::PROPAGATION_POLICY,
    labels::permanent_id::CLUSTER_PROPAGATION_POLICY,
    labels::BINDING_MANAGED_BY,
];

/// What intake looks at in a binding: little enough to be read from every event without parsing the whole object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance<'a> {
    /// The scheduler it names; empty if none.
    pub scheduler: &'a str,
    /// Whether scheduling is held back.
    pub is_suspended: bool,
    /// Whether it was made for a policy, or for somebody who manages bindings.
    pub has_owner: bool,
    /// Its generation.
    pub generation: i64,
    /// The generation of the last decision.
    pub observed_generation: i64,
    /// The group of clusters in use; empty if none.
    pub observed_group: &'a str,
    /// How urgent it is; the greater goes first.
    pub priority: i32,
}

impl<'a> Glance<'a> {
    /// At a binding of either scope, as the API has it. Fields of the wrong type read as absent.
    #[must_use]
    pub fn at(binding: &'a Object) -> Self {
        let text = |path: &[&str]| binding.text_at(path).unwrap_or_default();
        let suspended = binding.at(&["spec", "suspension", "scheduling"]);
        let priority = binding.integer_at(&["spec", "schedulePriority", "priority"]);
        let has_label = |label: &&str| binding.label(label).is_some_and(|value| !value.is_empty());
        Self {
            scheduler: text(&["spec", "schedulerName"]),
            is_suspended: suspended.and_then(Value::as_bool) == Some(true),
            has_owner: OWNER_LABELS.iter().any(has_label),
            generation: binding.generation(),
            observed_generation: binding
                .integer_at(&["status", "schedulerObservedGeneration"])
                .unwrap_or(0),
            observed_group: text(&["status", "schedulerObservingAffinityName"]),
            priority: priority
                .and_then(|priority| i32::try_from(priority).ok())
                .unwrap_or(0),
        }
    }
}

impl<'a> From<&BindingView<'a>> for Glance<'a> {
    fn from(binding: &BindingView<'a>) -> Self {
        let BindingView {
            metadata,
            spec,
            status,
            ..
        } = *binding;
        let has_label = |label: &&str| {
            metadata
                .labels
                .get(*label)
                .is_some_and(|value| !value.is_empty())
        };
        let suspension = spec.suspension.as_ref();
        Self {
            scheduler: &spec.scheduler_name,
            is_suspended: suspension.and_then(|suspension| suspension.scheduling) == Some(true),
            has_owner: OWNER_LABELS.iter().any(has_label),
            generation: metadata.generation,
            observed_generation: status.scheduler_observed_generation,
            observed_group: &status.scheduler_observed_affinity_name,
            priority: priority(binding),
        }
    }
}

/// Whether the scheduler called `scheduler` takes the binding in.
///
/// Looked at when an event arrives and never again: what is in the queue is decided, even if it was suspended since.
#[must_use]
pub fn is_taken(binding: &Glance<'_>, scheduler: &str) -> bool {
    is_mine(binding, scheduler) && !binding.is_suspended && binding.has_owner
}

/// What a change of a binding means for the queue. `before` and `after` are as the watch delivers them.
#[must_use]
pub fn binding_changed(before: Option<&Glance<'_>>, after: &Glance<'_>, scheduler: &str) -> Intake {
    let was_taken = before.is_some_and(|before| is_taken(before, scheduler));
    match (was_taken, is_taken(after, scheduler)) {
        (true, false) => Intake::Release,
        (false, false) => Intake::Ignore,
        (false, true) => Intake::Enqueue,
        (true, true) if before.is_some_and(|before| before.generation != after.generation) => {
            Intake::Edited
        }
        (true, true) => Intake::Ignore,
    }
}

/// What an event about a binding means for the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intake {
    /// It became ours: decide about it.
    Enqueue,
    /// It is ours and was edited: decide about it, unless the edit is our own.
    Edited,
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
pub fn cluster_changed(before: &ObjectMeta, after: &ObjectMeta) -> ClusterChange {
    if before.deletion_timestamp.is_none() && after.deletion_timestamp.is_some() {
        return ClusterChange::Deleting;
    }
    if before.labels != after.labels || before.generation != after.generation {
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
    binding: &Glance<'_>,
    placement: &PreparedPlacement,
    cluster: &ClusterFacts,
    scheduler: &str,
) -> bool {
    if !is_mine(binding, scheduler) || binding.is_suspended {
        return false;
    }
    if placement.is_ordered() {
        if binding.observed_generation != binding.generation {
            return true;
        }
        let term = placement.first_term(binding.observed_group);
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

/// Whether more room in `cluster` may help a binding that waits for some: it could go there, in whatever group or tier.
#[must_use]
pub fn may_help(placement: &PreparedPlacement, cluster: &ClusterFacts) -> bool {
    if let Some(affinity) = &placement.affinity {
        return affinity.matches(cluster);
    }
    let mut terms = placement.terms.iter();
    !placement.is_ordered()
        || terms.any(|term| {
            let mut tiers = std::iter::once(&term.affinity).chain(&term.overflow);
            tiers.any(|affinity| affinity.matches(cluster))
        })
}

fn is_mine(binding: &Glance<'_>, scheduler: &str) -> bool {
    let name = match binding.scheduler {
        "" => DEFAULT_SCHEDULER,
        name => name,
    };
    name == scheduler
}
