//! A cluster's room as its status reports it, prepared for many questions.

use std::collections::{BTreeMap, BTreeSet};

use api::cluster::{AllocatableModeling, Cluster, ResourceModel, ResourceSummary};
use object::quantity::Quantity;

use crate::{
    first_fit::Nodes,
    resource::{Amounts, Resource},
};

/// How many pods a modelled node takes: the number Kubernetes recommends as a limit, and every kubelet's default.
pub const PODS_PER_NODE: i64 = 110;

/// What is left in a cluster.
///
/// Made once when the status of the cluster changes, asked in every decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// What is left when everything running and waiting is taken away; `None` if the cluster never reported.
    pub free: Option<Amounts>,
    /// Nodes sorted into grades; `None` if the cluster has no usable models.
    pub grades: Option<Grades>,
}

/// Nodes in grades, smallest first: so many that each have at least so much free.
///
/// Every node also takes [`PODS_PER_NODE`] pods. The numbers lie side by side, because a decision reads those of
/// thousands of clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grades {
    /// The resources that some grade describes.
    resources: Vec<Resource>,
    /// For each grade: the number of nodes, then the least of each resource. A grade has nothing of a resource that it
    /// does not describe.
    numbers: Vec<i64>,
}

impl Grades {
    /// The grades given, each as a number of nodes and the least they have free.
    pub fn collect(grades: impl IntoIterator<Item = (i64, Amounts)>) -> Self {
        let grades: Vec<(i64, Amounts)> = grades.into_iter().collect();
        let described = grades.iter().flat_map(|(_, least)| least.iter());
        let resources: BTreeSet<Resource> =
            described.map(|(resource, _)| resource.clone()).collect();
        let mut numbers = Vec::with_capacity(grades.len() * (resources.len() + 1));
        for (count, least) in &grades {
            numbers.push(*count);
            numbers.extend(
                resources
                    .iter()
                    .map(|resource| least.amount(resource).unwrap_or(0)),
            );
        }
        Self {
            resources: resources.into_iter().collect(),
            numbers,
        }
    }

    /// How many replicas with this request fit on empty nodes.
    #[must_use]
    pub fn room(&self, request: &Amounts) -> i64 {
        self.rows().fold(0, |sum, (count, least)| {
            let mut each = PODS_PER_NODE;
            for (resource, wanted) in request.iter().filter(|(_, wanted)| *wanted > 0) {
                let column = self.resources.iter().position(|known| known == resource);
                let has = column
                    .and_then(|column| least.get(column))
                    .map_or(0, |has| (*has).max(0));
                each = each.min(has / wanted);
            }
            sum.saturating_add(each.saturating_mul(count))
        })
    }

    /// The nodes that the grades stand for, empty.
    pub(crate) fn nodes(&self) -> Nodes {
        Nodes::from_rows(&self.resources, self.rows(), PODS_PER_NODE)
    }

    fn rows(&self) -> impl Iterator<Item = (i64, &[i64])> {
        let rows = self.numbers.chunks_exact(self.resources.len() + 1);
        rows.filter_map(|row| row.split_first())
            .map(|(count, least)| (*count, least))
    }
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
fn grades(models: &[ResourceModel], counted: &[AllocatableModeling]) -> Option<Grades> {
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
        Some((count, Amounts::collect(least)))
    });
    Some(Grades::collect(grades))
}
