//! JSON merge patch (RFC 7386): an object in the shape of the target, `null` meaning "take away".

use crate::{Map, Value};

/// The target with the patch merged in.
///
/// Upstream: fields that are `null` inside a list of the patch are dropped, as Kubernetes' API server does; the
/// standard would keep them.
#[must_use]
pub fn merge(target: &Value, patch: &Value) -> Value {
    let mut merged = target.clone();
    merge_into(&mut merged, patch);
    merged
}

/// The merge patch that makes `after` of `before`.
///
/// A merge patch cannot set a field to `null`: where `after` has such a field the patch takes it away.
#[must_use]
pub fn diff(before: &Value, after: &Value) -> Value {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => Value::Object(diff_fields(before, after)),
        _ => after.clone(),
    }
}

/// As many fields are taken out one by one.
const FEW: usize = 8;

fn merge_into(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = without_null_fields(patch);
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(fields) = target else {
        return;
    };
    // Each field taken out alone would move all behind it.
    let goes = |name: &str| changes.get(name).is_some_and(Value::is_null);
    let going = changes.values().filter(|change| change.is_null()).count();
    if going > FEW {
        fields.retain(|name, _| !goes(name));
    }
    for (name, change) in changes {
        if change.is_null() {
            fields.shift_remove(name);
            continue;
        }
        match fields.get_mut(name) {
            Some(field) => merge_into(field, change),
            None => {
                fields.insert(name.clone(), without_null_fields(change));
            }
        }
    }
}

fn without_null_fields(value: &Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .filter(|(_, field)| !field.is_null())
                .map(|(name, field)| (name.clone(), without_null_fields(field)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(without_null_fields).collect()),
        plain => plain.clone(),
    }
}

fn diff_fields(before: &Map, after: &Map) -> Map {
    let mut changes = Map::new();
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        changes.insert(name.clone(), Value::Null);
    }
    for (name, now) in after {
        match (before.get(name), now) {
            (Some(Value::Object(was)), Value::Object(now)) => {
                let inner = diff_fields(was, now);
                if !inner.is_empty() {
                    changes.insert(name.clone(), Value::Object(inner));
                }
            }
            (Some(was), now) if was == now => {}
            _ => {
                changes.insert(name.clone(), now.clone());
            }
        }
    }
    changes
}
