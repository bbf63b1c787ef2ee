//! Into which grade of a cluster's resource models a node falls.

use api::cluster::{AllocatableModeling, ResourceModel};

use crate::census::amounts::{Amounts, Names, ResourceId};
use crate::census::node::Node;

/// The grades of a cluster, prepared to sort many nodes.
pub(crate) struct Grades {
    numbers: Vec<u32>,
    /// For each resource the least amount of each grade, ascending.
    floors: Vec<(Option<ResourceId>, Vec<i64>)>,
}

impl Grades {
    /// Models list the same resources in the same order in every grade, as admission has checked; a resource that a
    /// later grade lacks ends there.
    pub(crate) fn of(models: &[ResourceModel], names: &Names) -> Self {
        let resources = models.first().map_or(0, |model| model.ranges.len());
        let floors = (0..resources).map(|position| {
            let mut ranges = models.iter().map_while(|model| model.ranges.get(position));
            let name = ranges.clone().next().map_or("", |range| &range.name);
            let id = names.find(name);
            let floor = |quantity| Amounts::of(id.unwrap_or(unit_of(name)), quantity);
            (id, ranges.by_ref().map(|range| floor(range.min)).collect())
        });
        Self {
            numbers: models.iter().map(|model| model.grade).collect(),
            floors: floors.collect(),
        }
    }

    /// The position of the grade a node falls into: the lowest that any of its resources allows. `None` for one that is
    /// full or promised more than it has.
    ///
    /// Upstream: at the first full node counting ends, and all nodes listed after it are missing from the result. Here
    /// only the full node is, because the others can take what the scheduler sends.
    pub(crate) fn grade(&self, node: &Node) -> Option<usize> {
        let offer = node.offer.as_ref()?;
        if node.free(offer, ResourceId::PODS) <= 0 {
            return None;
        }
        let mut lowest = self.numbers.len().checked_sub(1)?;
        for (id, floors) in &self.floors {
            let free = id.map_or(0, |id| node.free(offer, id));
            let grade = floors
                .partition_point(|floor| *floor <= free)
                .checked_sub(1)?;
            lowest = lowest.min(grade);
        }
        Some(lowest)
    }

    /// One entry for each grade, in order, those without nodes included.
    pub(crate) fn count<'n>(
        &self,
        nodes: impl Iterator<Item = &'n Node>,
    ) -> Vec<AllocatableModeling> {
        let mut counts = vec![0_i32; self.numbers.len()];
        for grade in nodes.filter_map(|node| self.grade(node)) {
            if let Some(count) = counts.get_mut(grade) {
                *count = count.saturating_add(1);
            }
        }
        self.numbers
            .iter()
            .zip(counts)
            .map(|(grade, count)| AllocatableModeling {
                grade: *grade,
                count,
            })
            .collect()
    }
}

/// A stand-in with the unit of the resource, for one that no node or pod has named.
fn unit_of(name: &str) -> ResourceId {
    if name == "cpu" {
        return ResourceId::CPU;
    }
    ResourceId::PODS
}
