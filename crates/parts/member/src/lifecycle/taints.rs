//! Taints that follow from a cluster's Ready condition.

use api::{
    cluster::Cluster,
    kubernetes::scheduling::{Taint, taint_effect::NO_SCHEDULE},
    well_known::{
        conditions::cluster::READY,
        taints::{NOT_READY, UNREACHABLE},
    },
};
use object::{
    condition::{ConditionStatus, find},
    time::Time,
};

/// The taints a cluster should have, or `None` if it has them. What users set is kept: a taint is known by key and effect,
/// whatever its value.
pub(super) fn taints_by_condition(cluster: &Cluster, now: Time) -> Option<Vec<Taint>> {
    let ready = find(&cluster.status.conditions, READY).map(|condition| condition.status);
    let (wanted, unwanted): (&[&str], &[&str]) = match ready {
        // A cluster nobody has looked at may carry any mark; only the first look may take one away.
        None => (&[NOT_READY], &[]),
        Some(ConditionStatus::False) => (&[NOT_READY], &[UNREACHABLE]),
        Some(ConditionStatus::Unknown) => (&[UNREACHABLE], &[NOT_READY]),
        Some(ConditionStatus::True) => (&[], &[NOT_READY, UNREACHABLE]),
    };
    let is_ours = |taint: &Taint, key: &str| taint.key == key && taint.effect == NO_SCHEDULE;
    let taints = &cluster.spec.taints;
    let mut next: Vec<Taint> = taints
        .iter()
        .filter(|taint| !unwanted.iter().any(|key| is_ours(taint, key)))
        .cloned()
        .collect();
    for key in wanted {
        if next.iter().any(|taint| is_ours(taint, key)) {
            continue;
        }
        next.push(Taint {
            key: (*key).to_owned(),
            effect: NO_SCHEDULE.to_owned(),
            time_added: Some(now),
            ..Taint::default()
        });
    }
    (next != *taints).then_some(next)
}

/// The taints of a cluster, for people.
pub(super) fn describe(taints: &[Taint]) -> String {
    if taints.is_empty() {
        return "the cluster has no taints".to_owned();
    }
    let taints: Vec<String> = taints
        .iter()
        .map(|taint| match taint.value.as_str() {
            "" => format!("{}:{}", taint.key, taint.effect),
            value => format!("{}={value}:{}", taint.key, taint.effect),
        })
        .collect();
    format!("the cluster now has the taints {}", taints.join(", "))
}
