//! Rules about nodes, leases and classes.

use std::collections::BTreeSet;

use object::names;

use super::{
    spot::{Errors, Spot},
    words::NOT_NEGATIVE,
};

/// The highest priority users may give; what is above belongs to the system.
const HIGHEST_PRIORITY: i64 = 1_000_000_000;
const SYSTEM_PREFIX: &str = "system-";

/// The classes the system makes, and their values.
const SYSTEM_CLASSES: [(&str, i64); 2] = [
    ("system-node-critical", 2_000_001_000),
    ("system-cluster-critical", 2_000_000_000),
];

pub(super) fn node(node: &Spot<'_>, errors: &mut Errors) {
    let spec = node.field("spec");
    let mut seen = BTreeSet::new();
    for taint in spec.field("taints").elements() {
        let identity = (
            taint.field("key").text().to_owned(),
            taint.field("effect").text().to_owned(),
        );
        if !seen.insert(identity) {
            errors.push(taint.duplicate());
        }
    }
}

pub(super) fn priority_class(class: &Spot<'_>, errors: &mut Errors) {
    let metadata = class.field("metadata");
    let (name, value) = (metadata.field("name"), class.field("value"));
    if name.text().starts_with(SYSTEM_PREFIX) {
        let known = SYSTEM_CLASSES.contains(&(name.text(), value.number().unwrap_or(0)));
        if !known || class.field("globalDefault").is_true() {
            errors.push(name.forbidden(format!(
                "priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only. error: {} is not a \
                 known system priority class",
                name.text()
            )));
        }
    } else if value.number().is_some_and(|value| value > HIGHEST_PRIORITY) {
        errors.push(value.forbidden(format!(
            "maximum allowed value of a user defined priority is {HIGHEST_PRIORITY}"
        )));
    }
}

pub(super) fn lease(spec: &Spot<'_>, errors: &mut Errors) {
    let (duration, transitions) = (
        spec.field("leaseDurationSeconds"),
        spec.field("leaseTransitions"),
    );
    if duration.number().is_some_and(|seconds| seconds <= 0) {
        errors.push(duration.invalid("must be greater than 0"));
    }
    if transitions.number().is_some_and(|number| number < 0) {
        errors.push(transitions.invalid(NOT_NEGATIVE));
    }
    let (preferred, strategy) = (spec.field("preferredHolder"), spec.field("strategy"));
    if !preferred.is_empty() && strategy.is_empty() {
        errors.push(preferred.forbidden("may only be specified if `strategy` is defined"));
    }
}

pub(super) fn runtime_class(class: &Spot<'_>, errors: &mut Errors) {
    let handler = class.field("handler");
    if !handler.is_empty() {
        handler.complain(names::check_dns1123_label(handler.text()), errors);
    }
}
