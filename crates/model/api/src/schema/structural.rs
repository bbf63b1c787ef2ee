//! From a general JSON Schema to Kubernetes' structural form.

use object::Map;
use serde_json::Value;

use super::{DEFAULT, OPTIONAL, REQUIRED};

/// Rewrites a schema, and all schemas in it, to structural form.
pub(super) fn simplify(schema: &mut Value) {
    let Value::Object(fields) = schema else {
        return;
    };
    for key in ["$schema", "title", "default"] {
        fields.shift_remove(key);
    }
    drop_null(fields);
    join_choices(fields);
    adopt_markers(fields);
    fit_format(fields);
    reflow_description(fields);
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = fields.get_mut(key) {
            simplify(inner);
        }
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(simplify);
    }
    settle_required(fields);
    sort(fields);
}

/// Leaves the content of `metadata` to the server, which knows it better than any kind: a definition that says more than
/// its type, be it a description, is refused.
pub(super) fn open_metadata(schema: &mut Value) {
    let Some(Value::Object(metadata)) = schema.pointer_mut("/properties/metadata") else {
        return;
    };
    metadata.retain(|key, _| key == "type");
}

/// Structural schemas treat `null` as absence; it is not a type of its own.
fn drop_null(fields: &mut Map) {
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|r#type| r#type != "null");
        if let [only] = types.as_mut_slice() {
            let only = only.take();
            fields.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = fields.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let Some(Value::Array(forms)) = fields.get_mut("anyOf") else {
        return;
    };
    let before = forms.len();
    forms.retain(|form| form.get("type").is_none_or(|r#type| r#type != "null"));
    if before == forms.len() {
        return; // Nothing to do with null: an int-or-string.
    }
    let Some(Value::Array(forms)) = fields.shift_remove("anyOf") else {
        return;
    };
    for form in forms {
        let Value::Object(form) = form else { continue };
        for (key, value) in form {
            // What is said of the field goes before what is said of its type.
            fields.entry(key).or_insert(value);
        }
    }
}

/// Joins the variants of an enum, which arrive as one schema each so that each can have a description.
fn join_choices(fields: &mut Map) {
    let Some(Value::Array(choices)) = fields.shift_remove("oneOf") else {
        return;
    };
    let mut described = Vec::new();
    for choice in choices {
        let description = choice
            .get("description")
            .and_then(Value::as_str)
            .map(reflow);
        if let Some(value) = choice.get("const") {
            described.push((value.clone(), description));
        }
    }
    // A field may accept fewer values than its type has, or list them in another order.
    if let Some(Value::Array(accepted)) = fields.get("enum") {
        described = accepted
            .iter()
            .filter_map(|value| described.iter().find(|(known, _)| known == value).cloned())
            .collect();
    }
    fields.insert("type".to_owned(), "string".into());
    let mut text = fields
        .get("description")
        .and_then(Value::as_str)
        .map(reflow)
        .unwrap_or_default();
    for (value, description) in &described {
        if let (Some(value), Some(description)) = (value.as_str(), description) {
            text.push_str(&format!("\n- `{value}`: {description}"));
        }
    }
    fields.insert("description".to_owned(), text.into());
    fields.insert(
        "enum".to_owned(),
        described.into_iter().map(|(value, _)| value).collect(),
    );
}

fn adopt_markers(fields: &mut Map) {
    if let Some(default) = fields.shift_remove(DEFAULT) {
        fields.insert("default".to_owned(), default);
    }
}

/// Kubernetes knows signed widths only.
fn fit_format(fields: &mut Map) {
    let Some(format) = fields.get_mut("format") else {
        return;
    };
    if let Some(signed) = format.as_str().and_then(|text| text.strip_prefix('u'))
        && signed.starts_with("int")
    {
        *format = Value::from(signed);
    }
}

fn reflow_description(fields: &mut Map) {
    if let Some(description) = fields.get_mut("description") {
        let text = description.as_str().map(reflow).unwrap_or_default();
        *description = Value::from(text);
    }
}

/// Undoes the line breaks of the source; paragraphs and list items stay.
fn reflow(text: &str) -> String {
    let mut flowing = String::with_capacity(text.len());
    for line in text.lines().map(str::trim) {
        let starts_anew = line.is_empty() || line.starts_with("- ");
        if !flowing.is_empty() {
            flowing.push(if starts_anew || flowing.ends_with('\n') {
                '\n'
            } else {
                ' '
            });
        }
        flowing.push_str(line);
    }
    flowing
}

/// What must be given: what is always written, but for the fields marked otherwise; in the order of the alphabet.
fn settle_required(fields: &mut Map) {
    let mut required: Vec<String> = match fields.shift_remove("required") {
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        _ => Vec::new(),
    };
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        for (name, property) in properties {
            let Value::Object(property) = property else {
                continue;
            };
            if property.shift_remove(OPTIONAL).is_some() {
                required.retain(|other| other != name);
            }
            if property.shift_remove(REQUIRED).is_some() {
                required.push(name.clone());
            }
        }
    }
    required.sort();
    required.dedup();
    if !required.is_empty() {
        fields.insert("required".to_owned(), required.into());
    }
}

/// Sorts the keywords of a schema and the names of its properties, so that documents compare line by line.
fn sort(fields: &mut Map) {
    fields.sort_keys();
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.sort_keys();
    }
}
