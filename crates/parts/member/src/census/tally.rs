//! The running count.

use std::collections::HashMap;

use api::{
    cluster::{AllocatableModeling, NodeSummary, ResourceModel, ResourceSummary},
    kubernetes::ResourceList,
};
use object::{Object, quantity::Quantity};

use crate::census::amounts::{Amounts, Names, ResourceId};
use crate::census::models::Grades;
use crate::census::node::{Node, Offer};
use crate::census::pod::PodFacts;

/// The nodes and pods of one member, counted.
#[derive(Debug)]
pub struct Census {
    names: Names,
    nodes: HashMap<Box<str>, u32>,
    /// By number; the numbers of nodes that are gone are used again.
    places: Vec<Node>,
    unused: Vec<u32>,
    pods: HashMap<PodId, Pod>,
    total: i32,
    ready: i32,
    /// What all nodes offer, with the number of nodes that mention the resource.
    allocatable: Vec<(ResourceId, Quantity, u32)>,
    allocating: Amounts,
    allocated: Amounts,
}

/// A pod's uid as a number.
type PodId = u128;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Pod {
    state: State,
    requests: Amounts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It has no node.
    Waiting,
    /// It holds room on the node with that number.
    On(u32),
    /// It is assigned to the node with that number, and done.
    Finished(u32),
}

impl Default for Census {
    fn default() -> Self {
        Self::new()
    }
}

impl Census {
    /// Nothing counted yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            names: Names::new(),
            nodes: HashMap::new(),
            places: Vec::new(),
            unused: Vec::new(),
            pods: HashMap::new(),
            total: 0,
            ready: 0,
            allocatable: Vec::new(),
            allocating: Amounts::default(),
            allocated: Amounts::default(),
        }
    }

    /// Counts a node as it is now. Says whether anything a summary shows may have changed.
    pub fn set_node(&mut self, node: &Object) -> bool {
        let offer = Offer::read(node, &mut self.names);
        let number = self.place(node.name());
        let old = self
            .places
            .get_mut(index(number))
            .and_then(|place| place.offer.replace(offer.clone()));
        if old.as_ref() == Some(&offer) {
            return false;
        }
        if let Some(old) = old {
            self.discount(&old);
        }
        self.count(&offer);
        true
    }

    /// Forgets a node. Pods assigned to it stay counted until they are gone themselves.
    pub fn remove_node(&mut self, name: &str) -> bool {
        let Some(number) = self.nodes.get(name).copied() else {
            return false;
        };
        let offer = self
            .places
            .get_mut(index(number))
            .and_then(|place| place.offer.take());
        if let Some(offer) = &offer {
            self.discount(offer);
        }
        self.give_up(number);
        offer.is_some()
    }

    /// Counts a pod as it is now. Says whether anything a summary shows may have changed.
    pub fn set_pod(&mut self, pod: &Object) -> bool {
        let id = pod_id(pod);
        let facts = PodFacts::read(pod, &mut self.names);
        let state = match (facts.node.is_empty(), facts.is_finished) {
            (true, _) => State::Waiting,
            (false, false) => State::On(self.place(facts.node)),
            (false, true) => State::Finished(self.place(facts.node)),
        };
        let next = Pod {
            state,
            requests: facts.requests,
        };
        if self.pods.get(&id) == Some(&next) {
            return false;
        }
        // In this order, or a node whose only pod this is would lose its place in between.
        self.add(&next);
        if let Some(old) = self.pods.insert(id, next) {
            self.take(&old);
        }
        true
    }

    /// Forgets a pod.
    pub fn remove_pod(&mut self, pod: &Object) -> bool {
        let Some(old) = self.pods.remove(&pod_id(pod)) else {
            return false;
        };
        self.take(&old);
        true
    }

    /// Forgets all nodes, before a new list of them.
    pub fn clear_nodes(&mut self) {
        let names: Vec<Box<str>> = self.nodes.keys().cloned().collect();
        for name in names {
            self.remove_node(&name);
        }
    }

    /// Forgets all pods, before a new list of them.
    pub fn clear_pods(&mut self) {
        for (_, pod) in std::mem::take(&mut self.pods) {
            self.take(&pod);
        }
    }

    /// How many nodes there are.
    #[must_use]
    pub fn node_summary(&self) -> NodeSummary {
        NodeSummary {
            total_num: self.total,
            ready_num: self.ready,
        }
    }

    /// How much room there is, with the nodes sorted into the grades of `models`, if there are any.
    #[must_use]
    pub fn resource_summary(&self, models: &[ResourceModel]) -> ResourceSummary {
        let allocatable: ResourceList = self
            .allocatable
            .iter()
            .map(|(id, quantity, _)| (self.names.name(*id).to_owned(), *quantity))
            .collect();
        ResourceSummary {
            allocatable,
            allocating: self.allocating.to_list(&self.names),
            allocated: self.allocated.to_list(&self.names),
            allocatable_modelings: self.modelings(models),
        }
    }

    /// How many pods are held, for reports.
    #[must_use]
    pub fn pods(&self) -> usize {
        self.pods.len()
    }

    fn modelings(&self, models: &[ResourceModel]) -> Vec<AllocatableModeling> {
        if models.is_empty() {
            return Vec::new();
        }
        Grades::of(models, &self.names).count(self.places.iter())
    }

    /// The number of the node of that name, which gets one if it has none.
    fn place(&mut self, name: &str) -> u32 {
        if let Some(number) = self.nodes.get(name) {
            return *number;
        }
        let number = self.unused.pop().unwrap_or_else(|| {
            self.places.push(Node::default());
            // No cluster has four thousand million nodes; were there one, its last would share a place.
            u32::try_from(self.places.len() - 1).unwrap_or(u32::MAX)
        });
        if let Some(place) = self.places.get_mut(index(number)) {
            place.name = name.into();
        }
        self.nodes.insert(name.into(), number);
        number
    }

    /// Frees the number of a node that neither says anything itself nor is named by a pod.
    fn give_up(&mut self, number: u32) {
        let Some(place) = self.places.get_mut(index(number)) else {
            return;
        };
        if place.offer.is_some() || place.pods > 0 {
            return;
        }
        let gone = std::mem::take(place);
        self.nodes.remove(&gone.name);
        self.unused.push(number);
    }

    fn count(&mut self, offer: &Offer) {
        self.total = self.total.saturating_add(1);
        self.ready = self.ready.saturating_add(i32::from(offer.is_ready));
        for (id, quantity) in &offer.allocatable {
            match self.allocatable.iter_mut().find(|(known, ..)| known == id) {
                Some((_, total, nodes)) => {
                    *total += *quantity;
                    *nodes = nodes.saturating_add(1);
                }
                None => self.allocatable.push((*id, *quantity, 1)),
            }
        }
    }

    fn discount(&mut self, offer: &Offer) {
        self.total = self.total.saturating_sub(1);
        self.ready = self.ready.saturating_sub(i32::from(offer.is_ready));
        for (id, quantity) in &offer.allocatable {
            if let Some((_, total, nodes)) =
                self.allocatable.iter_mut().find(|(known, ..)| known == id)
            {
                *total -= *quantity;
                *nodes = nodes.saturating_sub(1);
            }
        }
        self.allocatable.retain(|(.., nodes)| *nodes > 0);
    }

    fn add(&mut self, pod: &Pod) {
        match pod.state {
            State::Waiting => self.allocating.add_all(&pod.requests),
            State::On(number) => {
                self.allocated.add_all(&pod.requests);
                if let Some(place) = self.places.get_mut(index(number)) {
                    place.requested.add_all(&pod.requests);
                    place.pods = place.pods.saturating_add(1);
                }
            }
            State::Finished(number) => {
                if let Some(place) = self.places.get_mut(index(number)) {
                    place.pods = place.pods.saturating_add(1);
                }
            }
        }
    }

    fn take(&mut self, pod: &Pod) {
        let number = match pod.state {
            State::Waiting => return self.allocating.take_all(&pod.requests),
            State::On(number) => {
                self.allocated.take_all(&pod.requests);
                if let Some(place) = self.places.get_mut(index(number)) {
                    place.requested.take_all(&pod.requests);
                }
                number
            }
            State::Finished(number) => number,
        };
        if let Some(place) = self.places.get_mut(index(number)) {
            place.pods = place.pods.saturating_sub(1);
        }
        self.give_up(number);
    }
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// A pod's uid as a number: sixteen bytes instead of a text of its own for each of thousands.
fn pod_id(pod: &Object) -> PodId {
    let uid = pod.uid();
    let mut digits = 0_u32;
    let mut id: u128 = 0;
    for digit in uid.bytes().filter(|byte| *byte != b'-') {
        let Some(value) = char::from(digit).to_digit(16) else {
            return fallback_id(pod);
        };
        id = (id << 4) | u128::from(value);
        digits += 1;
    }
    if digits == 32 { id } else { fallback_id(pod) }
}

/// For uids that are no UUIDs: FNV-1a over uid, namespace and name.
fn fallback_id(pod: &Object) -> PodId {
    const OFFSET_BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let texts = [pod.uid(), "/", pod.namespace(), "/", pod.name()];
    texts
        .iter()
        .flat_map(|text| text.bytes())
        .fold(OFFSET_BASIS, |hash, byte| {
            (hash ^ u128::from(byte)).wrapping_mul(PRIME)
        })
}
