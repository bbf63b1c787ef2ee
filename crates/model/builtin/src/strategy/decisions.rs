//! What is decided about a request for a certificate: who decides what, and that a decision stands.

use std::collections::BTreeSet;

use object::{Map, Value};

use super::spot::{Errors, Spot};

/// Conditions that are there or not, and never `False`.
const FINAL: [&str; 3] = ["Approved", "Denied", "Failed"];
/// Those of them that are the approver's.
const DECISIONS: [&str; 2] = ["Approved", "Denied"];

/// Reports what is wrong with changing the status of `old` into that of `new` through a subresource. What was wrong
/// before is not held against a change elsewhere.
pub(super) fn check(subresource: &str, old: &Value, new: &Value, errors: &mut Errors) {
    let root = Spot::root(new);
    let status = root.field("status");
    let conditions = status.field("conditions");
    check_each(&conditions, &types(old), errors);
    for kind in FINAL {
        if count(new, kind) < count(old, kind) {
            let why = format!("updates may not remove a condition of type {kind:?}");
            errors.push(conditions.forbidden(why));
        }
    }
    if subresource == "approval" {
        return;
    }
    for kind in DECISIONS {
        if count(new, kind) > count(old, kind) {
            let why = format!("updates may not add a condition of type {kind:?}");
            errors.push(conditions.forbidden(why));
        }
    }
    let certificate = status.field("certificate");
    let issued = old.pointer("/status/certificate").and_then(Value::as_str);
    if issued.is_some_and(|issued| !issued.is_empty() && issued != certificate.text()) {
        errors.push(certificate.forbidden("updates may not modify existing certificate content"));
    }
}

fn check_each(conditions: &Spot<'_>, before: &[&str], errors: &mut Errors) {
    let had = |kind: &str| before.contains(&kind);
    let repeats = {
        let mut seen = BTreeSet::new();
        before.iter().any(|kind| !seen.insert(*kind))
    };
    let was_undecided = !(had("Approved") && had("Denied"));
    let mut seen = BTreeSet::new();
    for condition in conditions.elements() {
        let (kind, status) = (condition.field("type"), condition.field("status"));
        if kind.is_empty() && !had("") {
            errors.push(kind.required(""));
        }
        let allowed = match FINAL.contains(&kind.text()) {
            true => &["True"][..],
            false => &["False", "True", "Unknown"],
        };
        if status.is_empty() {
            errors.push(status.required(""));
        } else if !allowed.contains(&status.text()) {
            errors.push(status.not_supported(allowed));
        }
        let other = match kind.text() {
            "Approved" => "Denied",
            "Denied" => "Approved",
            _ => "",
        };
        if !other.is_empty() && was_undecided && seen.contains(other) {
            let why = "Approved and Denied conditions are mutually exclusive";
            errors.push(object::field::FieldError::invalid(
                conditions.path(),
                kind.text(),
                why,
            ));
        }
        if !seen.insert(kind.text().to_owned()) && !repeats {
            errors.push(kind.duplicate());
        }
    }
}

/// Leaves the approver's conditions as they were, where the signer neither adds nor takes away any: those who write a
/// whole status back need not copy them to the letter.
pub(super) fn keep(old: &Value, fields: &mut Map) {
    let before = conditions_of(old);
    let status = fields.get_mut("status");
    let conditions = status.and_then(|status| status.get_mut("conditions"));
    let Some(conditions) = conditions.and_then(Value::as_array_mut) else {
        return;
    };
    for kind in DECISIONS {
        let kept: Vec<&Value> = before.iter().filter(|one| is(one, kind)).collect();
        if conditions.iter().filter(|one| is(one, kind)).count() != kept.len() {
            continue;
        }
        let written = conditions.iter_mut().filter(|one| is(one, kind));
        for (written, kept) in written.zip(kept) {
            written.clone_from(kept);
        }
    }
}

fn conditions_of(object: &Value) -> &[Value] {
    let conditions = object.pointer("/status/conditions");
    let conditions = conditions.and_then(Value::as_array);
    conditions.map_or(&[], Vec::as_slice)
}

fn types(object: &Value) -> Vec<&str> {
    let conditions = conditions_of(object).iter();
    let types = conditions.map(|one| one.get("type").and_then(Value::as_str));
    types.map(Option::unwrap_or_default).collect()
}

fn count(object: &Value, kind: &str) -> usize {
    types(object).iter().filter(|known| **known == kind).count()
}

fn is(condition: &Value, kind: &str) -> bool {
    condition.get("type").and_then(Value::as_str) == Some(kind)
}
