//! Placing pods on nodes, each on the first that has room.
//!
//! Nodes that are alike are kept as one run with a count, because a modelled cluster is thousands of nodes in a few
//! grades: placing a component then costs one step for each run and splits a run into at most three.

use crate::{
    demand::Component,
    resource::{Amounts, Resource},
};

/// Nodes in the order they are tried.
#[derive(Clone, Debug)]
pub(crate) struct Nodes {
    runs: Vec<Run>,
}

/// Consecutive nodes that have the same left.
#[derive(Clone, Debug)]
struct Run {
    /// Which node or grade they are, for the caller's filter.
    origin: usize,
    count: i64,
    /// What each has left, `pods` included.
    free: Amounts,
}

impl Nodes {
    /// So many nodes with so much room each, in this order; the position of each entry is its origin.
    pub(crate) fn new(entries: impl IntoIterator<Item = (i64, Amounts)>) -> Self {
        let runs = entries
            .into_iter()
            .enumerate()
            .map(|(origin, (count, free))| Run {
                origin,
                count,
                free,
            });
        Self {
            runs: runs.filter(|run| run.count > 0).collect(),
        }
    }

    /// How many pods with this request fit, on nodes whose origin is accepted.
    pub(crate) fn room(&self, request: &Amounts, accepts: impl Fn(usize) -> bool) -> i64 {
        let fitting = self.runs.iter().filter(|run| accepts(run.origin));
        fitting.fold(0, |sum, run| {
            sum.saturating_add(run.room(request).saturating_mul(run.count))
        })
    }

    /// Places one of each set's pods after another until a set does not fit or `limit` is reached; returns how many
    /// sets fitted whole.
    ///
    /// Upstream: what a failed set already took stays taken; nothing is asked afterwards, so it does not matter.
    pub(crate) fn place_sets(
        &mut self,
        components: &[Component],
        limit: i64,
        accepts: impl Fn(usize, usize) -> bool,
    ) -> i64 {
        let mut sets = 0;
        while sets < limit && self.place_set(components, &accepts) {
            sets += 1;
        }
        sets
    }

    /// Places one set and says whether all of it found room.
    pub(crate) fn place_set(
        &mut self,
        components: &[Component],
        accepts: impl Fn(usize, usize) -> bool,
    ) -> bool {
        components
            .iter()
            .enumerate()
            .all(|(index, component)| self.place(component, |origin| accepts(index, origin)))
    }

    fn place(&mut self, component: &Component, accepts: impl Fn(usize) -> bool) -> bool {
        let mut remaining = component.replicas;
        let mut position = 0;
        while remaining > 0 {
            let Some(run) = self.runs.get_mut(position) else {
                return false;
            };
            let each = if accepts(run.origin) {
                run.room(&component.request)
            } else {
                0
            };
            if each == 0 {
                position += 1;
                continue;
            }
            let whole = (remaining / each).min(run.count);
            let rest = if whole < run.count {
                remaining % each
            } else {
                0
            };
            remaining -= whole * each + rest;
            let untouched = run.count - whole - i64::from(rest > 0);
            let mut pieces = Vec::with_capacity(3);
            for (count, pods) in [(whole, each), (i64::from(rest > 0), rest), (untouched, 0)] {
                if count > 0 {
                    pieces.push(run.with_placed(count, &component.request, pods));
                }
            }
            let added = pieces.len();
            self.runs.splice(position..=position, pieces);
            position += added;
        }
        self.join_equal();
        true
    }

    /// Brings neighbours that have become alike together again, so that runs stay few however much is placed.
    fn join_equal(&mut self) {
        self.runs.dedup_by(|run, before| {
            let alike = run.origin == before.origin && run.free == before.free;
            if alike {
                before.count = before.count.saturating_add(run.count);
            }
            alike
        });
    }
}

impl Run {
    /// How many pods with this request fit on each node.
    fn room(&self, request: &Amounts) -> i64 {
        let slots = self.free.amount(&Resource::Pods).unwrap_or(0).max(0);
        self.free
            .fits(request)
            .map_or(slots, |(times, _)| times.min(slots))
    }

    fn with_placed(&self, count: i64, request: &Amounts, pods: i64) -> Self {
        let mut free = self.free.clone();
        free.take(request, pods);
        let slots = free
            .amount(&Resource::Pods)
            .unwrap_or(0)
            .saturating_sub(pods);
        Self {
            origin: self.origin,
            count,
            free: free.with(Resource::Pods, slots),
        }
    }
}
