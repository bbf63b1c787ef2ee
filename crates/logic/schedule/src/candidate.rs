//! A cluster that passed every filter, with the numbers that selection and assignment go by.

use std::cmp::Ordering;

/// A cluster that passed every filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its position in the snapshot; orders as its name does.
    pub cluster: usize,
    /// Which tier of the group of clusters it belongs to; 0 comes first.
    pub tier: u16,
    /// The sum of its scores.
    pub score: i64,
    /// How many more replicas fit.
    pub allocatable: i64,
    /// How many replicas it has now.
    pub assigned: i64,
}

impl Candidate {
    /// How many replicas it could have in all: those that fit, and those it has.
    #[must_use]
    pub fn available(&self) -> i64 {
        self.allocatable.saturating_add(self.assigned)
    }

    /// The canonical order: first tiers first, then high scores, then much room, then names.
    #[must_use]
    pub fn order(&self, other: &Self) -> Ordering {
        self.tier
            .cmp(&other.tier)
            .then_with(|| other.score.cmp(&self.score))
            .then_with(|| other.available().cmp(&self.available()))
            .then_with(|| self.cluster.cmp(&other.cluster))
    }
}

/// The room in all of them together.
///
/// Upstream: sums in 32 bits, so that two clusters without limit have less room than none.
pub(crate) fn total_available<'a>(candidates: impl IntoIterator<Item = &'a Candidate>) -> i64 {
    candidates.into_iter().fold(0, |sum, candidate| {
        sum.saturating_add(candidate.available())
    })
}
