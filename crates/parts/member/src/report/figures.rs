//! What is known of a member, as figures.

use api::cluster::{Cluster, NodeSummary, ResourceSummary};
use api::kubernetes::ResourceList;
use telemetry::metrics::{Metric, Registry};

/// Shows whether a member is ready and how much room it has: what was counted now, or else what was last written down.
pub(super) fn show(
    metrics: &Registry,
    cluster: &Cluster,
    is_ready: bool,
    room: Option<&(NodeSummary, ResourceSummary)>,
) {
    let name = [cluster.metadata.name.as_str()];
    let ready = if is_ready { 1.0 } else { 0.0 };
    metrics.set(Metric::ClusterReadyState, &name, ready);
    let nodes = room
        .map(|(nodes, _)| nodes)
        .or(cluster.status.node_summary.as_ref());
    if let Some(nodes) = nodes {
        let (all, ready) = (nodes.total_num.into(), nodes.ready_num.into());
        metrics.set(Metric::ClusterNodeNumber, &name, all);
        metrics.set(Metric::ClusterReadyNodeNumber, &name, ready);
    }
    let resources = room
        .map(|(_, resources)| resources)
        .or(cluster.status.resource_summary.as_ref());
    let Some(ResourceSummary {
        allocatable,
        allocated,
        ..
    }) = resources
    else {
        return;
    };
    for (metric, list, resource) in [
        (Metric::ClusterCpuAllocatableNumber, allocatable, "cpu"),
        (Metric::ClusterMemoryAllocatableBytes, allocatable, "memory"),
        (Metric::ClusterPodAllocatableNumber, allocatable, "pods"),
        (Metric::ClusterCpuAllocatedNumber, allocated, "cpu"),
        (Metric::ClusterMemoryAllocatedBytes, allocated, "memory"),
        (Metric::ClusterPodAllocatedNumber, allocated, "pods"),
    ] {
        metrics.set(metric, &name, amount(list, resource));
    }
}

fn amount(list: &ResourceList, resource: &str) -> f64 {
    list.get(resource).map_or(0.0, |amount| amount.to_f64())
}
