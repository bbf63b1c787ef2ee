//! How a Job's completions are shared among its clusters.
//!
//! A Job that is there cannot have others: its cluster refuses the whole change. So a cluster keeps what its work says,
//! and what is left is for those that are new.

use std::collections::BTreeMap;

use api::{
    names,
    policy::{Placement, ReplicaSchedulingType},
    work::v1alpha2::ResourceBindingSpec,
};
use object::{Object, Value, object::SetError};

use crate::targets::targets;

/// Completions to be shared in proportion to replicas, by the rule that also divides replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Division<'b> {
    /// How many are to be shared yet.
    pub completions: i64,
    /// The clusters that get a share, with their replicas.
    pub weights: Vec<(&'b str, i32)>,
    /// The clusters that keep what they have.
    pub kept: BTreeMap<&'b str, i64>,
}

impl Division<'_> {
    /// How many completions no cluster is left for.
    #[must_use]
    pub fn missing(&self) -> i64 {
        let is_shared = self.weights.iter().any(|(_, replicas)| *replicas > 0);
        if is_shared { 0 } else { self.completions }
    }
}

/// The completions that are to be shared and those that stay where they are; `None` where each cluster gets what the
/// template says. `running` are those that works speak of, see [`running`].
///
/// Upstream: a Job is known by the name of its kind, in any group. All completions are shared anew whenever replicas
/// change, and refused by every cluster whose share is another then.
#[must_use]
pub fn division<'b>(
    template: &Object,
    binding: &'b ResourceBindingSpec,
    running: &BTreeMap<&str, i64>,
) -> Option<Division<'b>> {
    if template.kind() != "Job" {
        return None;
    }
    let completions = template.integer_at(&["spec", "completions"])?;
    let targets = targets(binding);
    let kept: BTreeMap<&str, i64> = targets
        .iter()
        .filter(|_| !is_elastic(template, completions))
        .filter_map(|target| {
            let name = target.name.as_str();
            Some((name, running.get(name).copied()?))
        })
        .collect();
    let has_weight = targets.iter().any(|target| target.replicas > 0);
    let is_divided = binding.replicas > 0 && binding.placement.as_ref().is_some_and(is_divided);
    if !(is_divided && has_weight) {
        let kept: BTreeMap<&str, i64> = kept
            .into_iter()
            .filter(|(_, has)| *has != completions)
            .collect();
        return (!kept.is_empty()).then_some(Division {
            completions: 0,
            weights: Vec::new(),
            kept,
        });
    }
    let taken: i64 = kept.values().sum();
    let weights = targets
        .into_iter()
        .map(|target| (target.name.as_str(), target.replicas))
        .filter(|(name, _)| !kept.contains_key(name))
        .collect();
    Some(Division {
        completions: (completions - taken).max(0),
        weights,
        kept,
    })
}

/// The completions that the works of a binding speak of, by cluster. One that goes leaves room for another.
#[must_use]
pub fn running<'w>(works: impl IntoIterator<Item = &'w Object>) -> BTreeMap<&'w str, i64> {
    let live = works.into_iter().filter(|work| !work.is_terminating());
    live.filter_map(|work| {
        let cluster = names::cluster_of_execution_space(work.namespace())?;
        let manifest = work.at(&["spec", "workload", "manifests"])?.get(0)?;
        let completions = manifest.get("spec")?.get("completions")?;
        Some((cluster, completions.as_i64()?))
    })
    .collect()
}

/// The Job with its share of the completions.
pub fn with_completions(mut job: Object, share: i64) -> Result<Object, SetError> {
    job.set(&["spec", "completions"], share)?;
    Ok(job)
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
