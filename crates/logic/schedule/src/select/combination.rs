//! The best combination of groups that has enough members.
//!
//! Groups stand in a line, those with few members first. A combination *counts* if its size is allowed, it has enough
//! members, and it stops doing so without its last group: whoever walks the line and takes groups would have stopped
//! there. Of those that count the heaviest wins; then the one with most members; then the one that comes first in the
//! line. A lighter combination is preferred after all if it consists of the heaviest groups of the winner: what it
//! leaves out only adds clusters.
//!
//! Upstream walks all combinations, of which there are exponentially many. Here a table keeps, for each size and number
//! of members, the best way to get there; nothing else about the groups taken so far matters to those that follow. The
//! table is exact. Where even that would be too large, groups are taken by weight.

use std::cmp::{Ordering, Reverse};

use crate::placement::Bounds;

/// How many steps through the table a decision may take; about ten milliseconds.
const STEP_LIMIT: usize = 1 << 20;

/// A group to choose; its position among all groups orders as its name does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// How many members it has.
    pub(super) value: usize,
    /// How good it is.
    pub(super) weight: i64,
}

/// What a combination must keep to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// How many groups.
    pub(super) groups: Bounds,
    /// How many members together, at least.
    pub(super) least_value: usize,
}

/// What was chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Choice {
    /// Positions of the groups, the heaviest first; empty if no combination will do.
    pub(super) groups: Vec<usize>,
    /// Whether there were too many to weigh all combinations.
    pub(super) is_approximate: bool,
}

/// The best combination of `groups` within `limits`.
pub(super) fn choose(groups: &[Group], limits: Limits) -> Choice {
    let limits = Limits {
        groups: Bounds {
            min: limits.groups.min.max(1),
            max: limits.groups.max.min(groups.len()),
        },
        ..limits
    };
    if limits.groups.max < limits.groups.min {
        return Choice::default();
    }
    let mut line: Vec<usize> = (0..groups.len()).collect();
    line.sort_by_key(|position| {
        groups
            .get(*position)
            .map(|group| (group.value, Reverse(group.weight), *position))
    });
    let steps = groups
        .len()
        .saturating_mul(limits.groups.max)
        .saturating_mul(limits.least_value.saturating_add(1));
    if steps > STEP_LIMIT {
        return Choice {
            groups: take_heaviest(groups, limits),
            is_approximate: true,
        };
    }
    let in_line: Vec<Group> = line
        .iter()
        .filter_map(|position| groups.get(*position).copied())
        .collect();
    let Some(best) = Table::new(limits).best(&in_line) else {
        return Choice::default();
    };
    let mut chosen: Vec<usize> = best
        .iter()
        .filter_map(|place| line.get(*place).copied())
        .collect();
    by_weight(groups, &mut chosen);
    let place_of = |position: &usize| line.iter().position(|other| other == position);
    let shortest = (1..chosen.len()).find(|length| {
        let mut places: Vec<usize> = chosen.iter().take(*length).filter_map(place_of).collect();
        places.sort_unstable();
        counts(&in_line, &places, limits)
    });
    chosen.truncate(shortest.unwrap_or(chosen.len()));
    Choice {
        groups: chosen,
        is_approximate: false,
    }
}

/// Whether the groups at these places of the line form a combination that counts.
fn counts(line: &[Group], places: &[usize], limits: Limits) -> bool {
    let value = |places: &[usize]| {
        places
            .iter()
            .filter_map(|place| line.get(*place))
            .map(|group| group.value)
            .sum()
    };
    let suffices =
        |size: usize, value: usize| size >= limits.groups.min && value >= limits.least_value;
    let Some((_, before)) = places.split_last() else {
        return false;
    };
    places.len() <= limits.groups.max
        && suffices(places.len(), value(places))
        && !suffices(before.len(), value(before))
}

/// The best way to a size and number of members, as a chain of places.
#[derive(Clone, Copy, Debug)]
struct Way {
    size: usize,
    weight: i64,
    value: usize,
    /// Where the chain ends in [`Table::links`].
    link: usize,
}

/// A place taken, and the link before it.
#[derive(Clone, Copy, Debug)]
struct Link {
    place: usize,
    before: Option<usize>,
}

struct Table {
    limits: Limits,
    /// By size, then by number of members up to the least that suffices.
    ways: Vec<Option<Way>>,
    links: Vec<Link>,
    best: Option<Way>,
}

impl Table {
    fn new(limits: Limits) -> Self {
        let cells = limits
            .groups
            .max
            .saturating_mul(limits.least_value.saturating_add(1));
        Self {
            limits,
            ways: vec![None; cells],
            links: Vec::new(),
            best: None,
        }
    }

    /// The places of the best combination, in the order of the line.
    fn best(mut self, line: &[Group]) -> Option<Vec<usize>> {
        for (place, group) in line.iter().enumerate() {
            // Larger sizes first, so that no way takes the same group twice.
            for size in (1..self.limits.groups.max).rev() {
                for value in 0..=self.limits.least_value {
                    if let Some(way) = self.way(size, value) {
                        self.extend(Some((way, size, value)), place, *group);
                    }
                }
            }
            self.extend(None, place, *group);
        }
        let best = self.best?;
        Some(self.places(best.link))
    }

    fn way(&self, size: usize, value: usize) -> Option<Way> {
        self.ways.get(self.cell(size, value)).copied().flatten()
    }

    fn cell(&self, size: usize, value: usize) -> usize {
        size * (self.limits.least_value + 1) + value
    }

    /// Adds the group at `place` to a way, or starts one with it.
    fn extend(&mut self, from: Option<(Way, usize, usize)>, place: usize, group: Group) {
        let (before, size, capped) =
            from.map_or((None, 0, 0), |(way, size, value)| (Some(way), size, value));
        let link = Link {
            place,
            before: before.map(|way| way.link),
        };
        let way = Way {
            size: size + 1,
            weight: before
                .map_or(0, |way| way.weight)
                .saturating_add(group.weight),
            value: before
                .map_or(0, |way| way.value)
                .saturating_add(group.value),
            link: self.links.len(),
        };
        let size = size + 1;
        let capped = capped
            .saturating_add(group.value)
            .min(self.limits.least_value);
        let is_complete = size >= self.limits.groups.min && capped >= self.limits.least_value;
        if !is_complete && size >= self.limits.groups.max {
            return;
        }
        let rival = if is_complete {
            self.best
        } else {
            self.way(size, capped)
        };
        self.links.push(link);
        if rival.is_some_and(|rival| self.order(rival, way) != Ordering::Greater) {
            self.links.pop();
            return;
        }
        if is_complete {
            self.best = Some(way);
            return;
        }
        let cell = self.cell(size, capped);
        if let Some(slot) = self.ways.get_mut(cell) {
            *slot = Some(way);
        }
    }

    /// `Less` if `a` is better.
    fn order(&self, a: Way, b: Way) -> Ordering {
        b.weight
            .cmp(&a.weight)
            .then_with(|| b.value.cmp(&a.value))
            .then_with(|| {
                if a.size == b.size {
                    return self.order_chains(Some(a.link), Some(b.link));
                }
                self.places(a.link).cmp(&self.places(b.link))
            })
    }

    /// Which of two chains of one length comes first in the line. Chains share their beginnings, so this ends early.
    fn order_chains(&self, a: Option<usize>, b: Option<usize>) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        let link = |position: Option<usize>| position.and_then(|position| self.links.get(position));
        let (Some(a), Some(b)) = (link(a), link(b)) else {
            return Ordering::Equal;
        };
        self.order_chains(a.before, b.before)
            .then_with(|| a.place.cmp(&b.place))
    }

    fn places(&self, link: usize) -> Vec<usize> {
        let mut places = Vec::new();
        let mut next = self.links.get(link);
        while let Some(link) = next {
            places.push(link.place);
            next = link.before.and_then(|before| self.links.get(before));
        }
        places.reverse();
        places
    }
}

/// The heaviest groups until there are enough; if the allowed number of them is too small, the largest instead.
fn take_heaviest(groups: &[Group], limits: Limits) -> Vec<usize> {
    let take = |order: &[usize]| {
        let mut value = 0_usize;
        let mut taken = Vec::new();
        for position in order.iter().take(limits.groups.max) {
            taken.push(*position);
            value = value.saturating_add(groups.get(*position).map_or(0, |group| group.value));
            if taken.len() >= limits.groups.min && value >= limits.least_value {
                return Some(taken);
            }
        }
        None
    };
    let mut order: Vec<usize> = (0..groups.len()).collect();
    by_weight(groups, &mut order);
    if let Some(taken) = take(&order) {
        return taken;
    }
    order.sort_by_key(|position| Reverse(groups.get(*position).map(|group| group.value)));
    let mut taken = take(&order).unwrap_or_default();
    by_weight(groups, &mut taken);
    taken
}

/// Sorts by weight, the heaviest first, then by name.
fn by_weight(groups: &[Group], positions: &mut [usize]) {
    positions.sort_by_key(|position| {
        (
            Reverse(groups.get(*position).map(|group| group.weight)),
            *position,
        )
    });
}
