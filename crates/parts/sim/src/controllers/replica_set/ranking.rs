//! Which pods are missed least when some must go.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use object::Object;

use crate::read;

/// What somebody is willing to pay to keep a pod.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// Sorts pods, those first that are missed least: without a node, not running, not ready, cheap, crowded together, ready
/// for a short time, restarted often, young.
pub(crate) fn least_missed<'p>(pods: &[&'p Arc<Object>]) -> Vec<&'p Object> {
    let mut crowd: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in pods {
        *crowd.entry(read::node_of(pod)).or_default() += 1;
    }
    let mut sorted: Vec<&'p Object> = pods.iter().map(|pod| &***pod).collect();
    sorted.sort_by_cached_key(|pod| {
        let node = read::node_of(pod);
        let phase = match read::phase(pod) {
            "Pending" => 0,
            "Running" => 2,
            _ => 1,
        };
        let cost: i64 = pod
            .annotation(DELETION_COST)
            .and_then(|text| text.parse().ok())
            .unwrap_or(0);
        let crowded = crowd.get(node).copied().unwrap_or_default();
        (
            !node.is_empty(),
            phase,
            read::is_ready(pod),
            cost,
            Reverse(crowded),
            Reverse(read::available_at(pod, 0)),
            Reverse(restarts(pod)),
            Reverse(read::created(pod)),
            pod.name().to_owned(),
        )
    });
    sorted
}

fn restarts(pod: &Object) -> i64 {
    read::list(pod, &["status", "containerStatuses"])
        .iter()
        .filter_map(|status| status.get("restartCount")?.as_i64())
        .max()
        .unwrap_or(0)
}
