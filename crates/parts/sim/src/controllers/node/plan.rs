//! Which nodes there are, and what is written about each.

use object::time::{MicroTime, Time};
use object::{Object, Value};
use serde_json::json;

use crate::config::Shape;
use crate::controllers::node::{LEASES, status};
use crate::engine::action::{Action, Plan, Target, Writer};
use crate::engine::kind::Kind;
use crate::faults::FaultState;
use crate::read;

/// Marks nodes that were added by command.
const EXTRA: &str = "sim.karavel.io/extra";
/// A node that misses so many heartbeats is given up.
const MISSED_HEARTBEATS: i64 = 4;
/// Kubelets repeat an unchanged status after so many heartbeats.
const STATUS_HEARTBEATS: i64 = 30;
/// What is wrong with a node that is not heard of.
pub(crate) const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// Everything the decision about one node may look at.
pub(crate) struct Inputs<'a> {
    pub(crate) node: &'a Object,
    pub(crate) lease: Option<&'a Object>,
    /// Its pods, looked up when they are needed.
    pub(crate) pods: &'a dyn Fn() -> Vec<&'a Object>,
    /// Its kubelet is silent.
    pub(crate) is_lost: bool,
    /// All its room is taken.
    pub(crate) is_full: bool,
    pub(crate) shape: &'a Shape,
    pub(crate) now: Time,
}

/// Makes the nodes that are missing and takes away those that were added by command and are no longer wanted. A node
/// whose kubelet is silent does not come back by itself.
pub(crate) fn roster<'o>(
    shape: &Shape,
    faults: &FaultState,
    known: &dyn Fn(&str) -> Option<&'o Object>,
) -> Plan {
    let mut plan = Plan::default();
    let wanted = shape.nodes.saturating_add(faults.extra_nodes);
    for place in 0..wanted {
        let name = name_of(shape, place);
        if known(&name).is_none() && !faults.lost_nodes.contains(&name) {
            let mut node = status::node(shape, &name, place);
            if place >= shape.nodes
                && let Some(labels) = node
                    .pointer_mut("/metadata/labels")
                    .and_then(Value::as_object_mut)
            {
                labels.insert(EXTRA.to_owned(), json!("true"));
            }
            plan.actions.push(Action::Create {
                kind: Kind::Node,
                object: node,
                by: Writer::Kubelet,
                tells: None,
            });
        }
    }
    for place in wanted.. {
        let Some(node) = known(&name_of(shape, place)) else {
            break;
        };
        if node.label(EXTRA).is_some() {
            plan.delete(Kind::Node, node);
        }
    }
    plan
}

/// What a member's nodes are called, from 0.
fn name_of(shape: &Shape, place: usize) -> String {
    format!("{}-node-{}", shape.name, place.saturating_add(1))
}

pub(crate) fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    if inputs.node.is_terminating() {
        return plan;
    }
    let renewed = inputs.lease.and_then(|lease| {
        let text = lease.text_at(&["spec", "renewTime"])?;
        Some(text.parse::<MicroTime>().ok()?.to_time())
    });
    let heartbeat = inputs.shape.heartbeat;
    if inputs.is_lost {
        let gives_up = renewed
            .unwrap_or(inputs.now)
            .plus_seconds(heartbeat.saturating_mul(MISSED_HEARTBEATS));
        if inputs.now < gives_up {
            plan.wake_at(gives_up);
            return plan;
        }
        give_up(&mut plan, inputs);
        return plan;
    }
    match renewed {
        None => plan.actions.push(Action::Create {
            kind: Kind::Lease,
            object: lease(inputs),
            by: Writer::Kubelet,
            tells: None,
        }),
        Some(renewed) if inputs.now >= renewed.plus_seconds(heartbeat) => {
            if let Some(lease) = inputs.lease {
                let now = MicroTime::from(inputs.now).to_string();
                plan.actions.push(Action::Merge {
                    of: Target::any(Kind::Lease, lease),
                    patch: json!({"spec": {"renewTime": now}}),
                    by: Writer::Kubelet,
                });
            }
        }
        Some(_) => {}
    }
    let next = renewed.filter(|renewed| inputs.now < renewed.plus_seconds(heartbeat));
    plan.wake_at(next.unwrap_or(inputs.now).plus_seconds(heartbeat));
    attend(&mut plan, inputs);
    plan
}

/// A node that is heard of: ready, with its capacity, without the taint of the unreachable.
fn attend(plan: &mut Plan, inputs: &Inputs<'_>) {
    let node = inputs.node;
    let wanted = status::status(inputs.shape, node, inputs.is_full, inputs.now);
    let said =
        read::condition(node, "Ready").and_then(|ready| read::time(ready, "lastHeartbeatTime"));
    let stale = said.is_none_or(|said| {
        let life = inputs.shape.heartbeat.saturating_mul(STATUS_HEARTBEATS);
        inputs.now >= said.plus_seconds(life)
    });
    if stale || status::differs(&wanted, node) {
        plan.status(Kind::Node, node, wanted, Writer::Kubelet);
    }
    let taints = read::list(node, &["spec", "taints"]);
    if taints.iter().any(is_unreachable) {
        let kept: Vec<&Value> = taints
            .iter()
            .filter(|taint| !is_unreachable(taint))
            .collect();
        plan.merge(Kind::Node, node, json!({"spec": {"taints": kept}}));
    }
}

/// A node that is not heard of: its conditions are unknown, and what does not bear that must go.
fn give_up(plan: &mut Plan, inputs: &Inputs<'_>) {
    let node = inputs.node;
    let mut conditions = read::conditions(node);
    let kinds: Vec<String> = conditions
        .iter()
        .map(|condition| read::text(condition, "type").to_owned())
        .collect();
    for kind in kinds {
        let heartbeat = read::condition(node, &kind)
            .and_then(|condition| condition.get("lastHeartbeatTime").cloned())
            .unwrap_or_default();
        let condition = json!({
            "type": kind, "status": "Unknown", "reason": "NodeStatusUnknown",
            "message": "Kubelet stopped posting node status.", "lastHeartbeatTime": heartbeat,
        });
        read::put_condition(&mut conditions, condition, inputs.now);
    }
    let mut wanted = node.at(&["status"]).cloned().unwrap_or_else(|| json!({}));
    if let Some(fields) = wanted.as_object_mut() {
        fields.insert("conditions".to_owned(), conditions.into());
    }
    if read::condition(node, "Ready").is_none_or(|ready| read::text(ready, "status") != "Unknown") {
        let message = format!("Node {} status is now: NodeNotReady", node.name());
        plan.report(node, Writer::Controllers, "NodeNotReady", message);
        plan.status(Kind::Node, node, wanted, Writer::Controllers);
    }
    let taints = read::list(node, &["spec", "taints"]);
    if !taints.iter().any(is_unreachable) {
        let now = inputs.now.to_string();
        let mut taints = taints.to_vec();
        for effect in ["NoSchedule", "NoExecute"] {
            taints.push(json!({"key": UNREACHABLE, "effect": effect, "timeAdded": now}));
        }
        plan.merge(Kind::Node, node, json!({"spec": {"taints": taints}}));
    }
    for pod in (inputs.pods)() {
        doubt(plan, pod, inputs.now);
    }
}

/// A pod whose kubelet is silent is not ready as far as anybody knows.
fn doubt(plan: &mut Plan, pod: &Object, now: Time) {
    if !read::is_ready(pod) || read::has_ended(pod) {
        return;
    }
    let mut conditions = read::conditions(pod);
    let mut ready = read::condition(pod, "Ready").cloned().unwrap_or_default();
    if let Some(fields) = ready.as_object_mut() {
        fields.insert("status".to_owned(), json!("False"));
    }
    read::put_condition(&mut conditions, ready, now);
    let mut status = pod.at(&["status"]).cloned().unwrap_or_default();
    if let Some(fields) = status.as_object_mut() {
        fields.insert("conditions".to_owned(), conditions.into());
    }
    plan.status(Kind::Pod, pod, status, Writer::Controllers);
    let message = "Node is not ready".to_owned();
    plan.warn(pod, Writer::Controllers, "NodeNotReady", message);
}

fn is_unreachable(taint: &Value) -> bool {
    read::text(taint, "key") == UNREACHABLE
}

fn lease(inputs: &Inputs<'_>) -> Value {
    let name = inputs.node.name();
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {
            "name": name, "namespace": LEASES,
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": name, "uid": inputs.node.uid()}],
        },
        "spec": {
            "holderIdentity": name,
            "leaseDurationSeconds": inputs.shape.heartbeat.saturating_mul(MISSED_HEARTBEATS),
            "renewTime": MicroTime::from(inputs.now).to_string(),
        },
    })
}
