//! Objects made up from a schema: whatever the schema allows, with `null` here and there, and unknown fields at every
//! level.

use karavel_api::{Kind, schema::structural_schema};
use object::Object;
use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
    sample::select,
};
use serde_json::{Map, Value, json};

/// How the names of fields begin that no schema knows.
pub(crate) const UNKNOWN: &str = "unknown-";

/// Objects of one kind.
pub(crate) fn object<T: Kind>() -> BoxedStrategy<Object> {
    let schema = structural_schema::<T>();
    let fields = (value(&schema), metadata());
    fields
        .prop_map(|(mut fields, metadata)| {
            fields["apiVersion"] = T::API_VERSION.into();
            fields["kind"] = T::KIND.into();
            fields["metadata"] = metadata;
            Object::from_value(fields).expect("objects are made up")
        })
        .boxed()
}

/// Any JSON value, for what schemas leave open.
fn anything() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1.0e9..1.0e9).prop_map(Value::from),
        text(0, 12).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let name = "[a-z]{1,6}";
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            btree_map(name, inner, 0..3).prop_map(|fields| fields.into_iter().collect()),
        ]
    })
    .boxed()
}

/// Values that a schema allows.
fn value(schema: &Value) -> BoxedStrategy<Value> {
    if let Some(choices) = schema["enum"].as_array() {
        return select(choices.clone()).boxed();
    }
    if schema["x-kubernetes-int-or-string"] == true {
        let texts = [
            "0",
            "1",
            "250m",
            "1500m",
            "4Gi",
            "512Mi",
            "1e3",
            "-5",
            "0.5",
            "9223372036854775807",
        ];
        return prop_oneof![
            any::<i32>().prop_map(Value::from),
            select(texts.to_vec()).prop_map(Value::from)
        ]
        .boxed();
    }
    match schema["type"].as_str() {
        Some("boolean") => any::<bool>().prop_map(Value::from).boxed(),
        Some("integer") => integer(schema),
        Some("string") => string(schema),
        Some("array") => {
            let limit = |key: &str| {
                schema[key]
                    .as_u64()
                    .map(|limit| usize::try_from(limit).expect("small"))
            };
            let most = limit("maxItems").unwrap_or(2);
            vec(
                value(&schema["items"]),
                limit("minItems").unwrap_or(0)..=most,
            )
            .prop_map(Value::from)
            .boxed()
        }
        Some("object") if schema["x-kubernetes-preserve-unknown-fields"] == true => {
            btree_map("[a-z]{1,6}", anything(), 0..4)
                .prop_map(|fields| fields.into_iter().collect())
                .boxed()
        }
        Some("object") => match schema.get("additionalProperties") {
            Some(values) => btree_map("[a-z]{1,8}", value(values), 0..3)
                .prop_map(|fields| fields.into_iter().collect())
                .boxed(),
            None => fields(schema),
        },
        // A value of any type; `null` means that there is none.
        _ => anything(),
    }
}

/// The fields of an object: those required, some of the others, and some that nobody knows.
fn fields(schema: &Value) -> BoxedStrategy<Value> {
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut known = Vec::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let field = if required.contains(&name.as_str()) {
            value(property).prop_map(Some).boxed()
        } else {
            // Go clients write `null` for what they leave unset.
            let given = prop_oneof![8 => value(property), 1 => Just(Value::Null)];
            option::weighted(0.6, given).boxed()
        };
        let name = name.clone();
        known.push(field.prop_map(move |value| value.map(|value| (name.clone(), value))));
    }
    let unknown = vec(("[a-z]{1,4}", anything()), 0..2);
    (known, unknown, any::<bool>())
        .prop_map(|(known, unknown, first)| {
            let unknown = unknown
                .into_iter()
                .map(|(name, value)| (format!("{UNKNOWN}{name}"), value));
            let known = known.into_iter().flatten();
            let fields: Map<String, Value> = if first {
                unknown.chain(known).collect()
            } else {
                known.chain(unknown).collect()
            };
            Value::Object(fields)
        })
        .boxed()
}

fn metadata() -> BoxedStrategy<Value> {
    let map = || option::of(btree_map("[a-z]{1,8}(\\.io/[a-z]{1,4})?", text(0, 8), 0..3));
    (
        text(1, 12),
        option::of("[a-z]{1,8}"),
        map(),
        map(),
        option::of(1_i64..1000),
        anything(),
    )
        .prop_map(
            |(name, namespace, labels, annotations, generation, unknown)| {
                let mut metadata = json!({ "name": name, "unknown-field": unknown });
                let optional = [
                    ("namespace", namespace.map(Value::from)),
                    ("labels", labels.map(|map| json!(map))),
                    ("annotations", annotations.map(|map| json!(map))),
                    ("generation", generation.map(Value::from)),
                    ("creationTimestamp", Some(Value::Null)),
                ];
                for (key, value) in optional {
                    if let Some(value) = value {
                        metadata[key] = value;
                    }
                }
                metadata
            },
        )
        .boxed()
}

fn integer(schema: &Value) -> BoxedStrategy<Value> {
    let widest = if schema["format"] == "int32" {
        (i32::MIN.into(), i32::MAX.into())
    } else {
        (i64::MIN, i64::MAX)
    };
    let least = schema["minimum"].as_i64().unwrap_or(widest.0);
    let most = schema["maximum"].as_i64().unwrap_or(widest.1);
    // Small numbers, the limits, and everything between.
    prop_oneof![0_i64..10, Just(least), Just(most), any::<i64>()]
        .prop_map(move |number| Value::from(number.clamp(least, most)))
        .boxed()
}

fn string(schema: &Value) -> BoxedStrategy<Value> {
    if schema["format"] == "date-time" {
        let times = [
            "2026-01-02T03:04:05Z",
            "1970-01-01T00:00:00Z",
            "2038-12-31T23:59:59Z",
        ];
        return select(times.to_vec()).prop_map(Value::from).boxed();
    }
    if schema["format"] == "byte" {
        return select(&["", "aGVsbG8=", "AAEC"][..])
            .prop_map(Value::from)
            .boxed();
    }
    if schema.get("pattern").is_some() {
        // All patterns here are about CamelCase words.
        return select(&["Ready", "Applied", "Scheduled", "A"][..])
            .prop_map(Value::from)
            .boxed();
    }
    let limit = |key: &str| {
        schema[key]
            .as_u64()
            .map(|limit| usize::try_from(limit).expect("small"))
    };
    text(
        limit("minLength").unwrap_or(0),
        limit("maxLength").unwrap_or(16).min(16),
    )
    .prop_map(Value::from)
    .boxed()
}

fn text(least: usize, most: usize) -> BoxedStrategy<String> {
    let plain = proptest::string::string_regex(&format!("[a-z0-9./-]{{{least},{most}}}"))
        .expect("a valid pattern");
    let odd = vec(any::<char>(), least..=most).prop_map(|letters| letters.into_iter().collect());
    prop_oneof![4 => plain, 1 => odd].boxed()
}
