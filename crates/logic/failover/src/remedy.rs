//! Which remedies are called for by the state of a cluster.

use std::collections::BTreeSet;

use api::remedy::{ClusterConditionOperator, ClusterConditionRequirement, Remedy};
use object::condition::Condition;

/// A remedy, and whether it names states at all: one that names none acts at once, one with an empty list never does.
#[derive(Clone, Debug, PartialEq)]
pub struct Prescription {
    /// The remedy.
    pub remedy: Remedy,
    /// Whether `decisionMatches` is there, be it empty.
    pub is_conditional: bool,
}

/// The actions that all remedies together call for, sorted, each once.
#[must_use]
pub fn actions(
    cluster: &str,
    conditions: &[Condition],
    prescriptions: &[Prescription],
) -> Vec<String> {
    let called: BTreeSet<&String> = prescriptions
        .iter()
        .filter(|prescription| {
            is_for(&prescription.remedy, cluster) && is_called_for(prescription, conditions)
        })
        .flat_map(|prescription| &prescription.remedy.spec.actions)
        .collect();
    called.into_iter().cloned().collect()
}

/// Whether a remedy is for a cluster: one that names no affinity is for all, one that names no cluster for none.
#[must_use]
pub fn is_for(remedy: &Remedy, cluster: &str) -> bool {
    remedy
        .spec
        .cluster_affinity
        .as_ref()
        .is_none_or(|affinity| affinity.cluster_names.iter().any(|name| name == cluster))
}

fn is_called_for(prescription: &Prescription, conditions: &[Condition]) -> bool {
    let matches = &prescription.remedy.spec.decision_matches;
    !prescription.is_conditional
        || matches
            .iter()
            .filter_map(|wanted| wanted.cluster_condition_match.as_ref())
            .any(|wanted| holds(wanted, conditions))
}

/// A condition that the cluster does not have satisfies neither operator.
fn holds(wanted: &ClusterConditionRequirement, conditions: &[Condition]) -> bool {
    object::condition::find(conditions, &wanted.condition_type).is_some_and(|found| {
        let is_equal = found.status.as_str() == wanted.condition_status;
        match wanted.operator {
            ClusterConditionOperator::Equal => is_equal,
            ClusterConditionOperator::NotEqual => !is_equal,
        }
    })
}
