//! Why a decision is what it is: every verdict, score, estimate and step of arithmetic, as a value.
//!
//! Nothing in it is text until somebody reads it: [`Diagnosis`] prints as a table of 80 columns, turns into a JSON value,
//! packs itself for those who keep many, and can be compared with an earlier one.

mod compare;
mod packed;
mod render;
#[cfg(test)]
mod tests;
mod value;

use std::sync::Arc;

use api::work::v1alpha2::TargetCluster;
use estimate::Source;

pub use self::{compare::Difference, packed::unpack};
use crate::{
    assign::Step,
    candidate::Candidate,
    cluster::Snapshot,
    cycle::Cycle,
    decision::{Outcome, Refusal, Target},
    plugin::Unheard,
    reason::Reason,
    select::How,
};

/// Everything that led to a decision.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    binding: Arc<str>,
    strategy: &'static str,
    replicas: i64,
    clusters: Snapshot,
    attempts: Vec<Attempt>,
    /// The targets there were: those that are clusters still, by position, and those that are not.
    before: Vec<(usize, i64)>,
    gone: Vec<Target>,
    /// Plugins that were asked and not heard.
    unheard: Vec<Unheard>,
    outcome: Outcome,
}

/// One run through filters, scores, selection and assignment. There are several where groups of clusters are tried.
#[derive(Clone, Debug, Default)]
pub struct Attempt {
    /// The group tried: its place in the placement and its name.
    pub term: Option<(usize, Arc<str>)>,
    /// The filters in the order they were asked.
    pub filters: Vec<Arc<str>>,
    /// What they refused, cluster by cluster. A filter that does not appear for a cluster let it pass.
    pub refusals: Vec<FilterRefusal>,
    /// Clusters about to go, which nobody was asked about.
    pub deleting: Vec<usize>,
    /// The clusters that passed, where it ended before anything was known of them; else they are the `candidates`.
    pub passed: Vec<usize>,
    /// The scores of the clusters that passed, by plugin, in the order of `candidates`.
    pub scores: Vec<(Arc<str>, Vec<i64>)>,
    /// The clusters that passed, by name.
    pub candidates: Vec<Candidacy>,
    /// How clusters were selected; `None` if it did not come to that.
    pub selection: Option<How>,
    /// The clusters selected, the preferred ones first.
    pub selected: Vec<usize>,
    /// How replicas were shared out.
    pub steps: Vec<Step>,
    /// Why this group was given up, where others were tried after it.
    pub refusal: Option<Refusal>,
}

/// A filter's refusal of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterRefusal {
    /// The cluster's position in the snapshot.
    pub cluster: usize,
    /// The filter's place among those asked.
    pub filter: usize,
    /// Why.
    pub reason: Reason,
}

/// A cluster that passed, with its numbers and where the estimate came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidacy {
    /// Its numbers.
    pub candidate: Candidate,
    /// Where the estimate came from.
    pub source: Source,
}

/// What a decision changes on one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The cluster.
    pub cluster: Arc<str>,
    /// Its replicas before; `None` if it was no target.
    pub before: Option<i32>,
    /// Its replicas now; `None` if it is no target.
    pub after: Option<i32>,
}

impl Diagnosis {
    pub(crate) fn new(cycle: Cycle<'_>, outcome: Outcome, attempts: Vec<Attempt>) -> Self {
        let inputs = cycle.inputs;
        Self {
            binding: inputs.binding.key().to_string().into(),
            strategy: inputs.placement.strategy.name(),
            replicas: i64::from(inputs.binding.spec.replicas),
            clusters: inputs.clusters.clone(),
            attempts,
            gone: gone(&cycle),
            unheard: inputs.plugins.unheard.clone(),
            before: cycle.into_targets(),
            outcome,
        }
    }

    /// The binding, as `namespace/name`.
    #[must_use]
    pub fn binding(&self) -> &str {
        &self.binding
    }

    /// The clusters there were.
    #[must_use]
    pub fn clusters(&self) -> &Snapshot {
        &self.clusters
    }

    /// The groups of clusters tried, in order; one attempt where there are no groups.
    #[must_use]
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// What came of it.
    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// The plugins that were asked and not heard.
    #[must_use]
    pub fn unheard(&self) -> &[Unheard] {
        &self.unheard
    }

    /// The targets there were.
    #[must_use]
    pub fn before(&self) -> Vec<Target> {
        let present = self.present(self.before.iter());
        present.chain(self.gone.iter().cloned()).collect()
    }

    /// What the decision changes, by cluster name; clusters that stay as they are do not appear.
    #[must_use]
    pub fn changes(&self) -> Vec<Change> {
        match &self.outcome {
            Outcome::Placed(targets) => changes(&self.before(), targets),
            Outcome::Refused(refusal) if refusal.clears_targets() => changes(&self.before(), &[]),
            Outcome::Refused(_) => self
                .staying()
                .map_or_else(Vec::new, |staying| changes(&self.before(), &staying)),
        }
    }

    /// The targets there were without those whose clusters go or do not exist any more; `None` if all stay.
    pub(crate) fn staying(&self) -> Option<Vec<Target>> {
        let is_staying = |position: usize| {
            let cluster = self.clusters.at(position);
            cluster.is_some_and(|cluster| !cluster.is_deleting)
        };
        let mut before = self.before.iter();
        if self.gone.is_empty() && before.all(|(position, _)| is_staying(*position)) {
            return None;
        }
        let staying = self.before.iter();
        let staying = staying.filter(|(position, _)| is_staying(*position));
        Some(self.present(staying).collect())
    }

    /// The targets there were whose clusters go or do not exist any more.
    pub(crate) fn going(&self) -> Vec<Target> {
        let is_going = |(position, _): &&(usize, i64)| {
            let cluster = self.clusters.at(*position);
            cluster.is_none_or(|cluster| cluster.is_deleting)
        };
        let going = self.present(self.before.iter().filter(is_going));
        going.chain(self.gone.iter().cloned()).collect()
    }

    fn present<'a>(
        &'a self,
        targets: impl Iterator<Item = &'a (usize, i64)>,
    ) -> impl Iterator<Item = Target> {
        targets.map(|(position, replicas)| Target {
            cluster: self.clusters.name(*position),
            replicas: i32::try_from(*replicas).unwrap_or(i32::MAX),
        })
    }

    /// Everything the filters of the last attempt have against `cluster`; empty if it passed or is unknown.
    #[must_use]
    pub fn refusals(&self, cluster: &str) -> Vec<(&str, &Reason)> {
        let Some(position) = self.clusters.position(cluster) else {
            return Vec::new();
        };
        self.attempts
            .last()
            .map_or_else(Vec::new, |attempt| attempt.refusals_of(position))
    }
}

impl Attempt {
    /// Everything the filters have against the cluster at `position`.
    #[must_use]
    pub fn refusals_of(&self, position: usize) -> Vec<(&str, &Reason)> {
        self.refusals
            .iter()
            .filter(|refusal| refusal.cluster == position)
            .map(|refusal| {
                (
                    self.filters.get(refusal.filter).map_or("", |name| &**name),
                    &refusal.reason,
                )
            })
            .collect()
    }
}

/// The present targets whose clusters do not exist any more.
fn gone(cycle: &Cycle<'_>) -> Vec<Target> {
    let inputs = cycle.inputs;
    let present = &inputs.binding.spec.clusters;
    if cycle.targets().len() == present.len() {
        return Vec::new();
    }
    let is_gone = |target: &&TargetCluster| inputs.clusters.position(&target.name).is_none();
    let gone = present.iter().filter(is_gone).map(|target| Target {
        cluster: target.name.as_str().into(),
        replicas: target.replicas,
    });
    gone.collect()
}

fn changes(before: &[Target], after: &[Target]) -> Vec<Change> {
    let sorted = |targets: &[Target]| {
        let mut targets = targets.to_vec();
        targets.sort_unstable_by(|a, b| a.cluster.cmp(&b.cluster));
        targets.into_iter().peekable()
    };
    let (mut before, mut after) = (sorted(before), sorted(after));
    let mut changes = Vec::new();
    loop {
        let cluster = match (before.peek(), after.peek()) {
            (None, None) => return changes,
            (Some(a), Some(b)) => Arc::clone((&a.cluster).min(&b.cluster)),
            (Some(target), None) | (None, Some(target)) => Arc::clone(&target.cluster),
        };
        let was = before
            .next_if(|target| target.cluster == cluster)
            .map(|target| target.replicas);
        let is = after
            .next_if(|target| target.cluster == cluster)
            .map(|target| target.replicas);
        if was != is {
            changes.push(Change {
                cluster,
                before: was,
                after: is,
            });
        }
    }
}
