//! The nodes of a member and what is on them, kept current change by change.
//!
//! Of a pod a few numbers are kept, of a node what decides who may go there; the objects themselves are dropped as they
//! are read. Asking costs a pass over the nodes once after each change, and nothing while nothing changes.
//!
//! Invariant: the nodes are those of a fresh count over what is held, in whatever order nodes and pods came and went.

use std::{collections::BTreeMap, sync::Arc};

use api::kubernetes::ResourceList;
use object::{Object, Value, parse, time::Time};

use crate::{
    nodes::{Load, Node, NodeTraits},
    pod,
    resource::Amounts,
};

/// Where a node is, for spreading sets over zones.
const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";

/// The nodes and pods of one member.
#[derive(Debug, Default)]
pub struct Inventory {
    nodes: BTreeMap<String, Offer>,
    /// What pods hold, by node; also of nodes nobody has seen yet.
    loads: BTreeMap<String, Load>,
    pods: BTreeMap<String, Pod>,
    /// `None` when something changed since it was made.
    counted: Option<Arc<[Node]>>,
}

/// What a node says of itself.
#[derive(Debug, PartialEq)]
struct Offer {
    traits: NodeTraits,
    allocatable: ResourceList,
}

/// All that is kept of a pod.
#[derive(Debug, PartialEq)]
enum Pod {
    /// It holds room on a node.
    On { node: String, requests: Amounts },
    /// It found no node since then; its owner's uid says whose it is.
    Unplaced { owner: Box<str>, since: Time },
}

impl Inventory {
    /// Takes a node in as it is now.
    pub fn set_node(&mut self, node: &Object) {
        let offer = Offer::read(node);
        if self.nodes.get(node.name()) != Some(&offer) {
            self.nodes.insert(node.name().to_owned(), offer);
            self.counted = None;
        }
    }

    /// Forgets a node.
    pub fn remove_node(&mut self, name: &str) {
        if self.nodes.remove(name).is_some() {
            self.counted = None;
        }
    }

    /// Takes a pod in as it is now.
    pub fn set_pod(&mut self, pod: &Object) {
        let now = Pod::read(pod);
        if self.pods.get(pod.uid()) == now.as_ref() {
            return;
        }
        self.take_away(pod.uid());
        let Some(now) = now else { return };
        if let Pod::On { node, requests } = &now {
            let load = self.loads.entry(node.clone()).or_default();
            load.requested.add(requests, 1);
            load.pods = load.pods.saturating_add(1);
            self.counted = None;
        }
        self.pods.insert(pod.uid().to_owned(), now);
    }

    /// Forgets a pod.
    pub fn remove_pod(&mut self, pod: &Object) {
        self.take_away(pod.uid());
    }

    /// Forgets all nodes, to be told of them again.
    pub fn clear_nodes(&mut self) {
        self.nodes.clear();
        self.counted = None;
    }

    /// Forgets all pods, to be told of them again.
    pub fn clear_pods(&mut self) {
        self.pods.clear();
        self.loads.clear();
        self.counted = None;
    }

    /// How many nodes and pods there are.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        (self.nodes.len(), self.pods.len())
    }

    /// The nodes and what is left on each, one of each zone after another.
    pub fn nodes(&mut self) -> Arc<[Node]> {
        if let Some(counted) = &self.counted {
            return Arc::clone(counted);
        }
        let counted: Arc<[Node]> = self.count().into();
        self.counted = Some(Arc::clone(&counted));
        counted
    }

    /// How many pods of this owner have found no node for longer than `seconds`.
    #[must_use]
    pub fn unplaced(&self, owner: &str, seconds: i64, now: Time) -> i32 {
        let is_counted = |pod: &&Pod| match pod {
            Pod::Unplaced { owner: of, since } => {
                **of == *owner && since.plus_seconds(seconds.max(0)) < now
            }
            Pod::On { .. } => false,
        };
        let count = self.pods.values().filter(is_counted).count();
        i32::try_from(count).unwrap_or(i32::MAX)
    }

    fn take_away(&mut self, uid: &str) {
        let Some(Pod::On { node, requests }) = self.pods.remove(uid) else {
            return;
        };
        self.counted = None;
        if let Some(load) = self.loads.get_mut(&node) {
            load.requested.take(&requests, 1);
            load.pods = load.pods.saturating_sub(1);
            if load.pods == 0 {
                self.loads.remove(&node);
            }
        }
    }

    fn count(&self) -> Vec<Node> {
        let nothing = Load::default();
        let mut zones: BTreeMap<(&str, &str), Vec<Node>> = BTreeMap::new();
        // From the last name to the first, so that the first is on top.
        for (name, offer) in self.nodes.iter().rev() {
            let label = |key: &str| offer.traits.labels.get(key).map_or("", String::as_str);
            let load = self.loads.get(name).unwrap_or(&nothing);
            let node = Node::new(offer.traits.clone(), &offer.allocatable, load);
            zones
                .entry((label(REGION), label(ZONE)))
                .or_default()
                .push(node);
        }
        let mut counted = Vec::with_capacity(self.nodes.len());
        while counted.len() < self.nodes.len() {
            counted.extend(zones.values_mut().filter_map(Vec::pop));
        }
        counted
    }
}

impl Offer {
    fn read(node: &Object) -> Self {
        let shaped = |path: &[&str]| node.at(path).filter(|value| !value.is_null());
        let labels = node.labels().into_iter();
        let taints = shaped(&["spec", "taints"]).and_then(|value| parse::shape(value).ok());
        let allocatable =
            shaped(&["status", "allocatable"]).and_then(|value| parse::shape(value).ok());
        Self {
            traits: NodeTraits {
                name: node.name().to_owned(),
                labels: labels
                    .map(|(key, value)| (key.to_owned(), value.to_owned()))
                    .collect(),
                taints: taints.unwrap_or_default(),
                cordoned: shaped(&["spec", "unschedulable"]).and_then(Value::as_bool) == Some(true),
            },
            allocatable: allocatable.unwrap_or_default(),
        }
    }
}

impl Pod {
    /// What is to be kept of a pod; nothing of one that is done, or that nobody has looked at yet.
    fn read(pod: &Object) -> Option<Self> {
        if pod::is_finished(pod) {
            return None;
        }
        if let Some(node) = pod::node(pod) {
            return Some(Self::On {
                node: node.to_owned(),
                requests: pod::requests(pod),
            });
        }
        let since = pod::unschedulable_since(pod)?;
        let owner = pod
            .owner_references()
            .find(|owner| owner.controller == Some(true))?;
        Some(Self::Unplaced {
            owner: owner.uid.into(),
            since,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Assumed, Resource, nodes};

    fn object(json: &str) -> Object {
        let value: Value = serde_json::from_str(json).unwrap();
        Object::from_value(value).unwrap()
    }

    fn node(name: &str, cpu: u32, zone: &str) -> Object {
        object(&format!(
            r#"{{"metadata": {{"name": "{name}", "labels": {{"{ZONE}": "{zone}"}}}},
                "status": {{"allocatable": {{"cpu": "{cpu}", "pods": "10"}}}}}}"#
        ))
    }

    fn pod(uid: u32, node: &str, cpu: u32, phase: &str) -> Object {
        object(&format!(
            r#"{{"metadata": {{"name": "p{uid}", "uid": "{uid}"}},
                "spec": {{"nodeName": "{node}",
                    "containers": [{{"resources": {{"requests": {{"cpu": "{cpu}"}}}}}}]}},
                "status": {{"phase": "{phase}"}}}}"#
        ))
    }

    fn room(inventory: &mut Inventory, cpu: i64) -> i64 {
        let request = Amounts::collect([(Resource::Cpu, cpu * 1000)]);
        nodes::replicas(&inventory.nodes(), Some(&request), None, &Assumed::NOTHING)
    }

    #[test]
    fn pods_take_room_where_they_are_until_they_end() {
        let mut inventory = Inventory::default();
        // A pod may be told of before its node.
        inventory.set_pod(&pod(1, "n1", 3, "Running"));
        inventory.set_node(&node("n1", 8, "a"));
        assert_eq!(room(&mut inventory, 1), 5);
        inventory.set_pod(&pod(2, "", 3, "Pending"));
        inventory.set_pod(&pod(3, "n2", 3, "Running"));
        assert_eq!(room(&mut inventory, 1), 5);
        inventory.set_pod(&pod(2, "n1", 3, "Pending"));
        assert_eq!(room(&mut inventory, 1), 2);
        inventory.set_pod(&pod(1, "n1", 3, "Succeeded"));
        assert_eq!(room(&mut inventory, 1), 5);
        inventory.remove_pod(&pod(2, "n1", 3, "Pending"));
        assert_eq!(room(&mut inventory, 1), 8);
        inventory.set_node(&node("n2", 4, "a"));
        assert_eq!(room(&mut inventory, 1), 9);
        inventory.remove_node("n1");
        assert_eq!(room(&mut inventory, 1), 1);
    }

    #[test]
    fn nodes_are_tried_zone_by_zone_in_turn() {
        let mut inventory = Inventory::default();
        for (name, zone) in [
            ("n1", "a"),
            ("n2", "a"),
            ("n3", "b"),
            ("n4", "c"),
            ("n5", "a"),
        ] {
            inventory.set_node(&node(name, 1, zone));
        }
        let names: Vec<String> = inventory
            .nodes()
            .iter()
            .map(|node| node.name().to_owned())
            .collect();
        assert_eq!(names, ["n1", "n3", "n4", "n2", "n5"]);
    }

    #[test]
    fn a_pod_requests_its_hungriest_moment() {
        let requests =
            |spec: &str| pod::requests(&object(&format!(r#"{{"spec": {spec}}}"#))).to_string();
        let container = |cpu: &str, more: &str| {
            format!(r#"{{"resources": {{"requests": {{"cpu": "{cpu}"}}}}{more}}}"#)
        };
        let (one, three) = (container("1", ""), container("3", ""));
        let sidecar = container("2", r#", "restartPolicy": "Always""#);
        let cases = [
            (format!(r#"{{"containers": [{one}, {one}]}}"#), "cpu 2000m"),
            (
                format!(r#"{{"containers": [{one}], "initContainers": [{three}, {one}]}}"#),
                "cpu 3000m",
            ),
            (
                format!(r#"{{"containers": [{one}], "initContainers": [{sidecar}, {three}]}}"#),
                "cpu 5000m",
            ),
            (
                format!(r#"{{"containers": [{three}], "initContainers": [{sidecar}, {one}]}}"#),
                "cpu 5000m",
            ),
            (
                format!(
                    r#"{{"containers": [{one}], "overhead": {{"cpu": "250m", "memory": "1Ki"}}}}"#
                ),
                "cpu 1250m, memory 1024",
            ),
            (
                format!(
                    r#"{{"containers": [{one}], "resources": {{"requests": {{"cpu": "4"}}}}}}"#
                ),
                "cpu 4000m",
            ),
            (
                r#"{"containers": [{"resources": {"requests": {"cpu": "many"}}}]}"#.to_owned(),
                "",
            ),
            ("{}".to_owned(), ""),
        ];
        for (spec, expected) in cases {
            assert_eq!(requests(&spec), expected, "{spec}");
        }
    }

    proptest! {
        #[test]
        fn counts_do_not_depend_on_the_way_there(
            steps in prop::collection::vec((0_u32..6, 0_usize..4, 0_u32..4, 0_u8..4), 0..60),
        ) {
            let names = ["n0", "n1", "n2", ""];
            let mut inventory = Inventory::default();
            for name in &names[..3] {
                inventory.set_node(&node(name, 9, "a"));
            }
            let mut last: BTreeMap<u32, Object> = BTreeMap::new();
            for (uid, node, cpu, what) in steps {
                let pod = pod(uid, names[node], cpu, if what == 1 { "Failed" } else { "Running" });
                if what == 0 {
                    inventory.remove_pod(&pod);
                    last.remove(&uid);
                } else {
                    inventory.set_pod(&pod);
                    last.insert(uid, pod);
                }
            }
            let mut fresh = Inventory::default();
            last.values().for_each(|pod| fresh.set_pod(pod));
            for name in &names[..3] {
                fresh.set_node(&node(name, 9, "a"));
            }
            prop_assert_eq!(inventory.nodes(), fresh.nodes());
        }
    }
}
