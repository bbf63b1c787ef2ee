//! Keeping workloads of one group together, or apart.

use std::sync::Arc;

use super::{Filter, Judge};
use crate::{cluster::Snapshot, cycle::Cycle, reason::Reason};

/// Other bindings of the groups that a binding belongs to.
///
/// Groups are per namespace, and the binding itself is not among its peers. One that is about to move is a peer twice: where
/// it is, and where it means to be. So whoever wants to be apart from it keeps clear of both, and whoever wants to be with it
/// goes where that is right either way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peers {
    /// Of the group it wants to be with.
    pub affinity: Vec<Peer>,
    /// Of the group it wants to be apart from.
    pub anti_affinity: Vec<Peer>,
}

/// Another binding of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peer {
    /// Its name.
    pub name: Arc<str>,
    /// The version of the binding that `clusters` was read from.
    pub version: u64,
    /// Where it goes.
    pub clusters: Vec<Arc<str>>,
    /// Whether it only means to go there: that is not written yet, and may never be.
    pub is_meant: bool,
}

impl Peer {
    /// Of what the cache shows and what was just written, the newer.
    ///
    /// The cache may lag behind a write of our own; the two peers of one group decided in a row must see each other.
    #[must_use]
    pub fn newer(cached: Self, written: Option<Self>) -> Self {
        match written {
            Some(written) if written.version > cached.version => written,
            _ => cached,
        }
    }
}

/// Passes clusters on which every other placed member of the group runs.
#[derive(Debug)]
pub(super) struct WorkloadAffinity;

/// Passes clusters on which no other member of the group runs.
#[derive(Debug)]
pub(super) struct WorkloadAntiAffinity;

impl Filter for WorkloadAffinity {
    fn begin<'c>(&'c self, cycle: &'c Cycle<'c>) -> Judge<'c> {
        let peers = &cycle.inputs.peers.affinity;
        // Members without targets are not placed yet; the first to be placed chooses freely.
        let placed = peers
            .iter()
            .filter(|peer| !peer.clusters.is_empty())
            .count();
        let is_grouped = has_group(cycle, |groups| &groups.affinity_group);
        if !is_grouped || placed == 0 {
            return Box::new(|_, _| Ok(()));
        }
        let counts = count(peers, cycle.inputs.clusters);
        Box::new(move |position, _| {
            let runs_there = counts.get(position).is_some_and(|count| *count == placed);
            if runs_there || cycle.is_target(position) {
                Ok(())
            } else {
                Err(Reason::AffinityGroup)
            }
        })
    }
}

impl Filter for WorkloadAntiAffinity {
    fn begin<'c>(&'c self, cycle: &'c Cycle<'c>) -> Judge<'c> {
        let peers = &cycle.inputs.peers.anti_affinity;
        if !has_group(cycle, |groups| &groups.anti_affinity_group) || peers.is_empty() {
            return Box::new(|_, _| Ok(()));
        }
        let counts = count(peers, cycle.inputs.clusters);
        Box::new(move |position, _| {
            let is_empty = counts.get(position).is_none_or(|count| *count == 0);
            if is_empty || cycle.is_target(position) {
                Ok(())
            } else {
                Err(Reason::AntiAffinityGroup)
            }
        })
    }
}

fn has_group(
    cycle: &Cycle<'_>,
    group: fn(&api::work::v1alpha2::WorkloadAffinityGroups) -> &String,
) -> bool {
    cycle
        .binding()
        .spec
        .workload_affinity_groups
        .as_ref()
        .is_some_and(|groups| !group(groups).is_empty())
}

/// How many peers run on each cluster, by position.
fn count(peers: &[Peer], clusters: &Snapshot) -> Vec<usize> {
    let mut counts = vec![0_usize; clusters.len()];
    for name in peers.iter().flat_map(|peer| &peer.clusters) {
        if let Some(count) = clusters
            .position(name)
            .and_then(|position| counts.get_mut(position))
        {
            *count = count.saturating_add(1);
        }
    }
    counts
}
