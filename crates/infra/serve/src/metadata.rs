//! Whether the metadata of a custom object has the types metadata has.
//!
//! Built-in kinds say so in their schemas; custom kinds leave metadata out of theirs. Upstream: such an object cannot be
//! decoded, and the refusal is the decoder's.

use object::{Map, Value};

/// What a field of the metadata holds, and what Go calls that.
enum Holds {
    Text(&'static str),
    Whole,
    Texts,
    TextByName,
    Objects(&'static str, &'static [(&'static str, Holds)]),
}

const FIELDS: &[(&str, Holds)] = &[
    ("name", Holds::Text("string")),
    ("generateName", Holds::Text("string")),
    ("namespace", Holds::Text("string")),
    ("selfLink", Holds::Text("string")),
    ("uid", Holds::Text("types.UID")),
    ("resourceVersion", Holds::Text("string")),
    ("generation", Holds::Whole),
    ("deletionGracePeriodSeconds", Holds::Whole),
    ("labels", Holds::TextByName),
    ("annotations", Holds::TextByName),
    ("finalizers", Holds::Texts),
    ("ownerReferences", Holds::Objects("OwnerReference", OWNER)),
    (
        "managedFields",
        Holds::Objects("ManagedFieldsEntry", MANAGER),
    ),
];

const OWNER: &[(&str, Holds)] = &[
    ("apiVersion", Holds::Text("string")),
    ("kind", Holds::Text("string")),
    ("name", Holds::Text("string")),
    ("uid", Holds::Text("types.UID")),
];

const MANAGER: &[(&str, Holds)] = &[
    ("manager", Holds::Text("string")),
    ("operation", Holds::Text("v1.ManagedFieldsOperationType")),
    ("apiVersion", Holds::Text("string")),
    ("fieldsType", Holds::Text("string")),
    ("subresource", Holds::Text("string")),
];

/// The first field of the metadata that has the wrong type, as Go's decoder tells of it.
pub(crate) fn mistyped(metadata: &Map) -> Option<String> {
    metadata.iter().find_map(|(name, value)| {
        let (_, holds) = FIELDS.iter().find(|(known, _)| known == name)?;
        check(&format!("ObjectMeta.{name}"), holds, value)
    })
}

fn check(place: &str, holds: &Holds, value: &Value) -> Option<String> {
    let refuse = |value: &Value, ty: &str| {
        Some(format!(
            "json: cannot unmarshal {} into Go struct field {place} of type {ty}",
            found(value)
        ))
    };
    match (holds, value) {
        (_, Value::Null) | (Holds::Text(_), Value::String(_)) => None,
        (Holds::Text(ty), other) => refuse(other, ty),
        (Holds::Whole, Value::Number(number)) if number.is_i64() => None,
        (Holds::Whole, Value::Number(number)) => Some(format!(
            "json: cannot unmarshal number {number} into Go struct field {place} of type int64"
        )),
        (Holds::Whole, other) => refuse(other, "int64"),
        (Holds::Texts, Value::Array(items)) => {
            let odd = items.iter().find(|item| !is_text(item))?;
            refuse(odd, "string")
        }
        (Holds::Texts, other) => refuse(other, "[]string"),
        (Holds::TextByName, Value::Object(fields)) => {
            let odd = fields.values().find(|value| !is_text(value))?;
            refuse(odd, "string")
        }
        (Holds::TextByName, other) => refuse(other, "map[string]string"),
        (Holds::Objects(name, fields), Value::Array(items)) => items
            .iter()
            .find_map(|item| check_item(place, name, fields, item)),
        (Holds::Objects(name, _), other) => refuse(other, &format!("[]v1.{name}")),
    }
}

fn check_item(place: &str, name: &str, fields: &[(&str, Holds)], item: &Value) -> Option<String> {
    let members = match item {
        Value::Null => return None,
        Value::Object(members) => members,
        other => {
            let found = found(other);
            return Some(format!(
                "json: cannot unmarshal {found} into Go struct field {place} of type v1.{name}"
            ));
        }
    };
    // A nested field is told by the type it is in and the way to it.
    let way = place.split_once('.').map_or(place, |(_, way)| way);
    members.iter().find_map(|(member, value)| {
        let (_, holds) = fields.iter().find(|(known, _)| known == member)?;
        check(&format!("{name}.{way}.{member}"), holds, value)
    })
}

fn is_text(value: &Value) -> bool {
    value.is_string() || value.is_null()
}

/// What Go's decoder calls a value.
pub(crate) fn found(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_field_of_a_wrong_type_is_named() {
        for (metadata, expected) in [
            (
                json!({"name": "a", "labels": {"l": null}, "finalizers": ["x"], "generation": 3, "more": 1}),
                None,
            ),
            (
                json!({"name": 5}),
                Some("number into Go struct field ObjectMeta.name of type string"),
            ),
            (
                json!({"labels": 5}),
                Some("number into Go struct field ObjectMeta.labels of type map[string]string"),
            ),
            (
                json!({"labels": {"l": 5}}),
                Some("number into Go struct field ObjectMeta.labels of type string"),
            ),
            (
                json!({"annotations": {"l": {}}}),
                Some("object into Go struct field ObjectMeta.annotations of type string"),
            ),
            (
                json!({"finalizers": "x"}),
                Some("string into Go struct field ObjectMeta.finalizers of type []string"),
            ),
            (
                json!({"generation": 1.5}),
                Some("number 1.5 into Go struct field ObjectMeta.generation of type int64"),
            ),
            (
                json!({"uid": true}),
                Some("bool into Go struct field ObjectMeta.uid of type types.UID"),
            ),
            (
                json!({"ownerReferences": {}}),
                Some(
                    "object into Go struct field ObjectMeta.ownerReferences of type []v1.OwnerReference",
                ),
            ),
            (
                json!({"ownerReferences": [7]}),
                Some(
                    "number into Go struct field ObjectMeta.ownerReferences of type v1.OwnerReference",
                ),
            ),
            (
                json!({"ownerReferences": [{"name": []}]}),
                Some(
                    "array into Go struct field OwnerReference.ownerReferences.name of type string",
                ),
            ),
        ] {
            let told = mistyped(metadata.as_object().unwrap());
            let expected = expected.map(|rest| format!("json: cannot unmarshal {rest}"));
            assert_eq!(told, expected, "{metadata}");
        }
    }
}
