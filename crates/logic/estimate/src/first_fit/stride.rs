//! Many sets in one stride.
//!
//! Placing set after set on nodes that are alike soon repeats itself: after some sets the nodes that still count look as
//! they did before, but for how many there are of some. From then on the same happens again and again until one of those
//! kinds runs short, so it need not be done to know what comes of it.

use super::{Nodes, Run, Wanted};

/// What the nodes looked like after some set, to be found again.
#[derive(Debug, Default)]
pub(super) struct Anchor {
    /// After how many sets; `None` before the first.
    sets: Option<i64>,
    /// After how many further sets another anchor is taken: twice as many each time, so that any period is found.
    patience: i64,
    /// Where each component was tried first, from the first run that counts.
    starts: Vec<usize>,
    /// The runs that count and what they had left.
    runs: Vec<Run>,
    free: Vec<i64>,
}

impl Anchor {
    /// Looks at the nodes after so many sets, of so many pods each. If they look as they did before, takes as many strides
    /// as are sure to go the same way, and says how many sets that places.
    pub(super) fn stride(
        &mut self,
        nodes: &mut Nodes,
        wanted: &mut [Wanted],
        sets: i64,
        limit: i64,
        pods: i64,
    ) -> i64 {
        nodes.join_equal(wanted);
        let Some(first) = first_that_counts(wanted) else {
            return 0;
        };
        if let Some(period) = self.period(nodes, wanted, first, sets, pods) {
            let strides = self.strides(nodes, first, period, pods);
            let strides = strides.min((limit - sets) / period);
            if strides > 0 {
                for (run, before) in nodes.runs.iter_mut().skip(first).zip(&self.runs) {
                    run.count += strides * (run.count - before.count);
                }
                self.sets = None;
                self.patience = 0;
                return strides * period;
            }
        }
        let is_due = self.sets.is_none_or(|last| sets - last >= self.patience);
        if is_due {
            self.take(nodes, wanted, first, sets);
        }
        0
    }

    /// After how many sets the nodes look as they did at the anchor, if they do.
    fn period(
        &self,
        nodes: &Nodes,
        wanted: &[Wanted],
        first: usize,
        sets: i64,
        pods: i64,
    ) -> Option<i64> {
        let period = sets - self.sets?;
        let plenty = plenty(period, pods);
        let runs = nodes.runs.get(first..)?;
        let is_same = |(now, before): (&Run, &Run)| {
            // Of nodes of which there are plenty it does not matter how many there are.
            let is_as_many =
                now.count == before.count || (now.count > plenty && before.count > plenty);
            now.origin == before.origin && is_as_many
        };
        let starts = starts(wanted, first);
        let is_repeated = runs.len() == self.runs.len()
            && starts.eq(self.starts.iter().copied())
            && runs.iter().zip(&self.runs).all(is_same)
            && nodes.free.get(first * nodes.width()..)? == self.free;
        is_repeated.then_some(period)
    }

    /// How often the same can happen again before there are not plenty of some nodes any more.
    fn strides(&self, nodes: &Nodes, first: usize, period: i64, pods: i64) -> i64 {
        let plenty = plenty(period, pods);
        let runs = nodes.runs.iter().skip(first).zip(&self.runs);
        let shrinking = runs.filter(|(now, before)| now.count < before.count);
        shrinking.fold(i64::MAX, |least, (now, before)| {
            least.min((now.count - plenty) / (before.count - now.count))
        })
    }

    fn take(&mut self, nodes: &Nodes, wanted: &[Wanted], first: usize, sets: i64) {
        self.sets = Some(sets);
        self.patience = (self.patience * 2).max(1);
        self.starts.clear();
        self.starts.extend(starts(wanted, first));
        self.runs.clear();
        self.runs.extend(nodes.runs.iter().skip(first));
        self.free.clear();
        let free = nodes.free.iter().skip(first * nodes.width());
        self.free.extend(free);
    }
}

/// More nodes than so many sets can take one of: of these, none runs short meanwhile.
fn plenty(sets: i64, pods: i64) -> i64 {
    sets.saturating_mul(pods)
}

/// The first run that has room for a component, as far as is known: none before it will be looked at again.
fn first_that_counts(wanted: &[Wanted]) -> Option<usize> {
    let placed = wanted.iter().filter(|component| component.replicas > 0);
    placed.map(|component| component.start).min()
}

fn starts(wanted: &[Wanted], first: usize) -> impl Iterator<Item = usize> {
    let placed = wanted.iter().filter(|component| component.replicas > 0);
    placed.map(move |component| component.start - first)
}
