//! The variables of containers: values, and where values come from. What a secret says is never looked up.

use object::quantity::Quantity;
use object::{Object, Value};

use super::containers::{FIELDS, LISTS, Within};
use crate::describe::sheet::Sheet;
use crate::describe::values::{items, plain, text};

/// The variables, and the objects whose entries are variables.
pub(super) fn write(sheet: &mut Sheet, container: &Value, within: &Within<'_>) {
    let whole = items(&container["envFrom"]);
    if !whole.is_empty() {
        sheet.title(FIELDS, "Environment Variables from");
    }
    for one in whole {
        let (kind, source) = match one["configMapRef"].is_object() {
            true => ("ConfigMap", &one["configMapRef"]),
            false => ("Secret", &one["secretRef"]),
        };
        let kind = match text(&one["prefix"]) {
            "" => kind.to_owned(),
            prefix => format!("{kind} with prefix '{prefix}'"),
        };
        let name = text(&source["name"]);
        sheet.line(LISTS, [name, &kind, &optional(source)]);
    }
    let variables = items(&container["env"]);
    match variables.is_empty() {
        true => sheet.field(FIELDS, "Environment", "<none>"),
        false => sheet.title(FIELDS, "Environment"),
    }
    for variable in variables {
        let name = format!("{}:", text(&variable["name"]));
        let source = &variable["valueFrom"];
        if source.is_object() {
            let mut line = vec![name];
            line.extend(reference(source, container, within));
            sheet.line(LISTS, line);
            continue;
        }
        let mut lines = text(&variable["value"]).split('\n');
        sheet.line(LISTS, [&name, lines.next().unwrap_or_default()]);
        for line in lines {
            sheet.line(LISTS, ["", line]);
        }
    }
}

/// Where a value comes from, and what it is if that is no secret and known already.
fn reference(source: &Value, container: &Value, within: &Within<'_>) -> Vec<String> {
    let (field, resource) = (&source["fieldRef"], &source["resourceFieldRef"]);
    let (map, secret) = (&source["configMapKeyRef"], &source["secretKeyRef"]);
    if field.is_object() {
        let path = text(&field["fieldPath"]);
        let value = match within {
            Within::Pod(pod) => of_pod(pod, path),
            Within::Template => String::new(),
        };
        let version = text(&field["apiVersion"]);
        return vec![format!("{value} ({version}:{path})")];
    }
    if resource.is_object() {
        let name = text(&resource["resource"]);
        return vec![format!("{} ({name})", amount(resource, container))];
    }
    let (kind, source) = match map.is_object() {
        true => ("of config map", map),
        false => ("in secret", secret),
    };
    let (key, name) = (text(&source["key"]), text(&source["name"]));
    vec![
        format!("<set to the key '{key}' {kind} '{name}'>"),
        optional(source),
    ]
}

fn optional(source: &Value) -> String {
    let is_optional = source["optional"].as_bool().unwrap_or_default();
    format!("Optional: {is_optional}")
}

/// What a pod says of itself. Upstream: its metadata alone is looked up.
fn of_pod(pod: &Object, path: &str) -> String {
    let Some(name) = path.strip_prefix("metadata.") else {
        return String::new();
    };
    match name.split_once("['") {
        Some((map, key)) => {
            let key = key.strip_suffix("']").unwrap_or(key);
            pod.text_at(&["metadata", map, key])
        }
        None => pod.text_at(&["metadata", name]),
    }
    .unwrap_or_default()
    .to_owned()
}

/// An amount of a resource, in the unit that is asked for.
fn amount(source: &Value, container: &Value) -> String {
    let name = text(&source["resource"]);
    let (list, resource) = name.split_once('.').unwrap_or_default();
    let read = |value: &Value| plain(value).parse::<Quantity>().ok();
    let amount = read(&container["resources"][list][resource]);
    let unit = read(&source["divisor"]).filter(|unit| !unit.is_zero());
    let unit = unit.map_or(1_000_000_000, Quantity::nanos);
    match amount.map(|amount| amount.nanos()) {
        None | Some(0) if matches!(name, "limits.cpu" | "limits.memory") => {
            "node allocatable".to_owned()
        }
        // What is begun counts.
        amount => (amount.unwrap_or(0) + unit - 1)
            .checked_div(unit)
            .unwrap_or(0)
            .to_string(),
    }
}
