//! Defaults that look at more than one field, by the type they belong to.

use object::{Map, Value};
use serde_json::json;

use super::{plan::is_zero, pod, service, twins, workload};

/// Changes the fields of one value.
pub(super) type Rule = fn(&mut Map);

/// The rules of a type: one that must see what the author left out, and one that looks at what was filled in.
pub(super) fn of(type_name: &str) -> (Option<Rule>, Option<Rule>) {
    let before: Option<Rule> = match type_name {
        "io.k8s.api.apps.v1.StatefulSetUpdateStrategy" => Some(workload::stateful_set_strategy),
        _ => None,
    };
    let after: Option<Rule> = match type_name {
        "io.k8s.api.core.v1.Pod" => Some(pod::pod),
        "io.k8s.api.core.v1.PodSpec" => Some(twins::account),
        "io.k8s.api.core.v1.PodStatus" => Some(twins::addresses),
        "io.k8s.api.core.v1.NodeSpec" => Some(twins::networks),
        "io.k8s.api.core.v1.Container" | "io.k8s.api.core.v1.EphemeralContainer" => {
            Some(pod::container)
        }
        "io.k8s.api.core.v1.Volume" => Some(pod::volume),
        "io.k8s.api.core.v1.Service" => Some(service::service),
        "io.k8s.api.core.v1.ServicePort" => Some(service::port),
        "io.k8s.api.core.v1.Namespace" => Some(namespace),
        "io.k8s.api.core.v1.NodeStatus" => Some(node_status),
        "io.k8s.api.core.v1.LimitRangeItem" => Some(limit_range_item),
        "io.k8s.api.core.v1.ReplicationController" => Some(workload::replication_controller),
        "io.k8s.api.apps.v1.StatefulSetSpec" => Some(workload::stateful_set),
        "io.k8s.api.batch.v1.Job" => Some(workload::job),
        "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec" => Some(workload::autoscaler),
        "io.k8s.api.networking.v1.NetworkPolicySpec" => Some(service::network_policy),
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition" => {
            Some(definition)
        }
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionNames" => {
            Some(definition_names)
        }
        _ => None,
    };
    (before, after)
}

/// Sets a field that is absent, null, zero or empty.
pub(super) fn set_default(fields: &mut Map, name: &str, value: impl Into<Value>) {
    if fields.get(name).is_none_or(is_zero) {
        fields.insert(name.to_owned(), value.into());
    }
}

/// The text of a field; empty where there is none.
pub(super) fn text<'a>(fields: &'a Map, name: &str) -> &'a str {
    fields.get(name).and_then(Value::as_str).unwrap_or("")
}

/// The object below a field.
pub(super) fn below<'a>(fields: &'a mut Map, name: &str) -> Option<&'a mut Map> {
    fields.get_mut(name).and_then(Value::as_object_mut)
}

/// Every namespace carries its name as a label, so that selectors can choose it.
fn namespace(fields: &mut Map) {
    let name = fields
        .get("metadata")
        .and_then(|metadata| metadata.get("name"))
        .and_then(Value::as_str);
    let Some(name) = name.filter(|name| !name.is_empty()).map(str::to_owned) else {
        return;
    };
    if let Some(metadata) = below(fields, "metadata")
        && let Some(labels) = metadata
            .entry("labels")
            .or_insert_with(|| json!({}))
            .as_object_mut()
    {
        labels.insert(
            "kubernetes.io/metadata.name".to_owned(),
            Value::String(name),
        );
    }
}

fn node_status(fields: &mut Map) {
    if let Some(capacity) = fields
        .get("capacity")
        .filter(|value| !is_zero(value))
        .cloned()
    {
        fields.entry("allocatable").or_insert(capacity);
    }
}

/// What a container may use at most is its default limit, which is its default request, as far as none is given.
fn limit_range_item(fields: &mut Map) {
    if text(fields, "type") != "Container" {
        return;
    }
    for (from, to) in [
        ("max", "default"),
        ("default", "defaultRequest"),
        ("min", "defaultRequest"),
    ] {
        let Some(source) = fields.get(from).and_then(Value::as_object).cloned() else {
            continue;
        };
        if let Some(target) = fields
            .entry(to)
            .or_insert_with(|| json!({}))
            .as_object_mut()
        {
            for (resource, amount) in source {
                target.entry(resource).or_insert(amount);
            }
        }
    }
}

/// A new definition stores its objects in its storage version.
fn definition(fields: &mut Map) {
    let versions = fields
        .get("spec")
        .and_then(|spec| spec.get("versions"))
        .and_then(Value::as_array);
    let storage = versions
        .and_then(|versions| {
            versions
                .iter()
                .find(|version| version.get("storage") == Some(&Value::Bool(true)))
        })
        .and_then(|version| version.get("name"))
        .cloned();
    if let (Some(storage), Some(status)) = (storage, below(fields, "status")) {
        set_default(status, "storedVersions", vec![storage]);
    }
}

fn definition_names(fields: &mut Map) {
    let kind = text(fields, "kind").to_owned();
    if kind.is_empty() {
        return;
    }
    set_default(fields, "singular", kind.to_lowercase());
    set_default(fields, "listKind", format!("{kind}List"));
}
