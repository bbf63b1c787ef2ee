//! What is written for a rebalancer.

use std::collections::BTreeMap;

use api::apps::WorkloadRebalancer;
use failover::rebalance::rebalance;
use intent::{Action, Part, Plan};
use object::{Object, ObjectKey, time::Time};
use serde_json::json;

use crate::{binding_view, kinds};

/// Everything the decision may look at.
#[derive(Clone, Debug)]
pub struct Inputs<'a> {
    /// The rebalancer.
    pub object: &'a Object,
    /// The same, read.
    pub rebalancer: &'a WorkloadRebalancer,
    /// The bindings that exist, and since when a fresh decision has been asked of each.
    pub triggered: &'a BTreeMap<ObjectKey, Option<Time>>,
    /// Now.
    pub now: Time,
}

/// Triggers the workloads, tells what came of each, and deletes the rebalancer when its time is up.
#[must_use]
pub fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    if inputs.object.is_terminating() {
        return plan;
    }
    let found = rebalance(inputs.rebalancer, inputs.triggered, inputs.now);
    for (binding, since) in found.trigger {
        plan.push(Action::Patch {
            resource: binding_view::resource(&binding.namespace),
            key: binding,
            uid: None,
            revision: None,
            patch: json!({"spec": {"rescheduleTriggeredAt": since}}),
            part: Part::Object,
        });
    }
    let resource = kinds::of::<WorkloadRebalancer>();
    if found.status != inputs.rebalancer.status {
        plan.push(Action::Patch {
            resource: resource.clone(),
            key: inputs.object.key(),
            uid: Some(inputs.object.uid().to_owned()),
            revision: None,
            patch: json!({ "status": found.status }),
            part: Part::Status,
        });
    }
    match found.delete_at {
        Some(time) if time <= inputs.now => plan.push(Action::delete(
            resource,
            inputs.object,
            "it has finished, and its time to live is over",
        )),
        Some(time) => plan.wake_at(time),
        None => {}
    }
    plan
}
