//! Schemas are structural, as Kubernetes asks of custom resources.

use karavel_api::schema;
use serde_json::Value;

/// The keywords that a schema here may use. Nothing that only JSON Schema knows, and none of our own marks.
const KEYWORDS: &[&str] = &[
    "additionalProperties",
    "anyOf",
    "default",
    "description",
    "enum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "pattern",
    "properties",
    "required",
    "type",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
];

#[test]
fn schemas_use_structural_keywords_only() {
    for (kind, schema) in schema::schemas() {
        check(&schema, &kind.kind);
    }
}

#[test]
fn metadata_is_left_to_the_server() {
    for (kind, schema) in schema::schemas() {
        let metadata = &schema["properties"]["metadata"];
        assert_eq!(metadata["type"], "object", "{kind}");
        assert_eq!(metadata.get("properties"), None, "{kind}");
    }
}

fn check(schema: &Value, path: &str) {
    let fields = schema
        .as_object()
        .unwrap_or_else(|| panic!("{path} is no schema: {schema}"));
    for keyword in fields.keys() {
        assert!(
            KEYWORDS.contains(&keyword.as_str()),
            "{path} says {keyword}"
        );
    }
    let is_mixed = schema["x-kubernetes-int-or-string"] == true;
    let is_open = schema["x-kubernetes-preserve-unknown-fields"] == true;
    assert!(
        schema["type"].is_string() || is_mixed || is_open,
        "{path} has no type"
    );
    assert_eq!(schema.get("anyOf").is_some(), is_mixed, "{path}");
    if let Some(required) = schema["required"].as_array() {
        assert!(required.is_sorted_by_key(|name| name.as_str()), "{path}");
        for name in required {
            let name = name.as_str().expect("names are text");
            assert!(
                schema["properties"].get(name).is_some(),
                "{path} requires {name} but has no such field"
            );
        }
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        check(field, &format!("{path}.{name}"));
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get(inner) {
            check(inner, &format!("{path}[]"));
        }
    }
}
