//! Slices of endpoints, whoever writes them: what they are called, and how those that are there become those that are
//! wanted.

use std::collections::BTreeMap;
use std::sync::Arc;

use object::{Object, Value};
use serde_json::json;

use crate::controllers::template::hash_of;
use crate::engine::action::Plan;
use crate::engine::kind::Kind;

/// Names the service a slice is about.
pub(crate) const SERVICE: &str = "kubernetes.io/service-name";
/// Names who writes a slice.
pub(crate) const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";

/// What the slice at a place among those of an owner is called.
pub(crate) fn name_of(owner: &Object, place: usize) -> String {
    let place = i64::try_from(place).unwrap_or(0);
    let suffix: String = hash_of(&json!(owner.uid()), place)
        .chars()
        .take(5)
        .collect();
    format!("{}-{suffix}", owner.name())
}

/// Makes, changes and takes away slices so that those of an owner are the wanted ones, which are given by name.
pub(crate) fn settle(plan: &mut Plan, known: &[&Arc<Object>], mut wanted: BTreeMap<String, Value>) {
    for slice in known {
        let Some(next) = wanted.remove(slice.name()) else {
            plan.delete(Kind::EndpointSlice, slice);
            continue;
        };
        if let Some(patch) = change(slice, &next) {
            plan.merge(Kind::EndpointSlice, slice, patch);
        }
    }
    for slice in wanted.into_values() {
        plan.create(Kind::EndpointSlice, slice);
    }
}

/// What must be written so that a slice is the wanted one.
fn change(slice: &Object, next: &Value) -> Option<Value> {
    let empty = json!([]);
    let mut patch = object::Map::new();
    for field in ["endpoints", "ports"] {
        let said = slice.at(&[field]).filter(|value| !value.is_null());
        let wanted = next.get(field).unwrap_or(&empty);
        if said.unwrap_or(&empty) != wanted {
            patch.insert(field.to_owned(), wanted.clone());
        }
    }
    let labels = |value: Option<&Value>| {
        value
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default()
    };
    let said = labels(slice.at(&["metadata", "labels"]));
    let wanted = labels(next.pointer("/metadata/labels"));
    if said != wanted {
        let gone = said.keys().filter(|name| !wanted.contains_key(*name));
        let gone = gone
            .map(|name| (name.clone(), Value::Null))
            .collect::<Vec<_>>();
        let labels: object::Map = wanted.into_iter().chain(gone).collect();
        patch.insert("metadata".to_owned(), json!({"labels": labels}));
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}
