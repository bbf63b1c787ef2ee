//! Whether a binding needs a decision at all.

use std::fmt;

use api::{
    policy::{ClusterAffinityTerm, Placement, ReplicaSchedulingType},
    well_known::annotations::APPLIED_PLACEMENT,
};

use crate::{
    awaited,
    binding::{BindingView, is_fresh_wanted},
    cluster::Snapshot,
    cycle::{Components, Options},
    intake::Glance,
};

/// The placement that led to the present targets, as the annotation `policy.karmada.io/applied-placement` keeps it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Applied<'a> {
    /// There is no annotation.
    Absent,
    /// The annotation cannot be read.
    Unreadable,
    /// This one.
    Placement(&'a Placement),
}

/// Why a binding needs a decision; the first that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// It has no targets, and never had any.
    Unplaced,
    /// Its placement is not the one that led to its targets.
    PlacementChanged,
    /// Its targets do not add up to its replicas.
    ReplicasChanged,
    /// The same, because a copy was told to leave its cluster.
    Evicted,
    /// Somebody asked for a fresh decision.
    FreshWanted,
    /// All clusters get the same, so new clusters must be looked for each time.
    NotDivided,
    /// One of its clusters is about to go.
    ClusterDeleting,
    /// One of its clusters does not exist any more.
    ClusterGone,
    /// A cluster that could not take part in the division serves the kind now.
    KindServed,
}

impl Trigger {
    /// How metrics call the decision.
    #[must_use]
    pub fn schedule_type(self) -> &'static str {
        match self {
            Self::ReplicasChanged | Self::Evicted => "ScaleSchedule",
            _ => "ReconcileSchedule",
        }
    }
}

impl Trigger {
    /// The reason in words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unplaced => "it had no place",
            Self::PlacementChanged => "the placement changed",
            Self::ReplicasChanged => "the replicas changed",
            Self::Evicted => "it was evicted from a cluster",
            Self::FreshWanted => "a fresh decision was asked for",
            Self::NotDivided => "every cluster gets the same",
            Self::ClusterDeleting => "a target is being deleted",
            Self::ClusterGone => "a target is no cluster any more",
            Self::KindServed => "a cluster began to serve the kind",
        }
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why the binding needs a decision; `None` if its targets are right and shall stay.
///
/// Divided workloads are left alone when clusters come, change or fill up: moving running replicas needs a reason that
/// somebody gave. The exceptions are clusters that go, and those that were left out only because they did not serve the
/// kind yet ([`awaited`]). A binding without placement is not judged here.
///
/// Upstream: a target that is no cluster any more is no reason, and neither is the kind.
#[must_use]
pub fn needs_cycle(
    binding: &BindingView<'_>,
    applied: Applied<'_>,
    clusters: &Snapshot,
    options: Options,
) -> Option<Trigger> {
    let placement = binding.spec.placement.as_ref()?;
    if applied == Applied::Absent && binding.spec.clusters.is_empty() {
        return Some(Trigger::Unplaced);
    }
    if is_placement_changed(
        applied,
        placement,
        &binding.status.scheduler_observed_affinity_name,
    ) {
        return Some(Trigger::PlacementChanged);
    }
    if are_replicas_changed(binding, placement, options) {
        return Some(match is_evicted(binding) {
            true => Trigger::Evicted,
            false => Trigger::ReplicasChanged,
        });
    }
    if is_fresh_wanted(binding) {
        return Some(Trigger::FreshWanted);
    }
    if !binding.spec.is_workload() || !is_divided(placement) {
        return Some(Trigger::NotDivided);
    }
    let mut finder = clusters.finder();
    for target in &binding.spec.clusters {
        match finder.find(&target.name) {
            None => return Some(Trigger::ClusterGone),
            Some(position) if clusters.at(position).is_some_and(|at| at.is_deleting) => {
                return Some(Trigger::ClusterDeleting);
            }
            Some(_) => {}
        }
    }
    awaited::has_come(binding, clusters).then_some(Trigger::KindServed)
}

/// Whether the placement differs from the applied one in a way that can change the result; `observed` is the group of
/// clusters in use.
///
/// An annotation that cannot be read counts as unchanged: nobody's running workload is moved because of it.
#[must_use]
pub fn is_placement_changed(applied: Applied<'_>, present: &Placement, observed: &str) -> bool {
    let applied = match applied {
        Applied::Absent => return true,
        Applied::Unreadable => return false,
        Applied::Placement(applied) => applied,
    };
    if applied == present {
        return false;
    }
    if applied.cluster_affinity != present.cluster_affinity
        || applied.cluster_tolerations != present.cluster_tolerations
        || applied.spread_constraints != present.spread_constraints
        || applied.replica_scheduling != present.replica_scheduling
    {
        return true;
    }
    // What is left is the groups, of which only the one in use counts, and the workload groups, which count as long as
    // no group of clusters is in use.
    if observed.is_empty() {
        return true;
    }
    let term = |terms: &[ClusterAffinityTerm]| {
        terms
            .iter()
            .find(|term| term.affinity_name == observed)
            .cloned()
    };
    match (
        term(&applied.cluster_affinities),
        term(&present.cluster_affinities),
    ) {
        (Some(applied), Some(present)) => applied != present,
        _ => true,
    }
}

/// Whether the binding's targets are those of a placement that it had before, and a decision about the one that it has by
/// now is still to come.
///
/// One that nobody decides about keeps its targets, and so does one of which nobody noted by which placement it got them.
#[must_use]
pub fn awaits_decision(binding: &BindingView<'_>) -> bool {
    let placement = binding.spec.placement.as_ref();
    let note = binding.metadata.annotations.get(APPLIED_PLACEMENT);
    let (Some(placement), Some(note)) = (placement, note) else {
        return false;
    };
    let applied: Option<Placement> = serde_json::from_str(note).ok();
    let applied = match &applied {
        None => Applied::Unreadable,
        Some(applied) => Applied::Placement(applied),
    };
    let observed = &binding.status.scheduler_observed_affinity_name;
    Glance::from(binding).is_wanted() && is_placement_changed(applied, placement, observed)
}

/// Whether the targets do not add up to the replicas.
#[must_use]
pub fn are_replicas_changed(
    binding: &BindingView<'_>,
    placement: &Placement,
    options: Options,
) -> bool {
    let spec = binding.spec;
    if placement.replica_scheduling.is_none() {
        return false;
    }
    let is_set = options.components == Components::AsSets && !spec.components.is_empty();
    if is_set && spec.clusters.is_empty() {
        return true;
    }
    if is_divided(placement) {
        let total: i64 = spec
            .clusters
            .iter()
            .map(|target| i64::from(target.replicas))
            .sum();
        return total != i64::from(spec.replicas);
    }
    spec.clusters
        .iter()
        .any(|target| target.replicas != spec.replicas)
}

/// Whether what is missing among the targets is what copies had that are told to leave.
fn is_evicted(binding: &BindingView<'_>) -> bool {
    let spec = binding.spec;
    let is_target = |cluster: &str| spec.clusters.iter().any(|target| target.name == cluster);
    let left = spec.graceful_eviction_tasks.iter();
    let left = left.filter(|task| !is_target(&task.from_cluster));
    let left: i64 = left.map(|task| i64::from(task.replicas.unwrap_or(0))).sum();
    let kept = spec.clusters.iter();
    let kept: i64 = kept.map(|target| i64::from(target.replicas)).sum();
    left > 0 && kept + left == i64::from(spec.replicas)
}

fn is_divided(placement: &Placement) -> bool {
    let strategy = placement.replica_scheduling.as_ref();
    strategy.is_some_and(|strategy| {
        strategy.replica_scheduling_type != Some(ReplicaSchedulingType::Duplicated)
    })
}

#[cfg(test)]
mod tests {
    use api::work::v1alpha2::ResourceBinding;
    use object::Object;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_binding_waits_for_a_decision_about_a_placement_that_is_new() {
        let (east, west) = (
            json!({"clusterAffinity": {"clusterNames": ["east"]}}),
            json!({"clusterAffinity": {"clusterNames": ["west"]}}),
        );
        let (east_text, west_text) = (east.to_string(), west.to_string());
        let policy = "propagationpolicy.karmada.io/permanent-id";
        for (what, label, note, placement, expected) in [
            ("it moves", policy, Some(&east_text), Some(&west), true),
            ("it has moved", policy, Some(&west_text), Some(&west), false),
            (
                "it has no policy",
                "other",
                Some(&east_text),
                Some(&west),
                false,
            ),
            ("nobody noted anything", policy, None, Some(&west), false),
            ("it is brought along", policy, Some(&east_text), None, false),
            (
                "nobody can read it",
                policy,
                Some(&"{".to_owned()),
                Some(&west),
                false,
            ),
        ] {
            let mut object = json!({
                "metadata": {"name": "b", "namespace": "test", "labels": {label: "id"}, "annotations": {}},
                "spec": {"resource": {"apiVersion": "v1", "kind": "Pod", "name": "b"}},
            });
            if let Some(note) = note {
                object["metadata"]["annotations"][APPLIED_PLACEMENT] = json!(note);
            }
            if let Some(placement) = placement {
                object["spec"]["placement"] = placement.clone();
            }
            let binding: ResourceBinding = Object::from_value(object).unwrap().read().unwrap();
            assert_eq!(awaits_decision(&(&binding).into()), expected, "{what}");
        }
    }
}
