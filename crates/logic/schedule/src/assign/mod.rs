//! How many replicas each selected cluster gets.

pub mod apportion;
mod dynamic;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use self::apportion::{Claim, Ties, apportion};
use crate::{
    binding::is_counted,
    candidate::{Candidate, total_available},
    cluster::Snapshot,
    cycle::Cycle,
    placement::{Strategy, Weights},
    plugin::Assign,
};

/// What an assignment came to, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// Clusters, by position in the snapshot, with their replicas; or why there are none.
    pub shares: Result<Vec<(usize, i64)>, AssignError>,
    /// The arithmetic behind it, in the order it was done.
    pub steps: Vec<Step>,
}

/// Why replicas could not be assigned. The words are upstream's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssignError {
    /// No cluster was selected.
    #[error("no clusters available to schedule")]
    NoClusters,
    /// The clusters have room for fewer replicas than are to be placed.
    #[error(
        "failed to {step}: Clusters available replicas {available} are not enough to schedule."
    )]
    NotEnough {
        /// What was being done.
        step: Mode,
        /// How many replicas there is room for.
        available: i64,
    },
    /// All tiers together have room for fewer replicas than are to be placed.
    #[error("Clusters available replicas are not enough to schedule.")]
    NotEnoughInTiers,
    /// The strategy does not say how to divide.
    #[error(
        "unsupported replica scheduling strategy, replicaSchedulingType: Divided, replicaDivisionPreference: , please \
         try another scheduling strategy"
    )]
    Unsupported,
    /// What a plugin from outside says.
    #[error("{0}")]
    Other(Arc<str>),
}

impl AssignError {
    /// Whether more room, and nothing else, would help.
    #[must_use]
    pub fn is_shortage(&self) -> bool {
        matches!(self, Self::NotEnough { .. } | Self::NotEnoughInTiers)
    }
}

/// One step of the arithmetic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The tier it concerns, if there are tiers.
    pub tier: Option<u16>,
    /// What is done.
    pub mode: Mode,
    /// How many replicas are shared out.
    pub replicas: i64,
    /// Who takes part. Empty where everybody gets the same.
    pub rows: Vec<Row>,
    /// How many clusters were left out because the others suffice.
    pub left_out: usize,
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing is counted; every cluster is a target.
    List,
    /// Every cluster gets all replicas.
    Duplicate,
    /// By fixed weights, without regard to what is there.
    StaticWeight,
    /// Everything anew, as asked for or because a cluster serves the kind now.
    Fresh,
    /// What is missing is added.
    ScaleUp,
    /// What is too much is taken, in proportion to what is there.
    ScaleDown,
    /// The replicas are right as they are.
    Keep,
}

impl fmt::Display for Mode {
    /// The words that upstream's errors use where it has any.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::List => "list",
            Self::Duplicate => "duplicate",
            Self::StaticWeight => "divide by static weight",
            Self::Fresh => "do fresh scale",
            Self::ScaleUp => "scale up",
            Self::ScaleDown => "scale down",
            Self::Keep => "keep",
        })
    }
}

/// A cluster in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its position in the snapshot.
    pub cluster: usize,
    /// Its weight.
    pub weight: i64,
    /// Replicas it keeps and that are not shared out.
    pub kept: i64,
    /// Replicas it is given.
    pub given: i64,
}

impl Step {
    /// The sum of the weights.
    #[must_use]
    pub fn total_weight(&self) -> i128 {
        self.rows
            .iter()
            .map(|row| i128::from(row.weight.max(0)))
            .sum()
    }
}

/// What a row of this weight would get of `replicas` if they could be split: the whole part, and the remainder in parts of
/// the total weight.
#[must_use]
pub fn quota(replicas: i64, weight: i64, total: i128) -> (i128, i128) {
    if total == 0 {
        return (0, 0);
    }
    let share = i128::from(replicas) * i128::from(weight.max(0));
    (share / total, share % total)
}

/// The in-tree assignment, by the placement's strategy.
#[derive(Debug)]
pub(crate) struct ShareOut;

impl Assign for ShareOut {
    fn assign(&self, cycle: &Cycle<'_>, chosen: &[Candidate]) -> Assignment {
        let mut steps = Vec::new();
        let shares = share_out(cycle, chosen, &mut steps);
        Assignment { shares, steps }
    }
}

type Shares = Result<Vec<(usize, i64)>, AssignError>;

fn share_out(cycle: &Cycle<'_>, chosen: &[Candidate], steps: &mut Vec<Step>) -> Shares {
    if chosen.is_empty() {
        return Err(AssignError::NoClusters);
    }
    if !is_counted(cycle.binding()) {
        steps.push(Step {
            tier: None,
            mode: Mode::List,
            replicas: 0,
            rows: Vec::new(),
            left_out: 0,
        });
        return Ok(all_alike(chosen, 0));
    }
    if cycle.term().is_some_and(|term| !term.overflow.is_empty()) {
        return by_tier(cycle, chosen, steps);
    }
    by_strategy(cycle, chosen, cycle.replicas(), None, steps)
}

/// Fills tier after tier. Later tiers only get what earlier ones have no room for, so they are the first to lose it.
fn by_tier(cycle: &Cycle<'_>, chosen: &[Candidate], steps: &mut Vec<Step>) -> Shares {
    // Canonical order puts tiers one after another, but a plugin may have selected in any order.
    let mut members = chosen.to_vec();
    members.sort_by_key(|candidate| candidate.tier);
    let mut shares = Vec::new();
    let mut remaining = cycle.replicas();
    for tier in members.chunk_by(|a, b| a.tier == b.tier) {
        let replicas = remaining.min(total_available(tier));
        let number = tier.first().map(|candidate| candidate.tier);
        shares.extend(by_strategy(cycle, tier, replicas, number, steps)?);
        remaining -= replicas;
        if remaining <= 0 {
            return Ok(shares);
        }
    }
    Err(AssignError::NotEnoughInTiers)
}

/// Shares `replicas` out among `members` by the strategy. Clusters that get none do not appear.
fn by_strategy(
    cycle: &Cycle<'_>,
    members: &[Candidate],
    replicas: i64,
    tier: Option<u16>,
    steps: &mut Vec<Step>,
) -> Shares {
    let ties = Ties::of_template(&cycle.binding().spec.resource.uid);
    let mut shares = match &cycle.inputs.placement.strategy {
        Strategy::Duplicated => {
            steps.push(Step {
                tier,
                mode: Mode::Duplicate,
                replicas,
                rows: Vec::new(),
                left_out: 0,
            });
            all_alike(members, replicas)
        }
        Strategy::StaticWeight(weights) => {
            let claims = static_claims(members, weights, cycle.inputs.clusters);
            let given = apportion(replicas, &claims, ties);
            let rows = claims.iter().zip(given).map(|(claim, given)| Row {
                cluster: claim.cluster,
                weight: claim.weight,
                kept: 0,
                given,
            });
            let rows: Vec<Row> = rows.collect();
            let mut shares: Vec<_> = rows.iter().map(|row| (row.cluster, row.given)).collect();
            shares.sort_unstable();
            let left_out = members.len() - rows.len();
            steps.push(Step {
                tier,
                mode: Mode::StaticWeight,
                replicas,
                rows,
                left_out,
            });
            shares
        }
        Strategy::DynamicWeight => dynamic::assign(
            cycle,
            members,
            replicas,
            dynamic::Manner::Weighted,
            tier,
            steps,
        )?,
        Strategy::Aggregated => dynamic::assign(
            cycle,
            members,
            replicas,
            dynamic::Manner::Aggregated,
            tier,
            steps,
        )?,
        Strategy::Unsaid => return Err(AssignError::Unsupported),
    };
    shares.retain(|(_, replicas)| *replicas > 0);
    Ok(shares)
}

/// The same number for every cluster, by name.
///
/// Upstream lists them in order of preference, which changes with the room in clusters; the list would be written
/// again and again without saying anything new.
fn all_alike(members: &[Candidate], replicas: i64) -> Vec<(usize, i64)> {
    let mut shares: Vec<(usize, i64)> = members
        .iter()
        .map(|candidate| (candidate.cluster, replicas))
        .collect();
    shares.sort_unstable();
    shares
}

/// The fixed weights of the clusters that have one; all alike if none has.
fn static_claims(members: &[Candidate], weights: &Weights, clusters: &Snapshot) -> Vec<Claim> {
    let even = || {
        members
            .iter()
            .map(|candidate| Claim {
                cluster: candidate.cluster,
                weight: 1,
            })
            .collect()
    };
    let Weights::Rules(rules) = weights else {
        return even();
    };
    let weigh = |candidate: &Candidate| {
        let cluster = clusters.at(candidate.cluster)?;
        let matching = rules
            .iter()
            .filter(|(affinity, _)| affinity.matches(cluster));
        let weight = matching.map(|(_, weight)| *weight).max()?;
        (weight > 0).then_some(Claim {
            cluster: candidate.cluster,
            weight,
        })
    };
    let claims: Vec<Claim> = members.iter().filter_map(weigh).collect();
    if claims.is_empty() { even() } else { claims }
}
