//! How a Job's completions are shared among its clusters.
//!
//! A Job that is there cannot have others: its cluster refuses the whole change. So a cluster keeps what it was given,
//! and what is left is for those that are new.

use std::collections::BTreeMap;

use api::{
    names,
    policy::{Placement, ReplicaSchedulingType},
    work::v1alpha2::{ResourceBindingSpec, TargetCluster},
};
use object::{Object, Value, object::SetError};

use crate::targets::targets;

/// The annotation of a work that says how many completions its cluster was given, where overrides left it others: what
/// they take from one cluster is nobody else's. Absent wherever the manifest says the same. Ours alone.
pub const ANNOTATION: &str = "karavel.io/completions";

const COMPLETIONS: [&str; 2] = ["spec", "completions"];

/// Completions to be shared in proportion to replicas, by the rule that also divides replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Division<'b> {
    /// How many are to be shared yet.
    pub completions: i64,
    /// The clusters that get a share, with their replicas; all alike where none has any.
    pub weights: Vec<(&'b str, i32)>,
    /// The clusters that keep what they have.
    pub kept: BTreeMap<&'b str, i64>,
    /// Whether what they keep changes with their replicas, as soon as those are as many as the completions.
    pub is_elastic: bool,
}

impl Division<'_> {
    /// How many completions no cluster is left for.
    #[must_use]
    pub fn missing(&self) -> i64 {
        let is_shared = self.weights.iter().any(|(_, replicas)| *replicas > 0);
        if is_shared || self.is_elastic {
            0
        } else {
            self.completions
        }
    }
}

/// The completions that are to be shared and those that stay where they are; `None` where each cluster gets what the
/// template says. `running` are those that works speak of, see [`running`].
///
/// Upstream: a Job is known by the name of its kind, in any group. All completions are shared anew whenever replicas
/// change, and refused by every cluster whose share is another then. Each cluster gets all of them while there are no
/// replicas; here that would be what it keeps, and all clusters together would run a multiple.
#[must_use]
pub fn division<'b>(
    template: &Object,
    binding: &'b ResourceBindingSpec,
    running: &BTreeMap<&str, i64>,
) -> Option<Division<'b>> {
    if template.kind() != "Job" {
        return None;
    }
    let completions = template.integer_at(&COMPLETIONS)?;
    let targets = targets(binding);
    if targets.is_empty() {
        return None; // Nobody has been chosen, so nobody is missing.
    }
    let is_divided = binding.placement.as_ref().is_some_and(is_divided);
    let is_elastic = is_elastic(template, completions);
    let replicas = |target: &&TargetCluster| i64::from(target.replicas);
    let adds_up = targets.iter().map(replicas).sum::<i64>() == completions;
    // A cluster takes other completions only if they are its parallelism.
    let is_equal = |target: &&TargetCluster| match is_divided {
        true => adds_up,
        false => replicas(target) == completions,
    };
    let mut kept: BTreeMap<&str, i64> = targets
        .iter()
        .filter(|target| !(is_elastic && is_equal(target)))
        .filter_map(|target| {
            let name = target.name.as_str();
            Some((name, running.get(name).copied()?))
        })
        .collect();
    if !is_divided {
        kept.retain(|_, has| *has != completions);
        return (!kept.is_empty()).then_some(Division {
            completions: 0,
            weights: Vec::new(),
            kept,
            is_elastic,
        });
    }
    let taken = kept.values().copied().fold(0, i64::saturating_add);
    let has_weight = targets.iter().any(|target| target.replicas > 0);
    let weight = |target: &TargetCluster| if has_weight { target.replicas } else { 1 };
    let weights = targets
        .into_iter()
        .map(|target| (target.name.as_str(), weight(target)))
        .filter(|(name, _)| !kept.contains_key(name))
        .collect();
    Some(Division {
        completions: completions.saturating_sub(taken).max(0),
        weights,
        kept,
        is_elastic,
    })
}

/// The completions that the clusters of a binding were given, as its works say. One that goes leaves room for another.
#[must_use]
pub fn running<'w>(works: impl IntoIterator<Item = &'w Object>) -> BTreeMap<&'w str, i64> {
    let live = works.into_iter().filter(|work| !work.is_terminating());
    live.filter_map(|work| {
        let cluster = names::cluster_of_execution_space(work.namespace())?;
        Some((cluster, noted(work).or_else(|| sent(work))?))
    })
    .collect()
}

/// The Job with its share of the completions.
pub fn with_completions(mut job: Object, share: i64) -> Result<Object, SetError> {
    job.set(&COMPLETIONS, share)?;
    Ok(job)
}

/// What a work has to note: the completions that its cluster is given of a Job, if overrides leave it others. `share` is
/// its share, where they are shared.
pub(crate) fn note(template: &Object, share: Option<i64>, rendered: &Object) -> Option<i64> {
    if template.kind() != "Job" {
        return None;
    }
    let given = share.or_else(|| template.integer_at(&COMPLETIONS))?;
    (rendered.integer_at(&COMPLETIONS) != Some(given)).then_some(given)
}

/// What a work notes of the completions that its cluster was given.
fn noted(work: &Object) -> Option<i64> {
    work.annotation(ANNOTATION)?.parse().ok()
}

/// The completions of what a work sends.
fn sent(work: &Object) -> Option<i64> {
    let manifest = work.at(&["spec", "workload", "manifests"])?.get(0)?;
    manifest.get("spec")?.get("completions")?.as_i64()
}

/// Whether the completions of a Job that runs may change: those of an indexed one may together with its parallelism, and
/// are shared exactly as that is.
fn is_elastic(job: &Object, completions: i64) -> bool {
    job.at(&["spec", "completionMode"]) == Some(&Value::from("Indexed"))
        && job.integer_at(&["spec", "parallelism"]) == Some(completions)
}

/// Whether replicas are shared out; a strategy that does not say so means it, as the schema's default does.
fn is_divided(placement: &Placement) -> bool {
    placement
        .replica_scheduling
        .as_ref()
        .is_some_and(|strategy| {
            strategy.replica_scheduling_type != Some(ReplicaSchedulingType::Duplicated)
        })
}
