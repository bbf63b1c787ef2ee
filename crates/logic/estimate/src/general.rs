//! The estimate from a cluster's own report: the resource summary, refined by resource models.

use std::fmt;

use crate::{
    capacity::{Capacity, Grades},
    demand::{Assumed, Component},
    first_fit::Nodes,
    resource::{Amounts, Resource},
};

/// The greatest estimate; stands for "as many as anybody could ask for".
///
/// Replicas are 32-bit in the API. Upstream converts larger results by cutting bits off; staying at the limit keeps
/// a huge cluster huge.
pub const UNBOUNDED: i64 = i32::MAX as i64;

/// How many sets the models are asked about before the summary's word is taken.
///
/// Only the first set decides whether a cluster is chosen; beyond a thousand the number merely orders clusters that
/// all have plenty, and placing pods on modelled nodes is not free.
const MODELLED_SETS: i64 = 1000;

/// Whether nodes sorted into grades are consulted: the gate `CustomizedClusterResourceModeling`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Models {
    /// Where a cluster has them.
    #[default]
    Used,
    /// Never.
    Ignored,
}

/// How many fit, and what the number follows from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Replicas, or sets, between 0 and [`UNBOUNDED`].
    pub count: i64,
    /// What limits it.
    pub basis: Basis,
}

/// What limits an estimate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The cluster has not reported what it has.
    NoSummary,
    /// Places for pods.
    Pods,
    /// What is left of one resource in the whole cluster.
    Summary(Resource),
    /// What fits on nodes of the cluster's resource models.
    Models,
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSummary => f.write_str("nothing reported"),
            Self::Pods => f.write_str("limited by pods"),
            Self::Summary(resource) => write!(f, "limited by {resource}"),
            Self::Models => f.write_str("limited by modelled nodes"),
        }
    }
}

/// How many replicas fit that each make `request`; `None` asks for pods about which nothing is known.
#[must_use]
pub fn replicas(
    capacity: &Capacity,
    request: Option<&Amounts>,
    assumed: &Assumed,
    models: Models,
) -> Estimate {
    let Some(free) = &capacity.free else {
        return Estimate {
            count: 0,
            basis: Basis::NoSummary,
        };
    };
    let pods = free_pods(free, assumed);
    let by_pods = Estimate {
        count: pods.min(UNBOUNDED),
        basis: Basis::Pods,
    };
    let Some(request) = request.filter(|_| pods > 0) else {
        return by_pods;
    };
    if let (Models::Used, Some(grades)) = (models, &capacity.grades) {
        let room = modelled_replicas(grades, request, assumed);
        return tighter(by_pods, room, Basis::Models);
    }
    match free.fits_beside(request, assumed.demand()) {
        Some((times, resource)) => tighter(by_pods, times, Basis::Summary(resource.clone())),
        None => by_pods,
    }
}

/// How many sets of `components` fit.
#[must_use]
pub fn sets(
    capacity: &Capacity,
    components: &[Component],
    assumed: &Assumed,
    models: Models,
) -> Estimate {
    let Some(free) = &capacity.free else {
        return Estimate {
            count: 0,
            basis: Basis::NoSummary,
        };
    };
    let pods = free_pods(free, assumed);
    let pods_of_set = components.iter().fold(0_i64, |sum, component| {
        sum.saturating_add(component.replicas)
    });
    if pods_of_set == 0 {
        // Nothing to place: any number of sets fits. Upstream would count them one by one.
        return Estimate {
            count: pods.min(UNBOUNDED),
            basis: Basis::Pods,
        };
    }
    let mut estimate = Estimate {
        count: (pods / pods_of_set).min(UNBOUNDED),
        basis: Basis::Pods,
    };
    let mut demand = Amounts::default();
    for component in components {
        demand.add(&component.request, component.replicas);
    }
    if let Some((times, resource)) = free.fits_beside(&demand, assumed.demand()) {
        estimate = tighter(estimate, times, Basis::Summary(resource.clone()));
    }
    let (Models::Used, Some(grades)) = (models, &capacity.grades) else {
        return estimate;
    };
    let mut nodes = modelled_nodes(grades, assumed);
    let limit = estimate.count.min(MODELLED_SETS);
    let placed = nodes.place_sets(components, limit, |_, _| true);
    if placed < limit {
        tighter(estimate, placed, Basis::Models)
    } else {
        estimate
    }
}

/// Places for pods that are left once those promised are taken.
fn free_pods(free: &Amounts, assumed: &Assumed) -> i64 {
    free.amount(&Resource::Pods)
        .unwrap_or(0)
        .saturating_sub(assumed.pods())
        .max(0)
}

fn tighter(estimate: Estimate, count: i64, basis: Basis) -> Estimate {
    if count < estimate.count {
        Estimate { count, basis }
    } else {
        estimate
    }
}

fn modelled_replicas(grades: &Grades, request: &Amounts, assumed: &Assumed) -> i64 {
    if assumed.is_empty() {
        return grades.room(request);
    }
    modelled_nodes(grades, assumed).room(request, |_| true)
}

/// The nodes that the grades stand for, with what was promised already on them.
fn modelled_nodes(grades: &Grades, assumed: &Assumed) -> Nodes {
    let mut nodes = grades.nodes();
    for workload in assumed.workloads() {
        nodes.place_set(&workload.components, |_, _| true);
    }
    nodes
}
