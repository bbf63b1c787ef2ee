//! The scheduler: pods without a node get one that has room and suits them, or are told why none does.
//!
//! Reads:  pods, nodes, claims.
//! Writes: the node of a pod; the condition of a pod that finds none.
//! Keeps:  no node is asked for more than it has, and no port of a node is given twice.

mod affinity;
mod fit;
mod plan;
mod ports;
mod requests;

use std::sync::Arc;

use object::Object;

pub(crate) use plan::NO_PORTS;
pub(crate) use ports::ports_of;

use crate::engine::action::Plan;
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};
use crate::read;

pub(crate) use fit::{first_untolerated, suits};
use plan::{Inputs, Standing};
pub(crate) use requests::{Amounts, allocatable, requests_of};

pub(crate) const CONTROLLER: Controller = Controller {
    name: "scheduler",
    component: "default-scheduler",
    wakes,
    plan,
};

/// A new pod without a node, a node or claim that changed, or a pod that left room.
fn wakes(seen: &Seen, mirror: &Mirror, keys: &mut Vec<Arc<str>>) {
    let is_waiting = || mirror.pods_on("").next().is_some();
    let wakes = match seen.kind {
        Kind::Pod => match &seen.after {
            Some(pod) => {
                let is_new = seen.before.is_none() || !has_gates(pod);
                (read::node_of(pod).is_empty() && is_new) || (read::has_ended(pod) && is_waiting())
            }
            None => is_waiting(),
        },
        Kind::Node | Kind::PersistentVolumeClaim => is_waiting(),
        _ => false,
    };
    if wakes {
        keys.push(Arc::from(""));
    }
}

fn plan(view: &View<'_>, _: &str) -> Plan {
    let waiting: Vec<&Arc<Object>> = view
        .mirror
        .pods_on("")
        .map(|(_, pod)| pod)
        .filter(|pod| read::is_active(pod) && !has_gates(pod))
        .collect();
    if waiting.is_empty() {
        return Plan::default();
    }
    let nodes: Vec<&Arc<Object>> = view.mirror.all(Kind::Node).map(|(_, node)| node).collect();
    let pods_on = |node: &str| -> Vec<&Arc<Object>> {
        let pods = view.mirror.pods_on(node).map(|(_, pod)| pod);
        pods.filter(|pod| !read::has_ended(pod)).collect()
    };
    let claim = |key: &str| match view.mirror.find(Kind::PersistentVolumeClaim, key) {
        None => Standing::Missing,
        Some(claim) if claim.is_terminating() => Standing::Going,
        Some(claim) if read::phase(claim) == "Bound" => Standing::Bound,
        Some(_) => Standing::Unbound,
    };
    plan::plan(&Inputs {
        claim: &claim,
        waiting: &waiting,
        nodes: &nodes,
        pods_on: &pods_on,
        now: view.now,
    })
}

/// Whether somebody holds the pod back from being placed.
fn has_gates(pod: &Object) -> bool {
    !read::list(pod, &["spec", "schedulingGates"]).is_empty()
}
