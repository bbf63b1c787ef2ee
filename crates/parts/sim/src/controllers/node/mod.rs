//! Nodes: made at the start, kept alive by a lease, marked when their kubelet is silent.
//!
//! Reads:  nodes, their leases and pods, the faults.
//! Writes: nodes that are missing, their status and taints, their leases; that the pods of a silent node are not ready.
//! Keeps:  a node whose lease is not renewed for four heartbeats is not ready and tainted as unreachable, and none of its
//!         pods is ready.

mod plan;
mod status;

use std::sync::Arc;

use crate::engine::action::Plan;
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};

use plan::Inputs;
pub(crate) use status::{address_of, subnet_of};

pub(crate) const CONTROLLER: Controller = Controller {
    name: "node",
    component: "node-controller",
    wakes,
    plan,
};

/// Where nodes' leases are.
pub(crate) const LEASES: &str = "kube-node-lease";

fn wakes(seen: &Seen, _: &Mirror, keys: &mut Vec<Arc<str>>) {
    if seen.kind == Kind::Node {
        keys.push(Arc::clone(&seen.key));
    }
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    if key.is_empty() {
        let known = |name: &str| view.mirror.find(Kind::Node, name).map(|node| &**node);
        return plan::roster(view.shape, view.faults, &known);
    }
    let Some(node) = view.mirror.find(Kind::Node, key) else {
        return Plan::default();
    };
    let lease = view.mirror.find(Kind::Lease, &format!("{LEASES}/{key}"));
    let pods = || view.mirror.pods_on(key).map(|(_, pod)| &**pod).collect();
    plan::plan(&Inputs {
        node,
        lease: lease.map(|lease| &**lease),
        pods: &pods,
        is_lost: view.faults.lost_nodes.contains(key),
        is_full: view.faults.full_nodes.contains(key),
        shape: view.shape,
        now: view.now,
    })
}
