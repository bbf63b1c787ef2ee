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
    /// Whether it was taken off a cluster and still says where else it may go.
    pub is_moving: bool,
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
        let tasks = binding.at(&["spec", "gracefulEvictionTasks"]);
        let has_tasks = tasks
            .and_then(Value::as_array)
            .is_some_and(|tasks| !tasks.is_empty());
        let placement = binding.at(&["spec", "placement"]);
        Self {
            scheduler: text(&["spec", "schedulerName"]),
            is_suspended: suspended.and_then(Value::as_bool) == Some(true),
            has_owner: OWNER_LABELS.iter().any(has_label),
            is_moving: has_tasks && placement.is_some_and(|placement| !placement.is_null()),
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

    /// Whether a scheduler is to decide about the binding at all, now or once that is held back no longer.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.has_owner || self.is_moving
    }

    /// Whether the last decision was about the binding as it is.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        self.observed_generation >= self.generation
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
            is_moving: !spec.graceful_eviction_tasks.is_empty() && spec.placement.is_some(),
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
///
/// Upstream: a binding whose policy is gone is not taken in after it was taken off a cluster, so that its workload ends
/// with the hand-over and runs nowhere.
#[must_use]
pub fn is_taken(binding: &Glance<'_>, scheduler: &str) -> bool {
    may_decide(binding, scheduler) && binding.is_wanted()
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

/// Whether a binding is this scheduler's and not held back.
#[must_use]
pub fn may_decide(binding: &Glance<'_>, scheduler: &str) -> bool {
    is_mine(binding, scheduler) && !binding.is_suspended
}

fn is_mine(binding: &Glance<'_>, scheduler: &str) -> bool {
    let name = match binding.scheduler {
        "" => DEFAULT_SCHEDULER,
        name => name,
    };
    name == scheduler
}

#[cfg(test)]
mod tests {
    use api::work::v1alpha2::ResourceBinding;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_taken_off_a_cluster_finds_another_also_when_its_policy_is_gone() {
        let left = json!([{"fromCluster": "m1", "reason": "TaintUntolerated", "producer": "TaintManager"}]);
        for (what, is_expected, spec) in [
            ("it stays", false, json!({"placement": {}})),
            (
                "it moves",
                true,
                json!({"placement": {}, "gracefulEvictionTasks": left}),
            ),
            (
                "nobody says where to",
                false,
                json!({"gracefulEvictionTasks": left}),
            ),
            (
                "nothing is left",
                false,
                json!({"placement": {}, "gracefulEvictionTasks": []}),
            ),
            (
                "it is held back",
                false,
                json!({"placement": {}, "gracefulEvictionTasks": left, "suspension": {"scheduling": true}}),
            ),
            (
                "it is another's",
                false,
                json!({"placement": {}, "gracefulEvictionTasks": left, "schedulerName": "other"}),
            ),
        ] {
            let mut value = json!({"metadata": {"name": "b", "namespace": "test"}, "spec": spec});
            value["spec"]["resource"] = json!({"apiVersion": "v1", "kind": "Pod", "name": "b"});
            let object = Object::from_value(value).unwrap();
            let binding: ResourceBinding = object.read().unwrap();
            let view = BindingView::from(&binding);
            let glance = Glance::at(&object);
            assert_eq!(glance, Glance::from(&view), "{what}");
            assert_eq!(is_taken(&glance, DEFAULT_SCHEDULER), is_expected, "{what}");
            // Also after a restart, when there is no state before.
            let expected = match is_expected {
                true => Intake::Enqueue,
                false => Intake::Ignore,
            };
            let intake = binding_changed(None, &glance, DEFAULT_SCHEDULER);
            assert_eq!(intake, expected, "{what}");
        }
    }
}
