//! Sharing replicas out by what fits: in proportion to it, or on as few clusters as possible.
//!
//! Replicas that run are left alone where that is possible: missing ones are added by what fits beside them, surplus
//! ones are taken in proportion. Everything starts anew only when a fresh decision is asked for, and where replicas
//! follow room when a cluster takes part that could not before because it did not serve the kind.

use super::{
    AssignError, Mode, Row, Shares, Step,
    apportion::{Claim, Ties, apportion},
};
use crate::{awaited::is_noted, binding::is_fresh_wanted, candidate::Candidate, cycle::Cycle};

/// How replicas follow room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// Every cluster with room takes part.
    Weighted,
    /// Only as many as are needed, those that run some already and the roomiest first.
    Aggregated,
}

/// Shares `replicas` out among `members`, who come in order of preference.
pub(super) fn assign(
    cycle: &Cycle<'_>,
    members: &[Candidate],
    replicas: i64,
    manner: Manner,
    tier: Option<u16>,
    steps: &mut Vec<Step>,
) -> Shares {
    let assigned = members
        .iter()
        .fold(0_i64, |sum, member| sum.saturating_add(member.assigned));
    let round = Round::plan(cycle, members, replicas, assigned, manner);
    if round.mode == Mode::Keep {
        steps.push(Step {
            tier,
            mode: Mode::Keep,
            replicas,
            rows: Vec::new(),
            left_out: 0,
        });
        return Ok(in_present_order(cycle, members));
    }
    let claims_total = round
        .claims
        .iter()
        .fold(0_i64, |sum, claim| sum.saturating_add(claim.weight));
    let mut step = Step {
        tier,
        mode: round.mode,
        replicas: round.replicas,
        rows: Vec::new(),
        left_out: 0,
    };
    if claims_total < round.replicas {
        step.rows = round.rows(&vec![0; round.claims.len()]);
        steps.push(step);
        return Err(AssignError::NotEnough {
            step: round.mode,
            available: claims_total,
        });
    }
    let everybody = round.claims.len();
    let round = if manner == Manner::Aggregated {
        round.with_fewest()
    } else {
        round
    };
    let given = apportion(
        round.replicas,
        &round.claims,
        Ties::of_template(&cycle.binding().spec.resource.uid),
    );
    step.rows = round.rows(&given);
    step.left_out = everybody - round.claims.len();
    let shares = merge(&step.rows, members, round.mode);
    steps.push(step);
    Ok(shares)
}

/// One round of sharing out.
struct Round {
    mode: Mode,
    /// How many replicas are shared out.
    replicas: i64,
    /// By what weights, the largest first.
    claims: Vec<Claim>,
    /// What each claimant keeps beside, in the order of the claims.
    kept: Vec<i64>,
}

impl Round {
    fn plan(
        cycle: &Cycle<'_>,
        members: &[Candidate],
        replicas: i64,
        assigned: i64,
        manner: Manner,
    ) -> Self {
        let is_renewed = manner == Manner::Weighted && has_newcomer(cycle, members);
        if is_renewed || is_fresh_wanted(cycle.binding()) {
            let weights = members
                .iter()
                .map(|member| (member.cluster, member.available(), 0));
            return Self::new(Mode::Fresh, replicas, weights);
        }
        if assigned > replicas {
            // In the order of the binding's present clusters, which decides between equal ones.
            let present = in_present_order(cycle, members).into_iter();
            let weights = present.map(|(cluster, replicas)| (cluster, replicas, 0));
            return Self::new(Mode::ScaleDown, replicas, weights);
        }
        if assigned < replicas {
            let weights = members
                .iter()
                .map(|member| (member.cluster, member.allocatable, member.assigned));
            return Self::new(Mode::ScaleUp, replicas - assigned, weights);
        }
        Self {
            mode: Mode::Keep,
            replicas,
            claims: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// Claims in descending order of weight; equal ones stay in the order they come in.
    fn new(mode: Mode, replicas: i64, weights: impl Iterator<Item = (usize, i64, i64)>) -> Self {
        let mut weights: Vec<_> = weights.collect();
        weights.sort_by_key(|(_, weight, _)| std::cmp::Reverse(*weight));
        Self {
            mode,
            replicas,
            claims: weights
                .iter()
                .map(|(cluster, weight, _)| Claim {
                    cluster: *cluster,
                    weight: *weight,
                })
                .collect(),
            kept: weights.into_iter().map(|(_, _, kept)| kept).collect(),
        }
    }

    /// Only as many claims as are needed: those with replicas first, then the largest.
    fn with_fewest(self) -> Self {
        let Self {
            mode,
            replicas,
            claims,
            kept,
        } = self;
        let (running, idle): (Vec<_>, Vec<_>) = claims
            .into_iter()
            .zip(kept)
            .partition(|(_, kept)| *kept > 0);
        let mut sum = 0_i64;
        let mut fewest = Vec::new();
        for (claim, kept) in running.into_iter().chain(idle) {
            fewest.push((claim, kept));
            sum = sum.saturating_add(claim.weight);
            if sum >= replicas {
                break;
            }
        }
        let (claims, kept) = fewest.into_iter().unzip();
        Self {
            mode,
            replicas,
            claims,
            kept,
        }
    }

    fn rows(&self, given: &[i64]) -> Vec<Row> {
        let claims = self.claims.iter().zip(&self.kept).zip(given);
        claims
            .map(|((claim, kept), given)| Row {
                cluster: claim.cluster,
                weight: claim.weight,
                kept: *kept,
                given: *given,
            })
            .collect()
    }
}

/// Whether a member takes part for the first time because it serves the kind now.
fn has_newcomer(cycle: &Cycle<'_>, members: &[Candidate]) -> bool {
    let (binding, clusters) = (cycle.binding(), cycle.inputs.clusters);
    let is_newcomer = |member: &Candidate| {
        let cluster = clusters.at(member.cluster);
        member.assigned == 0 && cluster.is_some_and(|cluster| is_noted(binding, &cluster.name))
    };
    members.iter().any(is_newcomer)
}

/// What every member has after the round, by name. When scaling up, members that took no part keep what they have.
fn merge(rows: &[Row], members: &[Candidate], mode: Mode) -> Vec<(usize, i64)> {
    let mut shares: Vec<(usize, i64)> = rows
        .iter()
        .map(|row| (row.cluster, row.kept.saturating_add(row.given)))
        .collect();
    shares.sort_unstable();
    if mode == Mode::ScaleUp && rows.len() < members.len() {
        let listed = shares.len();
        for member in members.iter().filter(|member| member.assigned > 0) {
            let (sorted, _) = shares.split_at(listed);
            if sorted
                .binary_search_by_key(&member.cluster, |(cluster, _)| *cluster)
                .is_err()
            {
                shares.push((member.cluster, member.assigned));
            }
        }
        shares.sort_unstable();
    }
    shares
}

/// The members that are targets, with their replicas, in the order of the binding's present clusters.
fn in_present_order(cycle: &Cycle<'_>, members: &[Candidate]) -> Vec<(usize, i64)> {
    let mut is_member = vec![false; cycle.inputs.clusters.len()];
    for member in members {
        if let Some(slot) = is_member.get_mut(member.cluster) {
            *slot = true;
        }
    }
    let is_member = |(cluster, _): &(usize, i64)| is_member.get(*cluster).copied().unwrap_or(false);
    cycle.targets().iter().copied().filter(is_member).collect()
}
