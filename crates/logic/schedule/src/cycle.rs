//! What a decision is made from, and what its steps share.

use estimate::{Answers, Models, OnFailure};

use crate::{
    assume::ByCluster,
    binding::BindingView,
    cluster::{ClusterFacts, Snapshot},
    placement::{PreparedPlacement, Term},
    plugin::{Peers, Plugins},
};

/// Everything a decision may look at, gathered beforehand.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// The binding to decide about.
    pub binding: BindingView<'a>,
    /// Its placement.
    pub placement: &'a PreparedPlacement,
    /// The clusters there are.
    pub clusters: &'a Snapshot,
    /// What estimators beside the clusters said; see [`crate::candidates`] for whom to ask.
    pub estimates: &'a [Answers],
    /// What was promised to bindings lately, by cluster; empty unless overcommitting is guarded against.
    pub assumed: &'a ByCluster,
    /// Other bindings of the same workload groups.
    pub peers: &'a Peers,
    /// The plugins in use.
    pub plugins: &'a Plugins,
    /// Settings.
    pub options: Options,
}

/// Settings of the scheduler that change decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether a selected cluster without replicas is still a target: `--enable-empty-workload-propagation`.
    pub empty_workloads: EmptyWorkloads,
    /// Whether resource models are used: the gate `CustomizedClusterResourceModeling`.
    pub models: Models,
    /// Whether sets of components are estimated as one: the gate `MultiplePodTemplatesScheduling`.
    pub components: Components,
    /// What an estimator's failure for one cluster means for the others.
    pub on_failure: OnFailure,
}

/// What becomes of selected clusters that get no replicas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EmptyWorkloads {
    /// They are not targets.
    #[default]
    Dropped,
    /// They are targets with no replicas.
    Propagated,
}

/// How a workload of several components is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Components {
    /// As if it had one template.
    #[default]
    Apart,
    /// As sets, when it goes to exactly one cluster.
    AsSets,
}

/// One run through filter, score, select and assign, as its plugins see it.
#[derive(Debug)]
pub struct Cycle<'a> {
    /// What the decision is made from.
    pub inputs: &'a Inputs<'a>,
    term: Option<usize>,
    /// Replicas of each cluster by position in the snapshot; -1 where it is not a target.
    assigned: Vec<i64>,
    /// The targets that exist as clusters, in the order of the binding, each once.
    targets: Vec<(usize, i64)>,
}

const NOT_A_TARGET: i64 = -1;

impl<'a> Cycle<'a> {
    /// A run with the group of clusters at `term`, or with the one affinity.
    pub(crate) fn new(inputs: &'a Inputs<'a>, term: Option<usize>) -> Self {
        let (assigned, targets) = assigned(inputs);
        Self {
            inputs,
            term,
            assigned,
            targets,
        }
    }

    /// The same for the next group.
    pub(crate) fn with_term(self, term: usize) -> Self {
        Self {
            term: Some(term),
            ..self
        }
    }

    /// The binding to decide about.
    #[must_use]
    pub fn binding(&self) -> &'a BindingView<'a> {
        &self.inputs.binding
    }

    /// The group of clusters that is tried, if there are groups.
    #[must_use]
    pub fn term(&self) -> Option<&'a Term> {
        if self.inputs.placement.affinity.is_some() {
            return None;
        }
        self.term
            .and_then(|index| self.inputs.placement.terms.get(index))
    }

    /// Whether the cluster at `position` is a target now.
    #[must_use]
    pub fn is_target(&self, position: usize) -> bool {
        self.assigned
            .get(position)
            .is_some_and(|replicas| *replicas != NOT_A_TARGET)
    }

    /// Replicas that the cluster at `position` has now; 0 if it is not a target.
    #[must_use]
    pub fn assigned(&self, position: usize) -> i64 {
        self.assigned
            .get(position)
            .map_or(0, |replicas| (*replicas).max(0))
    }

    /// The present targets by position in the snapshot, with their replicas, in the order of the binding.
    #[must_use]
    pub fn targets(&self) -> &[(usize, i64)] {
        &self.targets
    }

    /// The same, when nothing else is needed any more.
    pub(crate) fn into_targets(self) -> Vec<(usize, i64)> {
        self.targets
    }

    /// Which tier of the group the cluster belongs to: 0 for its own affinity, then the overflow affinities in order.
    #[must_use]
    pub fn tier(&self, cluster: &ClusterFacts) -> u16 {
        let Some(term) = self.term() else { return 0 };
        if term.overflow.is_empty() || term.affinity.matches(cluster) {
            return 0;
        }
        let tier = term
            .overflow
            .iter()
            .position(|affinity| affinity.matches(cluster));
        tier.and_then(|tier| u16::try_from(tier.saturating_add(1)).ok())
            .unwrap_or(NO_TIER)
    }

    /// Replicas asked for.
    #[must_use]
    pub fn replicas(&self) -> i64 {
        i64::from(self.inputs.binding.spec.replicas.max(0))
    }

    /// Whether the components are estimated as one set: only where exactly one cluster takes all of them.
    #[must_use]
    pub fn is_component_set(&self) -> bool {
        is_component_set(self.inputs)
    }
}

/// Whether estimators are to be asked for sets of components rather than for replicas.
#[must_use]
pub fn is_component_set(inputs: &Inputs<'_>) -> bool {
    inputs.options.components == Components::AsSets
        && !inputs.binding.spec.components.is_empty()
        && inputs.placement.spread.is_single_cluster
}

/// The tier of a cluster that belongs to none, after all others.
pub(crate) const NO_TIER: u16 = 1000;

fn assigned(inputs: &Inputs<'_>) -> (Vec<i64>, Vec<(usize, i64)>) {
    let mut assigned = vec![NOT_A_TARGET; inputs.clusters.len()];
    let mut targets = Vec::with_capacity(inputs.binding.spec.clusters.len());
    let mut finder = inputs.clusters.finder();
    for target in &inputs.binding.spec.clusters {
        let Some(position) = finder.find(&target.name) else {
            continue;
        };
        if let Some(slot) = assigned
            .get_mut(position)
            .filter(|slot| **slot == NOT_A_TARGET)
        {
            *slot = i64::from(target.replicas.max(0));
            targets.push((position, *slot));
        }
    }
    (assigned, targets)
}
