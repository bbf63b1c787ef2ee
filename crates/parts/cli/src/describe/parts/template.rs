//! What pods are made from: a template, and where its pods may be.

use object::Value;

use super::containers::{self, Within};
use super::{metadata, selectors, volumes};
use crate::describe::sheet::Sheet;
use crate::describe::values::{entries, items, number, plain, text};

/// What pods are made from.
pub(in crate::describe) fn write(sheet: &mut Sheet, template: &Value) {
    sheet.title(0, "Pod Template");
    if !template.is_object() {
        return sheet.text(2, "<unset>");
    }
    let (about, spec) = (&template["metadata"], &template["spec"]);
    metadata::labels(sheet, 2, "Labels", &about["labels"]);
    if !entries(&about["annotations"]).is_empty() {
        metadata::written(sheet, 2, "Annotations", &about["annotations"]);
    }
    sheet.field_if(2, "Service Account", text(&spec["serviceAccountName"]));
    let lists = [
        ("Init Containers", "initContainers"),
        ("Containers", "containers"),
    ];
    for (title, list) in lists {
        if title == "Containers" || !spec[list].is_null() {
            containers::write(sheet, title, &spec[list], &Value::Null, &Within::Template);
        }
    }
    volumes::write(sheet, &spec["volumes"], &Within::Template);
    spread(sheet, 2, spec);
    sheet.field_if(2, "Priority Class Name", text(&spec["priorityClassName"]));
    metadata::labels(sheet, 2, "Node-Selectors", &spec["nodeSelector"]);
    tolerations(sheet, 2, spec);
}

/// Which taints of nodes are borne.
pub(in crate::describe) fn tolerations(sheet: &mut Sheet, indent: usize, spec: &Value) {
    let mut all: Vec<&Value> = items(&spec["tolerations"]).iter().collect();
    all.sort_by_key(|one| text(&one["key"]));
    let lines: Vec<String> = all.into_iter().map(toleration).collect();
    sheet.list(indent, "Tolerations", &lines);
}

fn toleration(toleration: &Value) -> String {
    let (key, value) = (text(&toleration["key"]), text(&toleration["value"]));
    let effect = text(&toleration["effect"]);
    let mut said = key.to_owned();
    if !value.is_empty() {
        said.push_str(&format!("={value}"));
    }
    if !effect.is_empty() {
        said.push_str(&format!(":{effect}"));
    }
    if text(&toleration["operator"]) == "Exists" && value.is_empty() {
        let gap = if said.is_empty() { "" } else { " " };
        said.push_str(&format!("{gap}op=Exists"));
    }
    if !toleration["tolerationSeconds"].is_null() {
        said.push_str(&format!(
            " for {}s",
            plain(&toleration["tolerationSeconds"])
        ));
    }
    said
}

/// How pods are spread over nodes, if anybody has said so.
pub(in crate::describe) fn spread(sheet: &mut Sheet, indent: usize, spec: &Value) {
    let mut all: Vec<&Value> = items(&spec["topologySpreadConstraints"]).iter().collect();
    if all.is_empty() {
        return;
    }
    all.sort_by_key(|one| text(&one["topologyKey"]));
    let line = |one: &Value| {
        let mut said = format!(
            "{}:{} when max skew {} is exceeded",
            text(&one["topologyKey"]),
            text(&one["whenUnsatisfiable"]),
            number(&one["maxSkew"])
        );
        if one["labelSelector"].is_object() {
            let selector = selectors::selector(&one["labelSelector"]);
            said.push_str(&format!(" for selector {selector}"));
        }
        said
    };
    let lines: Vec<String> = all.into_iter().map(line).collect();
    sheet.list(indent, "Topology Spread Constraints", &lines);
}
