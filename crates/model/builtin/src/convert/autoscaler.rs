//! The two versions of an autoscaler. The first knows only CPU use; all else is in annotations there, in the
//! field names of that time.

use object::{Map, Value};
use serde_json::json;

use crate::{
    defaults::{apply_to_type, cpu_metric},
    path,
};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// CPU use aimed at where nothing is said, in percent.
const CPU_PERCENT: i64 = 80;

/// An autoscaler of `autoscaling/v1` as one of `autoscaling/v2`.
#[must_use]
pub fn autoscaler_to_v2(autoscaler: &Value) -> Value {
    let mut object = autoscaler.clone();
    let Value::Object(fields) = &mut object else {
        return object;
    };
    fields.insert("apiVersion".to_owned(), Value::from("autoscaling/v2"));
    let mut saved = take_annotations(fields);
    let mut metrics: Vec<Value> = saved
        .take_list(METRICS)
        .iter()
        .map(|metric| metric_to_v2(metric, "target"))
        .collect();
    let spec = object_below(fields, "spec");
    if let Some(percent) = spec
        .shift_remove("targetCPUUtilizationPercentage")
        .as_ref()
        .and_then(Value::as_i64)
    {
        metrics.push(cpu_metric(percent));
    }
    if metrics.is_empty() {
        metrics.push(cpu_metric(CPU_PERCENT));
    }
    spec.insert("metrics".to_owned(), Value::Array(metrics));
    if let Some(behavior) = saved.take(BEHAVIOR) {
        spec.insert("behavior".to_owned(), recased(&behavior, lower_first));
    }
    let status = object_below(fields, "status");
    let current_cpu = status.shift_remove("currentCPUUtilizationPercentage");
    let current = saved.take_list(CURRENT_METRICS);
    if !current.is_empty() {
        let current = current
            .iter()
            .map(|metric| metric_to_v2(metric, "current"))
            .collect();
        status.insert("currentMetrics".to_owned(), Value::Array(current));
    } else if let Some(percent) = current_cpu.as_ref().and_then(Value::as_i64) {
        let current = json!({"averageUtilization": percent, "averageValue": "0"});
        let metric = json!({"type": "Resource", "resource": {"name": "cpu", "current": current}});
        status.insert("currentMetrics".to_owned(), json!([metric]));
    }
    if let Some(conditions) = saved.take(CONDITIONS) {
        status.insert("conditions".to_owned(), conditions);
    }
    show_status("io.k8s.api.autoscaling.v2", &mut object);
    object
}

/// An autoscaler of `autoscaling/v2` as one of `autoscaling/v1`.
#[must_use]
pub fn autoscaler_to_v1(autoscaler: &Value) -> Value {
    let mut object = autoscaler.clone();
    let Value::Object(fields) = &mut object else {
        return object;
    };
    fields.insert("apiVersion".to_owned(), Value::from("autoscaling/v1"));
    take_annotations(fields);
    let mut annotations = Map::new();

    let spec = object_below(fields, "spec");
    let metrics = spec.shift_remove("metrics");
    let (cpu, others): (Vec<&Value>, Vec<&Value>) = elements(metrics.as_ref())
        .iter()
        .partition(|metric| is_cpu(metric));
    if let Some(percent) = cpu
        .first()
        .and_then(|metric| path::at(metric, "resource.target.averageUtilization"))
    {
        spec.insert("targetCPUUtilizationPercentage".to_owned(), percent.clone());
    }
    let others: Vec<Value> = others
        .into_iter()
        .map(|metric| metric_to_v1(metric, "target"))
        .collect();
    save(&mut annotations, METRICS, Value::Array(others));
    if let Some(behavior) = spec.shift_remove("behavior") {
        save(&mut annotations, BEHAVIOR, recased(&behavior, upper_first));
    }

    let status = object_below(fields, "status");
    let current = status.shift_remove("currentMetrics");
    let current = elements(current.as_ref());
    let cpu = current.iter().find(|metric| {
        path::text(metric, "type") == "Resource" && path::text(metric, "resource.name") == "cpu"
    });
    if let Some(percent) =
        cpu.and_then(|metric| path::at(metric, "resource.current.averageUtilization"))
    {
        status.insert(
            "currentCPUUtilizationPercentage".to_owned(),
            percent.clone(),
        );
    }
    let current: Vec<Value> = current
        .iter()
        .map(|metric| metric_to_v1(metric, "current"))
        .collect();
    save(&mut annotations, CURRENT_METRICS, Value::Array(current));
    if let Some(conditions) = status.shift_remove("conditions") {
        save(&mut annotations, CONDITIONS, conditions);
    }
    if !annotations.is_empty() {
        let metadata = object_below(fields, "metadata");
        object_below(metadata, "annotations").extend(annotations);
    }
    show_status("io.k8s.api.autoscaling.v1", &mut object);
    object
}

/// Each version shows other numbers of a status that says nothing, and typed clients refuse one without them.
fn show_status(package: &str, autoscaler: &mut Value) {
    if let Some(status) = autoscaler.get_mut("status") {
        apply_to_type(&format!("{package}.HorizontalPodAutoscalerStatus"), status);
    }
}

/// What was saved in annotations.
struct Saved(Map);

impl Saved {
    /// The value saved under `key`; text that is no JSON counts as nothing.
    fn take(&mut self, key: &str) -> Option<Value> {
        let saved = self.0.shift_remove(key)?;
        serde_json::from_str(saved.as_str()?)
            .ok()
            .filter(|value: &Value| !value.is_null())
    }

    fn take_list(&mut self, key: &str) -> Vec<Value> {
        match self.take(key) {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        }
    }
}

fn take_annotations(fields: &mut Map) -> Saved {
    let metadata = fields.get_mut("metadata").and_then(Value::as_object_mut);
    let Some(annotations) = metadata.and_then(|metadata| metadata.get_mut("annotations")) else {
        return Saved(Map::new());
    };
    let Some(annotations) = annotations.as_object_mut() else {
        return Saved(Map::new());
    };
    let keys = [METRICS, CURRENT_METRICS, CONDITIONS, BEHAVIOR];
    Saved(
        keys.iter()
            .filter_map(|key| Some(((*key).to_owned(), annotations.shift_remove(*key)?)))
            .collect(),
    )
}

fn save(annotations: &mut Map, key: &str, value: Value) {
    if value.as_array().is_none_or(|items| !items.is_empty()) && !value.is_null() {
        annotations.insert(key.to_owned(), Value::String(value.to_string()));
    }
}

/// The field of a metric that has its particulars, by type.
fn part(metric: &Value) -> Option<&'static str> {
    Some(match path::text(metric, "type") {
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        "Pods" => "pods",
        "Object" => "object",
        "External" => "external",
        _ => return None,
    })
}

/// Where the first version has the values that the second has below `target` or `current`: `side` says which.
fn value_names(part: &str, side: &str) -> [(&'static str, &'static str); 3] {
    match (part, side) {
        ("object", "target") => [
            ("targetValue", "value"),
            ("averageValue", "averageValue"),
            ("", ""),
        ],
        ("object", _) => [
            ("currentValue", "value"),
            ("averageValue", "averageValue"),
            ("", ""),
        ],
        (_, "target") => [
            ("targetValue", "value"),
            ("targetAverageValue", "averageValue"),
            ("targetAverageUtilization", "averageUtilization"),
        ],
        _ => [
            ("currentValue", "value"),
            ("currentAverageValue", "averageValue"),
            ("currentAverageUtilization", "averageUtilization"),
        ],
    }
}

fn metric_to_v2(metric: &Value, side: &'static str) -> Value {
    let Some(part) = part(metric) else {
        return metric.clone();
    };
    let old = metric.get(part).unwrap_or(&Value::Null);
    let mut values = Map::new();
    for (before, after) in value_names(part, side) {
        if let Some(value) = old.get(before).filter(|value| !value.is_null()) {
            values.insert(after.to_owned(), value.clone());
        }
    }
    if side == "target" {
        let ty = match part {
            "resource" | "containerResource" if values.contains_key("averageUtilization") => {
                "Utilization"
            }
            "external" if values.contains_key("value") => "Value",
            "object" if !values.contains_key("averageValue") => "Value",
            _ => "AverageValue",
        };
        values.insert("type".to_owned(), Value::from(ty));
    }
    let mut new = Map::new();
    new.insert(side.to_owned(), Value::Object(values));
    match part {
        "resource" | "containerResource" => copy(
            old,
            &mut new,
            &[("name", "name"), ("container", "container")],
        ),
        _ => {
            let mut identity = Map::new();
            copy(
                old,
                &mut identity,
                &[
                    ("metricName", "name"),
                    ("selector", "selector"),
                    ("metricSelector", "selector"),
                ],
            );
            new.insert("metric".to_owned(), Value::Object(identity));
            copy(old, &mut new, &[("target", "describedObject")]);
        }
    }
    json!({"type": path::text(metric, "type"), part: new})
}

fn metric_to_v1(metric: &Value, side: &'static str) -> Value {
    let Some(part) = part(metric) else {
        return metric.clone();
    };
    let new = metric.get(part).unwrap_or(&Value::Null);
    let values = new.get(side).unwrap_or(&Value::Null);
    let mut old = Map::new();
    for (before, after) in value_names(part, side) {
        if let Some(value) = values.get(after).filter(|value| !value.is_null()) {
            old.insert(before.to_owned(), value.clone());
        }
    }
    let selector = if part == "external" {
        "metricSelector"
    } else {
        "selector"
    };
    match part {
        "resource" | "containerResource" => copy(
            new,
            &mut old,
            &[("name", "name"), ("container", "container")],
        ),
        _ => {
            let identity = new.get("metric").unwrap_or(&Value::Null);
            copy(
                identity,
                &mut old,
                &[("name", "metricName"), ("selector", selector)],
            );
            copy(new, &mut old, &[("describedObject", "target")]);
        }
    }
    json!({"type": path::text(metric, "type"), part: old})
}

fn copy(from: &Value, to: &mut Map, names: &[(&str, &str)]) {
    for (before, after) in names {
        if let Some(value) = from.get(before).filter(|value| !value.is_null()) {
            to.insert((*after).to_owned(), value.clone());
        }
    }
}

fn is_cpu(metric: &Value) -> bool {
    path::text(metric, "type") == "Resource"
        && path::text(metric, "resource.name") == "cpu"
        && path::is_set(metric, "resource.target.averageUtilization")
}

fn elements(list: Option<&Value>) -> &[Value] {
    list.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The object below a field, made where there is none.
fn object_below<'a>(fields: &'a mut Map, name: &str) -> &'a mut Map {
    let value = fields.entry(name).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    value
        .as_object_mut()
        .expect("invariant: it was made an object above")
}

/// The saved behaviour has field names with a capital, as the program wrote it that saved it first.
fn recased(value: &Value, case: fn(&str) -> String) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(name, value)| (case(name), recased(value, case)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(|item| recased(item, case)).collect()),
        other => other.clone(),
    }
}

fn upper_first(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

fn lower_first(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(letters).collect()
    })
}
