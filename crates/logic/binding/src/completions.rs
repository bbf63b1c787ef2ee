//! How a Job's completions are shared among its clusters.

use api::{
    policy::{Placement, ReplicaSchedulingType},
    work::v1alpha2::ResourceBindingSpec,
};
use object::{Object, object::SetError};

use crate::targets::targets;

/// Completions to be shared in proportion to replicas, by the rule that also divides replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Division<'b> {
    /// How many.
    pub completions: i64,
    /// The clusters with their replicas.
    pub weights: Vec<(&'b str, i32)>,
}

/// The completions that are to be shared; `None` where each cluster gets what the template says.
///
/// Upstream: a Job is known by the name of its kind, in any group.
#[must_use]
pub fn division<'b>(template: &Object, binding: &'b ResourceBindingSpec) -> Option<Division<'b>> {
    if template.kind() != "Job" || binding.replicas <= 0 || !is_divided(binding.placement.as_ref()?)
    {
        return None;
    }
    let completions = template.integer_at(&["spec", "completions"])?;
    let weights: Vec<(&str, i32)> = targets(binding)
        .into_iter()
        .map(|target| (target.name.as_str(), target.replicas))
        .collect();
    let has_weight = weights.iter().any(|(_, replicas)| *replicas > 0);
    has_weight.then_some(Division {
        completions,
        weights,
    })
}

/// The Job with its share of the completions.
pub fn with_completions(mut job: Object, share: i64) -> Result<Object, SetError> {
    job.set(&["spec", "completions"], share)?;
    Ok(job)
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
