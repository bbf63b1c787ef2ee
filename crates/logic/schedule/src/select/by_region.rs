//! The best combination of regions, then the best clusters in them.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    How, Region, SelectError, Selection,
    combination::{self, Group, Limits},
    group_score::{Wanted, group_score},
};
use crate::{candidate::Candidate, cycle::Cycle, placement::Bounds};

/// Picks regions, then the best cluster of each and the best of the others until there are enough.
///
/// Upstream: room is not looked at again once regions are picked, and more regions than the most clusters allowed
/// still give one cluster each.
pub(super) fn select(
    cycle: &Cycle<'_>,
    candidates: &[Candidate],
    regions: Bounds,
    clusters: Bounds,
) -> Selection {
    let grouped = group(cycle, candidates);
    let wanted = if cycle.inputs.placement.strategy.is_divided() {
        Wanted::Share {
            replicas: cycle.replicas(),
            groups: regions.min,
            clusters: clusters.min,
        }
    } else {
        Wanted::Each {
            replicas: cycle.replicas(),
        }
    };
    let mut traced: Vec<Region> = grouped
        .iter()
        .map(|(name, members)| Region {
            name: Arc::clone(name),
            clusters: members.len(),
            weight: group_score(members, wanted),
            rank: None,
        })
        .collect();
    if grouped.len() < regions.min {
        let how = How::ByRegion {
            regions: traced,
            is_approximate: false,
        };
        return Selection {
            chosen: Err(SelectError::TooFewRegions),
            how,
        };
    }
    // Regions come sorted by name here, so a position orders as the name does.
    let groups: Vec<Group> = traced
        .iter()
        .map(|region| Group {
            value: region.clusters,
            weight: region.weight,
        })
        .collect();
    let choice = combination::choose(
        &groups,
        Limits {
            groups: regions,
            least_value: clusters.min,
        },
    );
    for (rank, position) in choice.groups.iter().enumerate() {
        if let Some(region) = traced.get_mut(*position) {
            region.rank = Some(rank);
        }
    }
    let how = How::ByRegion {
        regions: traced,
        is_approximate: choice.is_approximate,
    };
    if choice.groups.is_empty() {
        return Selection {
            chosen: Err(SelectError::NoCombination),
            how,
        };
    }
    let members: Vec<&Vec<Candidate>> = grouped.values().collect();
    let picked = choice
        .groups
        .iter()
        .filter_map(|position| members.get(*position).copied());
    Selection {
        chosen: Ok(best_clusters(picked, clusters.max)),
        how,
    }
}

/// Clusters by region, each region in canonical order. A cluster without a region belongs to none.
fn group(cycle: &Cycle<'_>, candidates: &[Candidate]) -> BTreeMap<Arc<str>, Vec<Candidate>> {
    let mut regions: BTreeMap<Arc<str>, Vec<Candidate>> = BTreeMap::new();
    for candidate in candidates {
        let Some(cluster) = cycle.inputs.clusters.at(candidate.cluster) else {
            continue;
        };
        if cluster.region.is_empty() {
            continue;
        }
        match regions.get_mut(&cluster.region) {
            Some(members) => members.push(*candidate),
            None => drop(regions.insert(Arc::clone(&cluster.region), vec![*candidate])),
        }
    }
    regions
}

/// One cluster of each region, then the best of the rest up to `most` in all.
fn best_clusters<'a>(
    regions: impl Iterator<Item = &'a Vec<Candidate>>,
    most: usize,
) -> Vec<Candidate> {
    let mut chosen = Vec::new();
    let mut rest = Vec::new();
    for members in regions {
        if let Some((best, others)) = members.split_first() {
            chosen.push(*best);
            rest.extend_from_slice(others);
        }
    }
    rest.sort_unstable_by(Candidate::order);
    rest.truncate(most.saturating_sub(chosen.len()));
    chosen.extend(rest);
    chosen
}
