//! Pods leave nodes whose taints they do not bear.
//!
//! Reads:  nodes and their pods.
//! Writes: deletions of pods.
//! Keeps:  a pod that bears a taint for a while stays for that while.

use std::sync::Arc;

use object::time::Time;
use object::{Object, Value};

use crate::engine::action::{Plan, Writer};
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};
use crate::read;

pub(crate) const CONTROLLER: Controller = Controller {
    name: "taint eviction",
    component: "taint-eviction-controller",
    wakes,
    plan,
};

fn wakes(seen: &Seen, mirror: &Mirror, keys: &mut Vec<Arc<str>>) {
    let node = match seen.kind {
        Kind::Node => Some(seen.key.to_string()),
        Kind::Pod => seen.after.as_ref().map(|pod| read::node_of(pod).to_owned()),
        _ => None,
    };
    let is_tainted = |node: &Object| {
        read::list(node, &["spec", "taints"])
            .iter()
            .any(|taint| read::text(taint, "effect") == "NoExecute")
    };
    if let Some(node) = node
        && mirror
            .find(Kind::Node, &node)
            .is_some_and(|node| is_tainted(node))
    {
        keys.push(node.into());
    }
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    let mut plan = Plan::default();
    let Some(node) = view.mirror.find(Kind::Node, key) else {
        return plan;
    };
    let taints: Vec<&Value> = read::list(node, &["spec", "taints"])
        .iter()
        .filter(|taint| read::text(taint, "effect") == "NoExecute")
        .collect();
    for (_, pod) in view.mirror.pods_on(key) {
        if pod.is_terminating() {
            continue;
        }
        let leaves = taints
            .iter()
            .filter_map(|taint| leaves_at(pod, taint, view.now))
            .min();
        match leaves {
            Some(time) if time <= view.now => {
                let message = "Marking for deletion Pod by taint manager".to_owned();
                plan.report(pod, Writer::Controllers, "TaintManagerEviction", message);
                plan.delete(Kind::Pod, pod);
            }
            Some(time) => plan.wake_at(time),
            None => {}
        }
    }
    plan
}

/// When a pod leaves because of a taint; `None` if it stays for ever.
fn leaves_at(pod: &Object, taint: &Value, now: Time) -> Option<Time> {
    let since = read::time(taint, "timeAdded").unwrap_or(now);
    let borne: Vec<&Value> = read::list(pod, &["spec", "tolerations"])
        .iter()
        .filter(|toleration| {
            let of = |name: &str| read::text(toleration, name);
            matches!(of("effect"), "" | "NoExecute")
                && (of("key").is_empty() || of("key") == read::text(taint, "key"))
                && (of("operator") == "Exists" || of("value") == read::text(taint, "value"))
        })
        .collect();
    if borne.is_empty() {
        return Some(now);
    }
    if borne
        .iter()
        .any(|toleration| toleration.get("tolerationSeconds").is_none())
    {
        return None;
    }
    let seconds = borne
        .iter()
        .filter_map(|toleration| toleration.get("tolerationSeconds")?.as_i64())
        .min()?;
    Some(since.plus_seconds(seconds.max(0)))
}
