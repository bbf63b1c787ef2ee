//! The filters and scores that come with the scheduler.

use std::sync::Arc;

use api::policy::SpreadField;
use estimate::toleration::first_untolerated;

use super::{Filter, Judge, Score, Scorer};
use crate::{cluster::ApiSet, cycle::Cycle, reason::Reason};

/// The names that `--plugins` knows, as upstream spells them.
pub mod names {
    /// The template's kind must be served.
    pub const API_ENABLEMENT: &str = "APIEnablement";
    /// Taints must be tolerated.
    pub const TAINT_TOLERATION: &str = "TaintToleration";
    /// The placement's affinity must match.
    pub const CLUSTER_AFFINITY: &str = "ClusterAffinity";
    /// Fields that spread constraints group by must be there.
    pub const SPREAD_CONSTRAINT: &str = "SpreadConstraint";
    /// Clusters that are being evicted from are out.
    pub const CLUSTER_EVICTION: &str = "ClusterEviction";
    /// Clusters that are targets already score higher.
    pub const CLUSTER_LOCALITY: &str = "ClusterLocality";
    /// Workloads of a group stay together.
    pub const WORKLOAD_AFFINITY: &str = "WorkloadAffinity";
    /// Workloads of a group stay apart.
    pub const WORKLOAD_ANTI_AFFINITY: &str = "WorkloadAntiAffinity";
}

/// The score of a cluster that is a target already.
const LOCAL: i64 = 100;

/// How many answers the API filter remembers; a fleet has few distinct sets of kinds.
const REMEMBERED_SETS: usize = 8;

/// Asks for the placement's affinity, or for that of the group being tried.
#[derive(Debug)]
pub(super) struct ClusterAffinity;

impl Filter for ClusterAffinity {
    fn begin<'c>(&'c self, cycle: &'c Cycle<'c>) -> Judge<'c> {
        if let Some(affinity) = &cycle.inputs.placement.affinity {
            return Box::new(|_, cluster| affinity.check(cluster).map_err(Reason::Affinity));
        }
        let Some(term) = cycle.term() else {
            return Box::new(|_, _| Ok(()));
        };
        // What runs nothing has nothing that could overflow.
        let overflow = if cycle.binding().spec.is_workload() {
            &term.overflow[..]
        } else {
            &[]
        };
        Box::new(move |_, cluster| {
            let Err(mismatch) = term.affinity.check(cluster) else {
                return Ok(());
            };
            if overflow.iter().any(|tier| tier.matches(cluster)) {
                return Ok(());
            }
            Err(Reason::Affinity(mismatch))
        })
    }
}

impl Score for ClusterAffinity {
    fn begin<'c>(&'c self, _cycle: &'c Cycle<'c>) -> Scorer<'c> {
        Box::new(|_, _| Ok(0))
    }
}

/// Asks for tolerated taints, except where the binding is already.
#[derive(Debug)]
pub(super) struct TaintToleration;

impl Filter for TaintToleration {
    fn begin<'c>(&'c self, cycle: &'c Cycle<'c>) -> Judge<'c> {
        let tolerations = &cycle.inputs.placement.tolerations;
        Box::new(|position, cluster| {
            if cluster.taints.is_empty() || cycle.is_target(position) {
                return Ok(());
            }
            match first_untolerated(&cluster.taints, tolerations) {
                Some(taint) => Err(Reason::Taint(Arc::clone(taint))),
                None => Ok(()),
            }
        })
    }
}

/// Asks that the template's kind be served, except where the binding is already.
///
/// A kind missing from a list that is not known to be complete counts as missing, too.
#[derive(Debug)]
pub(super) struct ApiEnablement;

impl Filter for ApiEnablement {
    fn begin<'c>(&'c self, cycle: &'c Cycle<'c>) -> Judge<'c> {
        let resource = &cycle.binding().spec.resource;
        let mut known: Vec<(*const ApiSet, bool)> = Vec::with_capacity(REMEMBERED_SETS);
        Box::new(move |position, cluster| {
            let set = Arc::as_ptr(&cluster.apis);
            let is_served = match known.iter().find(|(seen, _)| *seen == set) {
                Some((_, is_served)) => *is_served,
                None => {
                    let is_served = cluster.apis.has(&resource.api_version, &resource.kind);
                    if known.len() < REMEMBERED_SETS {
                        known.push((set, is_served));
                    }
                    is_served
                }
            };
            if is_served || cycle.is_target(position) {
                Ok(())
            } else {
                Err(Reason::ApiMissing)
            }
        })
    }
}

/// Asks for the fields that spread constraints group by.
#[derive(Debug)]
pub(super) struct SpreadConstraint;

impl Filter for SpreadConstraint {
    fn begin<'c>(&'c self, cycle: &'c Cycle<'c>) -> Judge<'c> {
        let required = &cycle.inputs.placement.spread.required;
        Box::new(|_, cluster| {
            let missing = required.iter().find(|field| match field {
                SpreadField::Provider => cluster.provider.is_empty(),
                SpreadField::Region => cluster.region.is_empty(),
                SpreadField::Zone => cluster.zones.is_empty(),
                SpreadField::Cluster => false,
            });
            missing.map_or(Ok(()), |field| Err(Reason::Property(*field)))
        })
    }
}

/// Refuses clusters that the template is being moved away from.
#[derive(Debug)]
pub(super) struct ClusterEviction;

impl Filter for ClusterEviction {
    fn begin<'c>(&'c self, cycle: &'c Cycle<'c>) -> Judge<'c> {
        let tasks = &cycle.binding().spec.graceful_eviction_tasks;
        if tasks.is_empty() {
            return Box::new(|_, _| Ok(()));
        }
        Box::new(|_, cluster| {
            let is_source = tasks.iter().any(|task| *task.from_cluster == *cluster.name);
            if is_source {
                Err(Reason::Evicting)
            } else {
                Ok(())
            }
        })
    }
}

/// Prefers clusters that are targets already.
#[derive(Debug)]
pub(super) struct ClusterLocality;

impl Score for ClusterLocality {
    fn begin<'c>(&'c self, cycle: &'c Cycle<'c>) -> Scorer<'c> {
        Box::new(|position, _| Ok(if cycle.is_target(position) { LOCAL } else { 0 }))
    }
}
