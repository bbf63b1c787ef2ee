//! Which taints the conditions of a cluster put on it or take off it.

use api::{
    affinity::{Affinity, ClusterTraits},
    kubernetes::scheduling::Taint,
    policy::{ClusterTaintPolicy, MatchCondition, PolicyTaint, match_operator},
};
use object::{condition::Condition, field::FieldPath, time::Time};

/// A cluster as far as policies look at it.
#[derive(Clone, Copy, Debug)]
pub struct Marked<'a, C> {
    /// Its name, labels and place.
    pub traits: &'a C,
    /// What holds of it.
    pub conditions: &'a [Condition],
    /// The taints it has.
    pub taints: &'a [Taint],
}

/// The taints a cluster should have by all policies, or `None` if it has them.
///
/// Older policies go first, so that of two that disagree the younger wins; of one that both adds and removes, the removal
/// wins. A taint is known by key and effect, whatever its value.
#[must_use]
pub fn taints<C: ClusterTraits>(
    cluster: Marked<'_, C>,
    policies: &[ClusterTaintPolicy],
    now: Time,
) -> Option<Vec<Taint>> {
    let mut ordered: Vec<&ClusterTaintPolicy> = policies
        .iter()
        .filter(|policy| is_for(policy, cluster.traits))
        .collect();
    let age = |policy: &ClusterTaintPolicy| policy.metadata.creation_timestamp;
    ordered.sort_by(|a, b| {
        (age(a), a.metadata.name.as_str()).cmp(&(age(b), b.metadata.name.as_str()))
    });
    let mut next = cluster.taints.to_vec();
    for policy in ordered {
        let spec = &policy.spec;
        if hold(&spec.add_on_conditions, cluster.conditions) {
            for taint in &spec.taints {
                if !next.iter().any(|found| is_same(found, taint)) {
                    next.push(Taint {
                        key: taint.key.clone(),
                        value: taint.value.clone(),
                        effect: taint.effect.clone(),
                        time_added: Some(now),
                    });
                }
            }
        }
        if hold(&spec.remove_on_conditions, cluster.conditions) {
            next.retain(|found| !spec.taints.iter().any(|taint| is_same(found, taint)));
        }
    }
    (next != cluster.taints).then_some(next)
}

/// Whether a policy is for a cluster.
#[must_use]
pub fn is_for(policy: &ClusterTaintPolicy, cluster: &impl ClusterTraits) -> bool {
    policy.spec.target_clusters.as_ref().is_none_or(|affinity| {
        let path = FieldPath::from("spec.targetClusters");
        Affinity::compile(affinity, &path).matches(cluster)
    })
}

/// Whether all of these hold; none at all never do.
fn hold(wanted: &[MatchCondition], conditions: &[Condition]) -> bool {
    !wanted.is_empty() && wanted.iter().all(|wanted| holds(wanted, conditions))
}

/// A condition that the cluster does not have satisfies nothing, not even `NotIn`.
fn holds(wanted: &MatchCondition, conditions: &[Condition]) -> bool {
    let Some(found) = object::condition::find(conditions, &wanted.condition_type) else {
        return false;
    };
    let is_listed = wanted
        .status_values
        .iter()
        .any(|value| value == found.status.as_str());
    match wanted.operator.as_str() {
        match_operator::IN => is_listed,
        match_operator::NOT_IN => !is_listed,
        _ => false,
    }
}

fn is_same(found: &Taint, taint: &PolicyTaint) -> bool {
    found.key == taint.key && found.effect == taint.effect
}
