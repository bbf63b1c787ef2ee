//! What is known of a template, as one value: the same for people and programs.

use std::collections::BTreeSet;

use api::names::cluster_of_execution_space;
use api::well_known::annotations::{
    CLUSTER_PROPAGATION_POLICY_NAME, PROPAGATION_POLICY_NAME, PROPAGATION_POLICY_NAMESPACE,
};
use api::well_known::labels::{CLAIMED_BY, permanent_id as ids};
use object::Object;
use serde_json::{Value, json};

/// What an explanation is made from.
pub(super) struct Facts<'a> {
    pub(super) template: &'a Object,
    pub(super) binding: Option<&'a Object>,
    pub(super) works: &'a [Object],
}

/// The label and its value by which the works of a binding are known.
pub(super) fn permanent_id(binding: &Object) -> Option<(&'static str, &str)> {
    let id = |label: &'static str| Some((label, binding.label(label)?));
    id(ids::RESOURCE_BINDING).or_else(|| id(ids::CLUSTER_RESOURCE_BINDING))
}

/// Whether a binding is that of the template.
pub(super) fn is_about(binding: &Object, template: &Object) -> bool {
    let group = |api_version: &str| {
        let group = api_version.split_once('/').map(|(group, _)| group);
        group.unwrap_or_default().to_owned()
    };
    let about = binding.text_at(&["spec", "resource", "apiVersion"]);
    group(about.unwrap_or_default()) == group(template.api_version())
}

/// Everything in one value; `policy` and `binding` are null if there is none.
pub(super) fn tell(facts: &Facts<'_>) -> Value {
    let template = facts.template;
    json!({
        "template": {
            "apiVersion": template.api_version(),
            "kind": template.kind(),
            "namespace": template.namespace(),
            "name": template.name(),
            "generation": template.generation(),
        },
        "policy": policy(template),
        "binding": facts.binding.map(binding),
        "clusters": clusters(facts),
    })
}

fn policy(template: &Object) -> Value {
    if let Some(name) = template.annotation(PROPAGATION_POLICY_NAME) {
        return json!({
            "kind": "PropagationPolicy",
            "namespace": template.annotation(PROPAGATION_POLICY_NAMESPACE),
            "name": name,
            "permanentID": template.label(ids::PROPAGATION_POLICY),
        });
    }
    if let Some(name) = template.annotation(CLUSTER_PROPAGATION_POLICY_NAME) {
        return json!({
            "kind": "ClusterPropagationPolicy",
            "name": name,
            "permanentID": template.label(ids::CLUSTER_PROPAGATION_POLICY),
        });
    }
    let other = template.label(CLAIMED_BY);
    other.map_or(Value::Null, |kind| json!({"kind": kind}))
}

fn binding(binding: &Object) -> Value {
    let at = |path: &[&str]| binding.at(path).cloned().unwrap_or_default();
    json!({
        "kind": binding.kind(),
        "namespace": binding.namespace(),
        "name": binding.name(),
        "generation": binding.generation(),
        "replicas": at(&["spec", "replicas"]),
        "schedulerObservedGeneration": at(&["status", "schedulerObservedGeneration"]),
        "affinity": at(&["status", "schedulerObservingAffinityName"]),
        "lastScheduledTime": at(&["status", "lastScheduledTime"]),
        "conditions": at(&["status", "conditions"]),
    })
}

/// A part for each cluster that is a target, has a work or has reported a status, by name.
fn clusters(facts: &Facts<'_>) -> Vec<Value> {
    let list = |path: &[&str]| -> Vec<&Value> {
        let found = facts.binding.and_then(|binding| binding.at(path));
        found
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .collect()
    };
    let (targets, statuses) = (
        list(&["spec", "clusters"]),
        list(&["status", "aggregatedStatus"]),
    );
    let named = |items: &[&Value], field: &str| -> Vec<String> {
        let names = items.iter().filter_map(|item| item[field].as_str());
        names.map(str::to_owned).collect()
    };
    let mut names: BTreeSet<String> = named(&targets, "name").into_iter().collect();
    names.extend(named(&statuses, "clusterName"));
    let places = facts.works.iter().map(Object::namespace);
    names.extend(
        places
            .filter_map(cluster_of_execution_space)
            .map(str::to_owned),
    );
    let part = |name: String| {
        let target = targets
            .iter()
            .find(|target| target["name"] == name.as_str());
        let status = statuses
            .iter()
            .find(|item| item["clusterName"] == name.as_str());
        let works = facts
            .works
            .iter()
            .filter(|work| cluster_of_execution_space(work.namespace()) == Some(name.as_str()));
        let works = works.map(|work| {
            json!({
                "namespace": work.namespace(),
                "name": work.name(),
                "conditions": work.at(&["status", "conditions"]),
            })
        });
        json!({
            "name": name,
            "target": target.is_some(),
            "replicas": target.map(|target| target["replicas"].clone()),
            "works": works.collect::<Vec<Value>>(),
            "applied": status.map(|item| item["applied"].clone()),
            "appliedMessage": status.map(|item| item["appliedMessage"].clone()),
            "health": status.map(|item| item["health"].clone()),
            "status": status.map(|item| item["status"].clone()),
        })
    };
    names.into_iter().map(part).collect()
}
