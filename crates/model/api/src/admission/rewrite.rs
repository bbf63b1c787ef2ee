//! Changing an object the way a typed server does: the change is made, and what the type knows is written out anew.
//!
//! Upstream: its mutating webhooks answer with the object as its Go type prints it. So stored policies have
//! `spec.placement: {}` although nobody wrote it, and have no empty lists, whatever was sent.

use object::{Map, Object};
use serde_json::Value;

use super::{Refusal, problems::shown, verdict::edit};
use crate::Kind;

/// The object after `change`, with its spec written as the type prints it. Fields the schema does not know stay as they
/// are, and so do the metadata and the status apart from what `change` did to them.
pub(super) fn rewrite<T: Kind>(
    object: &Object,
    schema: &Value,
    change: impl FnOnce(&mut T),
) -> Result<Object, Refusal> {
    let mut printed = Value::Null;
    let mut changed = edit::<T>(object, |value| {
        change(value);
        printed = shown(value);
    })?;
    if let Some(spec) = printed.get("spec") {
        let schema = schema.pointer("/properties/spec").unwrap_or(&Value::Null);
        let raw = changed.fields_mut().entry("spec").or_insert(Value::Null);
        print_like(raw, spec, schema);
    }
    Ok(changed)
}

/// Gives `raw` the known fields that `printed` has, and takes those away that it has not.
fn print_like(raw: &mut Value, printed: &Value, schema: &Value) {
    match (&mut *raw, printed) {
        (Value::Object(fields), Value::Object(printed)) => print_fields(fields, printed, schema),
        (Value::Array(items), Value::Array(printed)) if items.len() == printed.len() => {
            for (item, printed) in items.iter_mut().zip(printed) {
                print_like(item, printed, &schema["items"]);
            }
        }
        (Value::Null, _) => *raw = printed.clone(),
        // Values are as their author spelled them: `1000m` and `1` are the same amount.
        _ => {}
    }
}

fn print_fields(fields: &mut Map, printed: &Map, schema: &Value) {
    let Some(known) = schema.get("properties").and_then(Value::as_object) else {
        // A map of the user's own keys, or a value of any shape.
        return;
    };
    fields.retain(|name, _| printed.contains_key(name) || !known.contains_key(name));
    for (name, printed) in printed {
        let Some(schema) = known.get(name) else {
            continue;
        };
        print_like(
            fields.entry(name.clone()).or_insert(Value::Null),
            printed,
            schema,
        );
    }
}
