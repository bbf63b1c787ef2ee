//! A cluster's room as its status reports it, prepared for many questions.

use std::collections::BTreeMap;

use api::cluster::{AllocatableModeling, Cluster, ResourceModel, ResourceSummary};
use object::quantity::Quantity;

use crate::resource::{Amounts, Resource};

/// How many pods a modelled node takes: the number Kubernetes recommends as a limit, and every kubelet's default.
pub const PODS_PER_NODE: i64 = 110;

/// What is left in a cluster.
///
/// Made once when the status of the cluster changes, asked in every decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// What is left when everything running and waiting is taken away; `None` if the cluster never reported.
    pub free: Option<Amounts>,
    /// Nodes sorted into grades, smallest first; `None` if the cluster has no usable models.
    pub grades: Option<Vec<Grade>>,
}

/// Nodes that have at least so much free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grade {
    /// The least that each node of the grade has free, with room for [`PODS_PER_NODE`] pods.
    pub least: Amounts,
    /// How many such nodes there are.
    pub count: i64,
}

impl Capacity {
    /// The room in `cluster`.
    #[must_use]
    pub fn of(cluster: &Cluster) -> Self {
        let Some(summary) = &cluster.status.resource_summary else {
            return Self::default();
        };
        Self {
            free: Some(free(summary)),
            grades: grades(
                &cluster.spec.resource_models,
                &summary.allocatable_modelings,
            ),
        }
    }

    /// A cluster with just this much left, without models.
    #[must_use]
    pub fn with_free(free: Amounts) -> Self {
        Self {
            free: Some(free),
            grades: None,
        }
    }
}

/// What is allocatable and neither allocated nor about to be. Resources that are not allocatable do not appear.
fn free(summary: &ResourceSummary) -> Amounts {
    let left = |name: &String, allocatable: &Quantity| {
        let used = summary
            .allocated
            .get(name)
            .copied()
            .unwrap_or(Quantity::ZERO);
        let waiting = summary
            .allocating
            .get(name)
            .copied()
            .unwrap_or(Quantity::ZERO);
        *allocatable - used - waiting
    };
    Amounts::collect(summary.allocatable.iter().map(|(name, allocatable)| {
        let resource = Resource::named(name);
        let amount = resource.amount(left(name, allocatable));
        (resource, amount)
    }))
}

/// The grades that have nodes, smallest first.
///
/// `None` where models cannot be used: there are none, nothing was counted, or a count makes no sense.
fn grades(models: &[ResourceModel], counted: &[AllocatableModeling]) -> Option<Vec<Grade>> {
    if models.is_empty() || counted.is_empty() || counted.iter().any(|entry| entry.count < 0) {
        return None;
    }
    let mut counts: BTreeMap<u32, i64> = BTreeMap::new();
    for entry in counted {
        let count = counts.entry(entry.grade).or_default();
        *count = count.saturating_add(i64::from(entry.count));
    }
    // Of two models with the same grade the later one counts.
    let models: BTreeMap<u32, &ResourceModel> =
        models.iter().map(|model| (model.grade, model)).collect();
    let grades = models.into_iter().filter_map(|(grade, model)| {
        let count = counts.get(&grade).copied().filter(|count| *count > 0)?;
        let least = model.ranges.iter().map(|range| {
            let resource = Resource::named(&range.name);
            let amount = resource.amount(range.min);
            (resource, amount)
        });
        let least = Amounts::collect(least).with(Resource::Pods, PODS_PER_NODE);
        Some(Grade { least, count })
    });
    Some(grades.collect())
}
