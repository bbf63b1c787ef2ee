//! Which of the clusters that passed are used: all of them, or as many as the spread constraints ask for.

mod by_cluster;
mod by_region;
mod combination;
mod group_score;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use self::group_score::group_score;
use crate::{candidate::Candidate, cycle::Cycle, plugin::Select};

/// What a selection came to, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// The clusters to use, the preferred ones first, or why there are none.
    pub chosen: Result<Vec<Candidate>, SelectError>,
    /// The arithmetic behind it.
    pub how: How,
}

/// Why no clusters could be selected. The words are upstream's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// Fewer clusters passed than the constraint asks for.
    #[error("the number of feasible clusters is less than spreadConstraint.MinGroups")]
    TooFewClusters,
    /// No choice of so many clusters has room for all replicas.
    #[error("no enough resource when selecting {clusters} clusters")]
    NotEnoughRoom {
        /// How many clusters the constraint allows.
        clusters: usize,
    },
    /// The clusters that passed are in fewer regions than the constraint asks for.
    #[error("the number of feasible region is less than spreadConstraint.MinGroups")]
    TooFewRegions,
    /// No allowed number of regions has as many clusters as the constraint asks for.
    #[error("the number of clusters is less than the cluster spreadConstraint.MinGroups")]
    NoCombination,
    /// There are constraints, but neither by cluster nor by region.
    #[error("just support cluster and region spread constraint")]
    Unsupported,
    /// What a plugin from outside says.
    #[error("{0}")]
    Other(Arc<str>),
}

/// The replicas for which there is room in so many clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// How many clusters.
    pub clusters: usize,
    /// In the preferred ones.
    pub preferred: i64,
    /// After clusters were exchanged for roomier ones.
    pub found: i64,
}

/// How clusters were selected.
#[derive(Clone, Debug, PartialEq)]
pub enum How {
    /// There is no spread constraint.
    Unconstrained,
    /// Fixed weights name the clusters, so the constraints do not apply.
    WeightsOverride,
    /// By number of clusters.
    ByCluster {
        /// Fewest clusters.
        min: usize,
        /// Most clusters.
        max: usize,
        /// Replicas that must find room; `None` where room does not matter.
        need: Option<i64>,
        /// Clusters exchanged for roomier ones: out, in.
        swaps: Vec<(usize, usize)>,
        /// The room that was found, where it matters and so many clusters passed.
        room: Option<Room>,
    },
    /// By region first.
    ByRegion {
        /// Every region with a cluster that passed, by name.
        regions: Vec<Region>,
        /// Whether there were too many combinations to weigh them all.
        is_approximate: bool,
    },
    /// Only constraints that cannot select.
    Unsupported,
    /// What a plugin from outside says.
    Other(Arc<str>),
}

/// A region in the choice of regions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its name.
    pub name: Arc<str>,
    /// How many clusters in it passed.
    pub clusters: usize,
    /// How good it is; see [`group_score`].
    pub weight: i64,
    /// Its rank among the chosen ones, from 0.
    pub rank: Option<usize>,
}

/// The in-tree selection, by spread constraints.
#[derive(Debug)]
pub(crate) struct SpreadSelect;

impl Select for SpreadSelect {
    fn select(&self, cycle: &Cycle<'_>, candidates: &[Candidate]) -> Selection {
        let placement = cycle.inputs.placement;
        if !placement.is_spread() {
            let how = if placement.spread.is_constrained {
                How::WeightsOverride
            } else {
                How::Unconstrained
            };
            return Selection {
                chosen: Ok(candidates.to_vec()),
                how,
            };
        }
        if let Some(regions) = placement.spread.regions {
            return by_region::select(
                cycle,
                candidates,
                regions,
                placement.spread.clusters.unwrap_or_default(),
            );
        }
        if let Some(clusters) = placement.spread.clusters {
            let need = if cycle.is_component_set() {
                1
            } else {
                cycle.replicas()
            };
            return by_cluster::select(
                candidates,
                clusters,
                placement.strategy.is_divided().then_some(need),
            );
        }
        Selection {
            chosen: Err(SelectError::Unsupported),
            how: How::Unsupported,
        }
    }
}
