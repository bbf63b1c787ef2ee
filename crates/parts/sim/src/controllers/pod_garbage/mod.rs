//! Pods whose node is gone are taken away.
//!
//! Reads:  pods, nodes.
//! Writes: the status of such pods, that they have failed; then their deletion.
//! Keeps:  a node may be away for a moment, as one that is made anew is, and keeps its pods.

use std::sync::Arc;

use object::time::Time;
use object::{Object, Value};
use serde_json::json;

use crate::engine::action::{Action, Plan, Target, Writer};
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};
use crate::read;

pub(crate) const CONTROLLER: Controller = Controller {
    name: "pod garbage",
    component: "pod-garbage-collector",
    wakes,
    plan,
};

/// So long a node must be away before its pods are given up. Upstream's.
const QUARANTINE: i64 = 40;

fn wakes(seen: &Seen, mirror: &Mirror, keys: &mut Vec<Arc<str>>) {
    let node = match (seen.kind, &seen.after) {
        (Kind::Node, None) => &*seen.key,
        (Kind::Pod, Some(pod)) => read::node_of(pod),
        _ => return,
    };
    if !node.is_empty() && mirror.find(Kind::Node, node).is_none() {
        keys.push(node.into());
    }
}

fn plan(view: &View<'_>, node: &str) -> Plan {
    let mut plan = Plan::default();
    if node.is_empty() || view.mirror.find(Kind::Node, node).is_some() {
        return plan;
    }
    let mut pods = view.mirror.pods_on(node).map(|(_, pod)| &**pod).peekable();
    if pods.peek().is_none() {
        return plan;
    }
    let since = view.noted.and_then(Value::as_i64);
    let since = since.map_or(view.now, Time::from_unix_seconds);
    plan.note = Some(json!(since.unix_seconds()));
    let due = since.plus_seconds(QUARANTINE);
    if view.now < due {
        plan.wake_at(due);
        return plan;
    }
    for pod in pods {
        take_away(&mut plan, pod, view.now);
    }
    plan
}

/// First it has failed, then it is gone: whoever counts pods sees how it ended.
fn take_away(plan: &mut Plan, pod: &Object, now: Time) {
    if read::has_ended(pod) {
        plan.actions.push(Action::Delete {
            of: Target::any(Kind::Pod, pod),
            grace: Some(0),
            propagation: None,
            by: Writer::Controllers,
        });
        return;
    }
    let mut conditions = read::conditions(pod);
    let condition = json!({
        "type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC",
        "message": "PodGC: node no longer exists",
    });
    read::put_condition(&mut conditions, condition, now);
    let mut status = pod.at(&["status"]).cloned().unwrap_or_else(|| json!({}));
    if let Some(fields) = status.as_object_mut() {
        fields.insert("phase".to_owned(), json!("Failed"));
        fields.insert("conditions".to_owned(), conditions.into());
    }
    plan.status(Kind::Pod, pod, status, Writer::Controllers);
}
