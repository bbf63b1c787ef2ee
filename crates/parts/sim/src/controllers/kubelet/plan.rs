//! What the kubelet of one node does next.

use std::collections::BTreeSet;

use object::Object;
use object::time::Time;

use crate::behaviour::{Ending, Rules};
use crate::controllers::kubelet::pod::{self, Step};
use crate::controllers::node::{address_of, subnet_of};
use crate::engine::action::{Action, Plan, Target, Writer};
use crate::engine::kind::Kind;
use crate::read;

/// Everything the decision may look at.
pub(crate) struct Inputs<'a> {
    pub(crate) node: &'a Object,
    pub(crate) pods: &'a [&'a Object],
    pub(crate) rules: &'a Rules,
    /// Whether a command makes a pod fail.
    pub(crate) is_failing: &'a dyn Fn(&Object) -> bool,
    pub(crate) now: Time,
}

pub(crate) fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    let host = address_of(inputs.node);
    let taken: BTreeSet<&str> = inputs
        .pods
        .iter()
        .filter(|pod| !read::has_ended(pod))
        .filter_map(|pod| pod.text_at(&["status", "podIP"]))
        .collect();
    let mut fresh = free_addresses(inputs.node, &taken).into_iter();
    for pod in inputs.pods {
        let mut behaviour = inputs.rules.behaviour(pod);
        if (inputs.is_failing)(pod) {
            behaviour.ending = Some(Ending { after: 1, code: 1 });
        }
        if pod.is_terminating() {
            end(&mut plan, pod, behaviour.stop, inputs.now);
            continue;
        }
        let known = pod.text_at(&["status", "podIP"]);
        let own_network = pod
            .at(&["spec", "hostNetwork"])
            .and_then(|flag| flag.as_bool())
            != Some(true);
        let address = match known {
            Some(address) => address.to_owned(),
            None if own_network => fresh.next().unwrap_or_default(),
            None => host.clone(),
        };
        let step = pod::step(pod, &behaviour, &host, &address, inputs.now);
        carry(&mut plan, pod, step);
    }
    plan
}

fn carry(plan: &mut Plan, pod: &Object, step: Step) {
    if let Some(time) = step.wake {
        plan.wake_at(time);
    }
    let Some(status) = step.status else { return };
    plan.status(Kind::Pod, pod, status, Writer::Kubelet);
    for (is_warning, reason, message) in step.events {
        if is_warning {
            plan.warn(pod, Writer::Kubelet, reason, message);
        } else {
            plan.report(pod, Writer::Kubelet, reason, message);
        }
    }
}

/// A pod that was asked to go is gone once its containers have stopped, within its grace period.
fn end(plan: &mut Plan, pod: &Object, stop: i64, now: Time) {
    let Some(deadline) = pod.deletion_timestamp() else {
        return;
    };
    let grace = pod
        .integer_at(&["metadata", "deletionGracePeriodSeconds"])
        .unwrap_or(0);
    let gone_at = deadline.plus_seconds(stop.clamp(0, grace) - grace);
    if now < gone_at {
        plan.wake_at(gone_at);
        return;
    }
    for container in read::list(pod, &["spec", "containers"]) {
        let message = format!("Stopping container {}", read::text(container, "name"));
        plan.report(pod, Writer::Kubelet, "Killing", message);
    }
    if pod.finalizers().next().is_some() && grace == 0 {
        // Somebody else holds it; nothing is left for the kubelet to do.
        return;
    }
    plan.actions.push(Action::Delete {
        of: Target::any(Kind::Pod, pod),
        grace: Some(0),
        propagation: None,
        by: Writer::Kubelet,
    });
}

/// Addresses of a node's subnet that no pod has.
fn free_addresses(node: &Object, taken: &BTreeSet<&str>) -> Vec<String> {
    let [a, b, c] = subnet_of(node).unwrap_or([10, 255, 255]);
    let all = (2..=254_u8).map(|last| format!("{a}.{b}.{c}.{last}"));
    all.filter(|address| !taken.contains(address.as_str()))
        .collect()
}
