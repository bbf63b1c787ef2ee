//! Rules about nodes, limits, leases and classes.

use std::collections::BTreeSet;

use object::{field::FieldError, names};

use super::{
    container::quantity,
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

/// Each sort of thing has its limits once.
pub(super) fn limit_range(spec: &Spot<'_>, errors: &mut Errors) {
    let limits = spec.field("limits");
    let mut seen = BTreeSet::new();
    for item in limits.elements() {
        let sort = item.field("type");
        if !seen.insert(sort.text().to_owned()) {
            errors.push(sort.duplicate());
        }
    }
}

pub(super) fn limit_range_item(item: &Spot<'_>, errors: &mut Errors) {
    if item.field("type").text() == "Pod" {
        for field in ["default", "defaultRequest"] {
            let field = item.field(field);
            if !field.is_empty() {
                errors.push(field.forbidden("may not be specified when `type` is 'Pod'"));
            }
        }
    }
    let lists = ["min", "defaultRequest", "default", "max"].map(|name| item.field(name));
    let [min, request, usual, max] = &lists;
    let mut ordered =
        |low: &Spot<'_>, low_name: &str, high: &Spot<'_>, high_name: &str, at: &Spot<'_>| {
            for (resource, amount) in low.entries() {
                let (Some(less), Some(more)) = (quantity(&amount), quantity(&high.key(resource)))
                else {
                    continue;
                };
                if less > more {
                    let detail =
                        format!("{low_name} value {less} is greater than {high_name} value {more}");
                    let shown = quantity(&at.key(resource)).unwrap_or(less).to_string();
                    errors.push(FieldError::invalid(at.path().key(resource), shown, detail));
                }
            }
        };
    ordered(min, "min", max, "max", min);
    ordered(min, "min", request, "default request", request);
    ordered(request, "default request", max, "max", request);
    ordered(request, "default request", usual, "default limit", request);
    ordered(min, "min", usual, "default", usual);
    ordered(usual, "default", max, "max", usual);
}

pub(super) fn quota(spec: &Spot<'_>, errors: &mut Errors) {
    for (resource, amount) in spec.field("hard").entries() {
        let problems = names::check_qualified_name(resource);
        let wrong = |problem| FieldError::invalid(amount.path(), resource, problem);
        errors.extend(problems.into_iter().map(wrong));
        if quantity(&amount).is_some_and(|quantity| quantity.signum() < 0) {
            errors.push(amount.invalid(NOT_NEGATIVE));
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
