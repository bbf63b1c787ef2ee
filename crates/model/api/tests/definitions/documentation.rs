//! Every kind and every field says what it means.

use karavel_api::schema;
use serde_json::Value;

#[test]
fn every_field_of_every_kind_is_documented() {
    let mut bare = Vec::new();
    let mut fields = 0;
    for (kind, schema) in schema::schemas() {
        // A definition may say nothing of metadata but its type: servers refuse any more.
        let metadata = format!("{}.metadata", kind.kind);
        visit(&schema, &kind.kind, &mut |path, field| {
            if path == metadata {
                return;
            }
            fields += 1;
            let text = field["description"].as_str().unwrap_or_default();
            if text.len() < 8 || !text.ends_with(['.', ')']) {
                bare.push(format!("{path}: {text:?}"));
            }
        });
    }
    assert!(bare.is_empty(), "{bare:#?}");
    assert!(fields > 1000, "only {fields} fields were looked at");
}

#[test]
fn descriptions_are_prose_for_readers_of_yaml() {
    for (kind, schema) in schema::schemas() {
        visit(&schema, &kind.kind, &mut |path, field| {
            let text = field["description"].as_str().unwrap_or_default();
            // Links and type paths mean something in Rust's documentation only.
            assert!(
                !text.contains("[`") && !text.contains("::"),
                "{path}: {text}"
            );
        });
    }
}

/// Calls `look` with every schema below this one that describes a field.
fn visit(schema: &Value, path: &str, look: &mut impl FnMut(&str, &Value)) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        look(&path, field);
        visit(field, &path, look);
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get(inner) {
            visit(inner, &format!("{path}[]"), look);
        }
    }
}
