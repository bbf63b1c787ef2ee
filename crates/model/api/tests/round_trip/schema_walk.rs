//! Walks over an object along its schema.

use object::quantity::Quantity;
use serde::Deserialize;
use serde_json::{Value, json};

/// What a schema says of the value at a place.
pub(crate) fn is_free_form(schema: &Value) -> bool {
    schema["x-kubernetes-preserve-unknown-fields"] == true
}

/// The object as far as its schema knows it, without what means the same as nothing: `null`, zero, and empty values of
/// fields. Amounts are in their canonical spelling.
pub(crate) fn essence(schema: &Value, value: &Value) -> Value {
    if is_free_form(schema) || value.is_null() {
        return value.clone();
    }
    if schema["x-kubernetes-int-or-string"] == true {
        // An amount has many spellings; reading and printing is its own to test.
        return Quantity::deserialize(value).map_or_else(|_| value.clone(), |amount| json!(amount));
    }
    match value {
        Value::Array(items) => items
            .iter()
            .map(|item| essence(&schema["items"], item))
            .collect(),
        Value::Object(fields) => match schema.get("additionalProperties") {
            Some(values) => fields
                .iter()
                .map(|(name, value)| (name.clone(), essence(values, value)))
                .collect(),
            None => {
                let known = schema["properties"].as_object().into_iter().flatten();
                let given = known.filter_map(|(name, property)| {
                    Some((name.clone(), essence(property, fields.get(name)?)))
                });
                given.filter(|(_, value)| !is_nothing(value)).collect()
            }
        },
        other => other.clone(),
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(is_set) => !is_set,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

/// A place in an object whose type the schema fixes.
pub(crate) struct Place {
    /// The path, as errors name it.
    pub(crate) path: String,
    /// The same as a JSON pointer.
    pub(crate) pointer: String,
    /// A value of another type.
    pub(crate) misfit: Value,
}

/// Every place of the object whose type the schema fixes, and what would not fit there.
pub(crate) fn typed_places(schema: &Value, value: &Value) -> Vec<Place> {
    let mut places = Vec::new();
    collect(schema, value, String::new(), String::new(), &mut places);
    places
}

fn collect(schema: &Value, value: &Value, path: String, pointer: String, places: &mut Vec<Place>) {
    if is_free_form(schema) {
        // Open below, but some must still be objects or lists; those are read as they are.
        return;
    }
    if !path.is_empty() {
        let misfit = misfit(schema);
        places.push(Place {
            path: path.clone(),
            pointer: pointer.clone(),
            misfit,
        });
    }
    match value {
        Value::Array(items) => {
            for (position, item) in items.iter().enumerate() {
                let (path, pointer) = (
                    format!("{path}[{position}]"),
                    format!("{pointer}/{position}"),
                );
                collect(&schema["items"], item, path, pointer, places);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let inner = schema
                    .get("additionalProperties")
                    .or_else(|| schema["properties"].get(name));
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                if let Some(inner) = inner {
                    collect(inner, value, path, format!("{pointer}/{name}"), places);
                }
            }
        }
        _ => {}
    }
}

fn misfit(schema: &Value) -> Value {
    if schema["x-kubernetes-int-or-string"] == true {
        return "12 parrots".into();
    }
    if let Some(choice) = schema["enum"][0].as_str() {
        // A reader that takes an object for the name of a choice would take it.
        return json!({ choice: null });
    }
    match schema["type"].as_str() {
        Some("string") => json!({ "not": "text" }),
        Some("integer") => json!(1.0e30),
        Some("boolean") => "yes".into(),
        // A reader that fills structs by position would take it.
        Some("object") => json!([]),
        _ => true.into(),
    }
}
