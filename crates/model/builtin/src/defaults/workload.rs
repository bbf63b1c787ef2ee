//! Defaults of workloads and autoscalers that look at more than one field.

use object::{Map, Value};
use serde_json::json;

use super::{
    plan::is_zero,
    rules::{below, set_default},
};

/// CPU use aimed at by an autoscaler that names no metric, in percent.
const CPU_PERCENT: i64 = 80;

/// Failed pods after which a job counts as failed.
const BACKOFF_LIMIT: i64 = 6;

/// A set that says nothing about updates rolls; one that only names the type keeps its silence.
pub(super) fn stateful_set_strategy(fields: &mut Map) {
    if fields.get("type").is_none_or(is_zero) {
        fields.entry("rollingUpdate").or_insert_with(|| json!({}));
    }
}

/// Claims made for pods say of themselves what they are.
pub(super) fn stateful_set(fields: &mut Map) {
    let claims = fields
        .get_mut("volumeClaimTemplates")
        .and_then(Value::as_array_mut);
    for claim in claims
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        claim.insert("apiVersion".to_owned(), Value::from("v1"));
        claim.insert("kind".to_owned(), Value::from("PersistentVolumeClaim"));
    }
}

/// A controller without a selector or labels takes those of its pods.
pub(super) fn replication_controller(fields: &mut Map) {
    let Some(labels) = template_labels(fields) else {
        return;
    };
    if let Some(spec) = below(fields, "spec") {
        set_default(spec, "selector", labels.clone());
    }
    if let Some(metadata) = below(fields, "metadata") {
        set_default(metadata, "labels", labels);
    }
}

/// Defaults of jobs themselves, which the templates of cron jobs do not get.
pub(super) fn job(fields: &mut Map) {
    if let (Some(labels), Some(metadata)) = (template_labels(fields), below(fields, "metadata")) {
        set_default(metadata, "labels", labels);
    }
    let Some(spec) = below(fields, "spec") else {
        return;
    };
    if !spec.contains_key("completions") && !spec.contains_key("parallelism") {
        spec.insert("completions".to_owned(), Value::from(1));
    }
    // Where failures are counted for each index, their total is no reason to stop.
    let limit = if spec.contains_key("backoffLimitPerIndex") {
        i64::from(i32::MAX)
    } else {
        BACKOFF_LIMIT
    };
    let replacement = if spec.contains_key("podFailurePolicy") {
        "Failed"
    } else {
        "TerminatingOrFailed"
    };
    for (field, value) in [
        ("parallelism", Value::from(1)),
        ("backoffLimit", Value::from(limit)),
        ("completionMode", Value::from("NonIndexed")),
        ("suspend", Value::from(false)),
        ("podReplacementPolicy", Value::from(replacement)),
        ("manualSelector", Value::from(false)),
    ] {
        spec.entry(field).or_insert(value);
    }
}

/// An autoscaler without metrics looks at CPU use; one with a behaviour states both directions of it.
pub(super) fn autoscaler(fields: &mut Map) {
    set_default(fields, "metrics", json!([cpu_metric(CPU_PERCENT)]));
    let Some(behavior) = below(fields, "behavior") else {
        return;
    };
    let up = json!({
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ],
    });
    let down = json!({"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]});
    for (direction, usual) in [("scaleUp", up), ("scaleDown", down)] {
        let rules = behavior.entry(direction).or_insert_with(|| json!({}));
        if let (Some(rules), Value::Object(usual)) = (rules.as_object_mut(), usual) {
            for (field, value) in usual {
                rules.entry(field).or_insert(value);
            }
        }
    }
}

/// A metric that aims at this CPU use.
pub(crate) fn cpu_metric(percent: i64) -> Value {
    json!({
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}},
    })
}

fn template_labels(fields: &Map) -> Option<Value> {
    let labels = fields
        .get("spec")?
        .get("template")?
        .get("metadata")?
        .get("labels")?;
    (!is_zero(labels)).then(|| labels.clone())
}
