//! What is written for what autoscalers of members scale.

use std::borrow::Cow;

use api::well_known::labels::{RETAIN_REPLICAS, TRUE};
use intent::{Action, Part, Plan};
use object::{Object, ResourceType, Value};
use policy::Holder;
use serde_json::json;

use super::keys::is_marked;

/// Under which name marks are put on templates: what stands under another is somebody else's and stays.
const MANAGER: &str = "hpa-scale-target-marker";

/// Whether a policy has claimed an autoscaler, so that members have it.
#[must_use]
pub fn is_propagated(autoscaler: &Object) -> bool {
    Holder::of(autoscaler).is_some()
}

/// Marks a template that members scale; takes back the mark of one that they no longer do.
#[must_use]
pub fn mark(resource: &ResourceType, template: &Object, is_scaled: bool) -> Plan {
    let mut plan = Plan::default();
    if is_marked(template) == is_scaled || template.is_terminating() {
        return plan;
    }
    let labels = if is_scaled {
        json!({ RETAIN_REPLICAS: TRUE })
    } else {
        json!({})
    };
    let declared = json!({
        "apiVersion": template.api_version(),
        "kind": template.kind(),
        "metadata": {
            "namespace": template.namespace(),
            "name": template.name(),
            "uid": template.uid(),
            "labels": labels,
        },
    });
    let Ok(object) = Object::from_value(declared) else {
        return plan; // A template in view has a kind and a name.
    };
    plan.push(Action::Apply {
        resource: resource.clone(),
        object,
        manager: Cow::Borrowed(MANAGER),
        force: true,
        part: Part::Object,
    });
    plan
}

/// Gives a Deployment the replicas that members have, if it is divided among them and they have all reported.
#[must_use]
pub fn follow(resource: &ResourceType, deployment: &Object, binding: &Object) -> Plan {
    let mut plan = Plan::default();
    if !is_marked(deployment) || deployment.is_terminating() || !is_divided(binding) {
        return plan;
    }
    let wanted = number(deployment, &["spec", "replicas"]);
    let found = number(deployment, &["status", "replicas"]).unwrap_or_default();
    if wanted == Some(found) || !has_settled(wanted, found, binding) {
        return plan;
    }
    plan.push(Action::patch(
        resource.clone(),
        deployment,
        json!({"spec": {"replicas": found}}),
        Part::Object,
    ));
    plan
}

/// Whether a binding's replicas are shared out.
fn is_divided(binding: &Object) -> bool {
    let path = [
        "spec",
        "placement",
        "replicaScheduling",
        "replicaSchedulingType",
    ];
    binding.text_at(&path) == Some("Divided")
}

/// Whether what a Deployment says of its replicas is what members made of the last decision: the binding wants as many,
/// the scheduler has seen it, every cluster of it has reported some, and the Deployment says their sum.
fn has_settled(wanted: Option<i64>, found: i64, binding: &Object) -> bool {
    let items = |path: &[&str]| {
        let items = binding.at(path).and_then(Value::as_array);
        items.map(Vec::as_slice).unwrap_or_default().to_vec()
    };
    let is_decided = wanted.is_some()
        && wanted == Some(number(binding, &["spec", "replicas"]).unwrap_or_default())
        && number(binding, &["status", "schedulerObservedGeneration"])
            == Some(binding.generation());
    if !is_decided {
        return false;
    }
    let reports = items(&["status", "aggregatedStatus"]);
    if reports.len() != items(&["spec", "clusters"]).len() {
        return false;
    }
    let mut sum = 0_i64;
    for report in &reports {
        let replicas = report
            .pointer("/status/replicas")
            .and_then(Value::as_i64)
            .unwrap_or_default();
        // An autoscaler never goes down to none: a cluster without any has not reported.
        if replicas <= 0 {
            return false;
        }
        sum = sum.saturating_add(replicas);
    }
    sum == found
}

fn number(object: &Object, path: &[&str]) -> Option<i64> {
    object.at(path).and_then(Value::as_i64)
}
