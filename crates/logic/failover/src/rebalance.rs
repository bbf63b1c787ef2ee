//! Workloads that are to be placed anew.

use std::collections::BTreeMap;

use api::apps::{
    ObjectReference, ObservedWorkload, WorkloadRebalancer, WorkloadRebalancerStatus,
    rebalance_failure::REFERENCED_BINDING_NOT_FOUND,
    rebalance_result::{FAILED, SUCCESSFUL},
};
use api::names;
use object::{ObjectKey, time::Time};

/// What a rebalancer comes to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rebalance {
    /// The bindings that are to be scheduled anew, and since when that is asked.
    pub trigger: Vec<(ObjectKey, Time)>,
    /// The next status.
    pub status: WorkloadRebalancerStatus,
    /// When the rebalancer is to be deleted.
    pub delete_at: Option<Time>,
}

/// The binding of a workload; without a namespace it is a ClusterResourceBinding.
#[must_use]
pub fn binding(workload: &ObjectReference) -> ObjectKey {
    ObjectKey::namespaced(
        &workload.namespace,
        names::binding_name(&workload.kind, &workload.name),
    )
}

/// What is to be done for a rebalancer. `triggered` has the bindings that exist, and since when a fresh decision has been
/// asked of each.
#[must_use]
pub fn rebalance(
    rebalancer: &WorkloadRebalancer,
    triggered: &BTreeMap<ObjectKey, Option<Time>>,
    now: Time,
) -> Rebalance {
    let asked = rebalancer.metadata.creation_timestamp.unwrap_or(now);
    let former = &rebalancer.status.observed_workloads;
    let was = |workload: &ObjectReference| former.iter().find(|seen| seen.workload == *workload);
    let mut trigger = Vec::new();
    let mut observed: Vec<ObservedWorkload> = former
        .iter()
        .filter(|seen| {
            seen.result == SUCCESSFUL && !rebalancer.spec.workloads.contains(&seen.workload)
        })
        .cloned()
        .collect();
    for workload in &rebalancer.spec.workloads {
        if observed.iter().any(|seen| seen.workload == *workload) {
            continue;
        }
        // What was triggered once is not triggered again.
        if let Some(seen) = was(workload).filter(|seen| seen.result == SUCCESSFUL) {
            observed.push(seen.clone());
            continue;
        }
        let key = binding(workload);
        let (result, reason) = match triggered.get(&key) {
            None => (FAILED, REFERENCED_BINDING_NOT_FOUND),
            Some(since) => {
                if since.is_none_or(|since| since < asked) {
                    trigger.push((key, asked));
                }
                (SUCCESSFUL, "")
            }
        };
        observed.push(ObservedWorkload {
            workload: workload.clone(),
            result: result.to_owned(),
            reason: reason.to_owned(),
        });
    }
    observed.sort_by(|a, b| sort_key(&a.workload).cmp(&sort_key(&b.workload)));
    let generation = rebalancer.metadata.generation;
    let is_same = observed == *former && rebalancer.status.observed_generation == generation;
    let finish_time = match rebalancer.status.finish_time {
        Some(time) if is_same => time,
        _ => now,
    };
    Rebalance {
        trigger,
        status: WorkloadRebalancerStatus {
            observed_workloads: observed,
            observed_generation: generation,
            finish_time: Some(finish_time),
        },
        delete_at: rebalancer
            .spec
            .ttl_seconds_after_finished
            .map(|seconds| finish_time.plus_seconds(i64::from(seconds.max(0)))),
    }
}

fn sort_key(workload: &ObjectReference) -> (&str, &str, &str, &str) {
    (
        &workload.api_version,
        &workload.kind,
        &workload.namespace,
        &workload.name,
    )
}
