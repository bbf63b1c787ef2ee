//! Placing pods on nodes, each on the first that has room.
//!
//! Nodes that are alike are kept as one run with a count, because a modelled cluster is thousands of nodes in a few
//! grades: placing a component then costs one step for each run and splits a run into at most three. What runs have left
//! lies in one table of numbers, a column for each resource that is asked for: a fleet is asked about thousands of times
//! a second, and nothing here allocates once the table stands.

mod stride;

use self::stride::Anchor;
use crate::{
    demand::Component,
    resource::{Amounts, Resource},
};

/// So many sets are placed one by one sooner than a pattern among them is found.
const FEW_SETS: i64 = 4;

/// Nodes in the order they are tried.
#[derive(Clone, Debug)]
pub(crate) struct Nodes {
    /// The resources that the table has columns for; the last column are places for pods.
    columns: Vec<Resource>,
    runs: Vec<Run>,
    /// What each node of a run has left, a row for each run.
    free: Vec<i64>,
    /// How many runs there may be before neighbours that have become alike are brought together.
    crowded: usize,
    /// A row in work.
    scratch: Vec<i64>,
}

/// Consecutive nodes that have the same left.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Which node or grade they are, for the caller's filter.
    origin: usize,
    count: i64,
}

/// A component as the table sees it.
struct Wanted {
    replicas: i64,
    /// Column and amount, of what is asked for at all.
    request: Vec<(usize, i64)>,
    /// Whether something is asked for that no node has.
    is_hopeless: bool,
    /// Runs before this one have no room for it, and never will: placing only takes.
    start: usize,
}

impl Nodes {
    /// So many nodes with so much room each, in this order; the position of each entry is its origin.
    pub(crate) fn new(entries: impl IntoIterator<Item = (i64, Amounts)>) -> Self {
        let entries: Vec<(i64, Amounts)> = entries.into_iter().collect();
        let mut columns: Vec<Resource> = Vec::new();
        for (resource, _) in entries.iter().flat_map(|(_, free)| free.iter()) {
            if *resource != Resource::Pods && !columns.contains(resource) {
                columns.push(resource.clone());
            }
        }
        let rows = entries.iter().map(|(count, free)| {
            let left = columns.iter().map(|name| free.amount(name).unwrap_or(0));
            let slots = free.amount(&Resource::Pods).unwrap_or(0);
            (*count, left.chain([slots]).collect::<Vec<i64>>())
        });
        let mut nodes = Self {
            runs: Vec::with_capacity(entries.len()),
            free: Vec::with_capacity(entries.len() * (columns.len() + 1)),
            columns: Vec::new(),
            crowded: 0,
            scratch: Vec::new(),
        };
        for (origin, (count, row)) in rows.enumerate().filter(|(_, (count, _))| *count > 0) {
            nodes.runs.push(Run { origin, count });
            nodes.free.extend(row);
        }
        nodes.columns = columns;
        nodes.crowded = nodes.runs.len().saturating_mul(2).saturating_add(16);
        nodes
    }

    /// The same from a table that is there already: counts and rows of `columns`, with so many places for pods each.
    pub(crate) fn from_rows<'r>(
        columns: &[Resource],
        rows: impl Iterator<Item = (i64, &'r [i64])>,
        slots: i64,
    ) -> Self {
        let mut nodes = Self {
            columns: columns.to_vec(),
            runs: Vec::with_capacity(16),
            free: Vec::with_capacity(16 * (columns.len() + 1)),
            crowded: 0,
            scratch: Vec::new(),
        };
        for (origin, (count, row)) in rows.enumerate().filter(|(_, (count, _))| *count > 0) {
            nodes.runs.push(Run { origin, count });
            nodes.free.extend_from_slice(row);
            nodes.free.push(slots);
        }
        nodes.crowded = nodes.runs.len().saturating_mul(2).saturating_add(16);
        nodes
    }

    /// How many pods with this request fit, on nodes whose origin is accepted.
    pub(crate) fn room(&self, request: &Amounts, accepts: impl Fn(usize) -> bool) -> i64 {
        let wanted = self.wanted(1, request);
        let runs = self.runs.iter().enumerate();
        let fitting = runs.filter(|(_, run)| accepts(run.origin));
        fitting.fold(0, |sum, (position, run)| {
            let each = self.room_on(position, &wanted);
            sum.saturating_add(each.saturating_mul(run.count))
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
        let mut wanted: Vec<Wanted> = components
            .iter()
            .map(|component| self.wanted(component.replicas, &component.request))
            .collect();
        let pods = components.iter().fold(0_i64, |sum, component| {
            sum.saturating_add(component.replicas)
        });
        let mut anchor = Anchor::default();
        let mut sets = 0;
        while sets < limit {
            for index in 0..wanted.len() {
                if !self.place(&mut wanted, index, &accepts) {
                    return sets;
                }
            }
            sets += 1;
            if limit - sets > FEW_SETS {
                sets += anchor.stride(self, &mut wanted, sets, limit, pods);
            }
        }
        sets
    }

    /// Places one set and says whether all of it found room.
    pub(crate) fn place_set(
        &mut self,
        components: &[Component],
        accepts: impl Fn(usize, usize) -> bool,
    ) -> bool {
        self.place_sets(components, 1, accepts) == 1
    }

    fn wanted(&self, replicas: i64, request: &Amounts) -> Wanted {
        let mut wanted = Wanted {
            replicas,
            request: Vec::with_capacity(self.columns.len()),
            is_hopeless: false,
            start: 0,
        };
        for (resource, amount) in request.iter().filter(|(_, amount)| *amount > 0) {
            let column = if *resource == Resource::Pods {
                Some(self.columns.len())
            } else {
                self.columns.iter().position(|known| known == resource)
            };
            match column {
                Some(column) => wanted.request.push((column, amount)),
                None => wanted.is_hopeless = true,
            }
        }
        wanted
    }

    /// Places one component of a set; the others are told where runs moved to.
    fn place(
        &mut self,
        wanted: &mut [Wanted],
        index: usize,
        accepts: &impl Fn(usize, usize) -> bool,
    ) -> bool {
        let Some(component) = wanted.get(index) else {
            return true;
        };
        let (mut remaining, mut position) = (component.replicas, component.start);
        let mut is_start = true;
        while remaining > 0 {
            let (Some(run), Some(component)) = (self.runs.get(position), wanted.get(index)) else {
                return false;
            };
            let Run { origin, count } = *run;
            let each = if accepts(index, origin) {
                self.room_on(position, component)
            } else {
                0
            };
            if each == 0 {
                position += 1;
                if is_start && let Some(component) = wanted.get_mut(index) {
                    component.start = position;
                }
                continue;
            }
            is_start = false;
            let whole = (remaining / each).min(count);
            let rest = if whole < count { remaining % each } else { 0 };
            remaining -= whole * each + rest;
            let added = self.split(
                position,
                [(whole, each), (i64::from(rest > 0), rest)],
                component,
            );
            for other in wanted.iter_mut().filter(|other| other.start > position) {
                other.start += added;
            }
            position += added + 1;
        }
        if self.runs.len() > self.crowded {
            self.join_equal(wanted);
        }
        true
    }

    /// How many numbers a row has.
    fn width(&self) -> usize {
        self.columns.len() + 1
    }

    /// How many pods of a component fit on each node of a run.
    fn room_on(&self, position: usize, wanted: &Wanted) -> i64 {
        if wanted.is_hopeless {
            return 0;
        }
        let width = self.width();
        let Some(row) = self.free.get(position * width..(position + 1) * width) else {
            return 0;
        };
        let slots = row.last().map_or(0, |slots| (*slots).max(0));
        wanted.request.iter().fold(slots, |fits, (column, amount)| {
            let left = row.get(*column).map_or(0, |left| (*left).max(0));
            fits.min(left / amount)
        })
    }

    /// Makes of one run one for each of `taken` (so many nodes get so many pods) and one for those left alone; returns
    /// how many more runs there are.
    fn split(&mut self, position: usize, taken: [(i64, i64); 2], wanted: &Wanted) -> usize {
        let width = self.width();
        let row = position * width..(position + 1) * width;
        let (Some(run), Some(before)) = (self.runs.get(position), self.free.get(row.clone()))
        else {
            return 0;
        };
        let (origin, count) = (run.origin, run.count);
        self.scratch.clear();
        self.scratch.extend_from_slice(before);
        let untouched = count - taken.iter().map(|(nodes, _)| nodes).sum::<i64>();
        let pieces = taken.into_iter().chain([(untouched, 0)]);
        let pieces = pieces.filter(|(nodes, _)| *nodes > 0);
        let added = pieces.clone().count().saturating_sub(1);
        if added > 0 {
            let more = std::iter::repeat_n(Run { origin, count }, added);
            self.runs.splice(position..position, more);
            let more = std::iter::repeat_n(0, added * width);
            self.free.splice(row.start..row.start, more);
        }
        let runs = self.runs.iter_mut().skip(position);
        let rows = self.free.chunks_exact_mut(width).skip(position);
        for ((nodes, pods), (run, row)) in pieces.zip(runs.zip(rows)) {
            run.count = nodes;
            row.copy_from_slice(&self.scratch);
            if pods > 0 {
                take(row, wanted, pods);
            }
        }
        added
    }

    /// Brings neighbours that have become alike together again, so that runs stay few however much is placed.
    fn join_equal(&mut self, wanted: &mut [Wanted]) {
        let width = self.width();
        let mut position = 1;
        while position < self.runs.len() {
            let (before, row) = ((position - 1) * width, position * width);
            let are_equal = match (self.runs.get(position - 1), self.runs.get(position)) {
                (Some(a), Some(b)) => a.origin == b.origin,
                _ => false,
            } && self.free.get(before..row) == self.free.get(row..row + width);
            if !are_equal {
                position += 1;
                continue;
            }
            let run = self.runs.remove(position);
            self.free.drain(row..row + width);
            if let Some(before) = self.runs.get_mut(position - 1) {
                before.count = before.count.saturating_add(run.count);
            }
            // What has no room for a component on one of the two has none on the other.
            for component in wanted.iter_mut().filter(|wanted| wanted.start >= position) {
                component.start -= 1;
            }
        }
    }
}

/// Takes so many pods off a row.
fn take(row: &mut [i64], wanted: &Wanted, pods: i64) {
    for (column, amount) in &wanted.request {
        if let Some(left) = row.get_mut(*column) {
            *left = left.saturating_sub(amount.saturating_mul(pods));
        }
    }
    if let Some(slots) = row.last_mut() {
        *slots = slots.saturating_sub(pods);
    }
}
