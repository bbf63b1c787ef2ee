//! The parts a decision is put together from, each replaceable by name.
//!
//! A *filter* refuses clusters, a *score* orders those left, *select* picks among them by the spread constraints and
//! *assign* shares the replicas out. Filters and scores add up: every enabled one has its say. Of select and assign
//! one is in force: the in-tree one unless a plugin from outside is enabled in its place.
//!
//! Plugins are pure as the whole decision is. One that must ask somebody over a network is asked beforehand, and a
//! plugin that holds the answers ([`Told`]) is added to the [`Plugins`] of that one decision.

mod groups;
mod in_tree;
mod registry;
#[cfg(test)]
mod tests;
mod told;

use std::{fmt, sync::Arc};

pub use self::{
    groups::{Peer, Peers},
    in_tree::names,
    registry::{NameTaken, Plugin, Plugins, Registry, WorkloadGroups},
    told::{Opinion, Told, Unheard},
};
use crate::{
    assign::Assignment, candidate::Candidate, cluster::ClusterFacts, cycle::Cycle, reason::Reason,
    select::Selection,
};

/// What a filter says of one cluster.
pub type Verdict = Result<(), Reason>;

/// Judges the clusters of one cycle, one after another, each with its position in the snapshot.
pub type Judge<'c> = Box<dyn FnMut(usize, &ClusterFacts) -> Verdict + 'c>;

/// Scores the clusters of one cycle, one after another, each with its position in the snapshot.
pub type Scorer<'c> = Box<dyn FnMut(usize, &ClusterFacts) -> Result<i64, ScoreError> + 'c>;

/// Refuses clusters.
pub trait Filter: fmt::Debug + Send + Sync {
    /// Looks once at what all clusters of the cycle share, and returns what judges each.
    fn begin<'c>(&'c self, cycle: &'c Cycle<'c>) -> Judge<'c>;
}

/// Orders clusters.
pub trait Score: fmt::Debug + Send + Sync {
    /// Looks once at what all clusters of the cycle share, and returns what scores each, from 0 to 100.
    fn begin<'c>(&'c self, cycle: &'c Cycle<'c>) -> Scorer<'c>;

    /// Brings the scores of all clusters into the range 0 to 100, where single clusters could not know it.
    fn normalise(&self, _cycle: &Cycle<'_>, _scores: &mut [i64]) -> Result<(), ScoreError> {
        Ok(())
    }
}

/// Picks among the clusters that passed.
pub trait Select: fmt::Debug + Send + Sync {
    /// The clusters to use, of `candidates` in canonical order.
    fn select(&self, cycle: &Cycle<'_>, candidates: &[Candidate]) -> Selection;
}

/// Shares the replicas out.
pub trait Assign: fmt::Debug + Send + Sync {
    /// The replicas of each of `chosen`.
    fn assign(&self, cycle: &Cycle<'_>, chosen: &[Candidate]) -> Assignment;
}

/// Why clusters could not be scored, or not even filtered; ends the cycle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ScoreError(pub Arc<str>);
