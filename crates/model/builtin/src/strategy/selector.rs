//! Label selectors, and whether they choose what they should.

use std::collections::BTreeMap;

use object::selector::{LabelSelector, Selector};

use super::spot::{Errors, Spot};

/// A label selector wherever one occurs.
pub(super) fn label_selector(spot: &Spot<'_>, errors: &mut Errors) {
    if let Some(selector) = read(spot) {
        errors.extend(selector.validate(&spot.path()));
    }
}

/// A workload's selector must be there, choose something, and choose the workload's own pods.
pub(super) fn chooses_template(spec: &Spot<'_>, kind: &str, errors: &mut Errors) {
    let selector = spec.field("selector");
    if !selector.is_set() {
        errors.push(selector.required(""));
        return;
    }
    if selector.field("matchLabels").is_empty() && selector.field("matchExpressions").is_empty() {
        errors.push(selector.invalid(format!("empty selector is invalid for {kind}")));
        return;
    }
    matches_template(spec, errors);
}

/// The selector, where there is a valid one, matches the labels of the pod template.
pub(super) fn matches_template(spec: &Spot<'_>, errors: &mut Errors) {
    let selector = spec.field("selector");
    let Some(compiled) = compile(&selector) else {
        return; // What is wrong with the selector is reported where it stands.
    };
    let template = spec.field("template");
    let metadata = template.field("metadata");
    let labels = metadata.field("labels");
    if !compiled.matches_labels(&texts(&labels)) {
        errors.push(labels.invalid("`selector` does not match template `labels`"));
    }
}

/// The texts of a map.
pub(super) fn texts(spot: &Spot<'_>) -> BTreeMap<String, String> {
    let entries = spot.map().into_iter().flatten();
    entries
        .map(|(key, value)| (key.clone(), value.as_str().unwrap_or("").to_owned()))
        .collect()
}

fn read(spot: &Spot<'_>) -> Option<LabelSelector> {
    serde_json::from_value(spot.value.clone()).ok()
}

fn compile(spot: &Spot<'_>) -> Option<Selector> {
    read(spot)?.compile(&spot.path()).ok()
}
