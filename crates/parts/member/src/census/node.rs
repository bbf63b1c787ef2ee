//! What is remembered of a node: whether it is ready, what it offers, and what the pods on it request.

use object::{Object, Value, quantity::Quantity};

use crate::census::amounts::{Amounts, Names, ResourceId};

/// A node, or the place of one that pods name and nobody has seen yet.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) name: Box<str>,
    /// What the node itself says; `None` while only pods speak of it.
    pub(crate) offer: Option<Offer>,
    /// What the unfinished pods on it request.
    pub(crate) requested: Amounts,
    /// How many pods are assigned to it; at zero a place without an offer is given up.
    pub(crate) pods: u32,
}

/// What a node says of itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Offer {
    pub(crate) is_ready: bool,
    /// What it offers to pods, as it is written there.
    pub(crate) allocatable: Vec<(ResourceId, Quantity)>,
}

impl Offer {
    /// Reads a node.
    pub(crate) fn read(node: &Object, names: &mut Names) -> Self {
        let conditions = node
            .at(&["status", "conditions"])
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let is_ready = conditions
            .filter(|condition| text(condition, "type") == Some("Ready"))
            .any(|condition| text(condition, "status") == Some("True"));
        let allocatable = node
            .at(&["status", "allocatable"])
            .and_then(Value::as_object);
        Self {
            is_ready,
            allocatable: names.quantities(allocatable).collect(),
        }
    }

    /// What it offers of one resource; nothing of those it does not mention.
    pub(crate) fn amount(&self, id: ResourceId) -> i64 {
        self.allocatable
            .iter()
            .find(|(known, _)| *known == id)
            .map_or(0, |(_, quantity)| Amounts::of(id, *quantity))
    }
}

impl Node {
    /// What is left of one resource; below zero where more is requested than there is.
    pub(crate) fn free(&self, offer: &Offer, id: ResourceId) -> i64 {
        offer.amount(id).saturating_sub(self.requested.amount(id))
    }
}

fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field)?.as_str()
}
