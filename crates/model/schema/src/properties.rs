//! What holds for any object, fitting or not.

use object::Value;
use proptest::prelude::*;
use serde_json::json;

use crate::{Malformed, Schema, crd, publish::OpenApi};

fn schema() -> Schema {
    let item = json!({
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"type": "string", "default": "x"}, "b": {"type": "integer", "nullable": true, "default": 1}},
    });
    let embedded = json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true});
    let spec = json!({"type": "object", "properties": {
        "a": {"type": "string", "maxLength": 2, "pattern": "^[a-c]*$", "enum": ["a", "b"]},
        "b": {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]},
        "c": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}, "default": {"z": 1}},
        "d": {"x-kubernetes-int-or-string": true},
        "e": embedded,
        "f": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": item}},
    }});
    crd::read(
        &json!({"type": "object", "properties": {"spec": spec}}),
        &"s".into(),
    )
    .unwrap()
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2i64..3).prop_map(Value::from),
        (-2i32..3).prop_map(|n| Value::from(f64::from(n) / 2.0)),
        "[abc]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        let names = proptest::sample::select(vec![
            "a",
            "b",
            "c",
            "d",
            "e",
            "f",
            "metadata",
            "kind",
            "apiVersion",
            "$patch",
        ]);
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            proptest::collection::vec((names, inner), 0..6).prop_map(|fields| {
                Value::Object(
                    fields
                        .into_iter()
                        .map(|(name, value)| (name.to_owned(), value))
                        .collect(),
                )
            }),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    (value(), value()).prop_map(|(spec, metadata)| json!({"spec": spec, "metadata": metadata}))
}

proptest! {
    #[test]
    fn pruning_twice_changes_nothing(mut object in object()) {
        let schema = schema();
        schema.prune(&mut object);
        let once = object.clone();
        prop_assert!(schema.prune(&mut object).is_empty());
        prop_assert_eq!(object, once);
    }

    #[test]
    fn filling_in_twice_changes_nothing(mut object in object()) {
        let schema = schema();
        schema.apply_defaults(&mut object);
        let once = object.clone();
        schema.apply_defaults(&mut object);
        prop_assert_eq!(object, once);
    }

    #[test]
    fn coercing_twice_changes_nothing(mut object in object()) {
        let schema = schema();
        prop_assert!(schema.coerce(&mut object, Malformed::Drop).is_ok());
        let once = object.clone();
        prop_assert!(schema.coerce(&mut object, Malformed::Drop).is_ok_and(|unknown| unknown.is_empty()));
        prop_assert_eq!(object, once);
    }

    #[test]
    fn an_unchanged_part_is_never_held_against_an_update(object in object()) {
        let schema = schema();
        let (all, left) = (schema.validate(&object), schema.validate_update(&object, &object));
        prop_assert!(left.len() <= all.len());
    }

    #[test]
    fn an_empty_patch_is_no_change(object in object()) {
        prop_assert_eq!(schema().merge_strategically(object.clone(), json!({})).unwrap(), object);
    }

    #[test]
    fn any_patch_is_merged_or_refused(object in object(), patch in object()) {
        let _either = schema().merge_strategically(object, patch);
    }
}

#[test]
fn a_published_schema_reads_back_as_itself() {
    let schema = schema();
    let published = schema.publish(OpenApi::V3);
    let mut plain = published.clone();
    for name in ["metadata", "apiVersion", "kind"] {
        plain["properties"]
            .as_object_mut()
            .unwrap()
            .shift_remove(name);
    }
    let embedded = plain["properties"]["spec"]["properties"]["e"]
        .as_object_mut()
        .unwrap();
    embedded.shift_remove("properties");
    let again = crd::read(&plain, &"s".into()).unwrap();
    assert_eq!(
        again.publish(OpenApi::V3)["properties"]["spec"]["properties"]["b"],
        published["properties"]["spec"]["properties"]["b"]
    );
}

#[test]
fn version_2_leaves_out_what_it_cannot_say() {
    let schema = crd::read(
        &json!({"type": "object", "properties": {"spec": {
            "type": "object",
            "required": ["a", "b"],
            "properties": {
                "a": {"type": "string", "nullable": true},
                "b": {"type": "string", "anyOf": [{"maxLength": 1}, {"pattern": "a"}]},
                "c": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"x": {"type": "string"}}},
            },
        }}}),
        &"s".into(),
    );
    let published = schema.unwrap().publish(OpenApi::V2);
    assert_eq!(
        published["properties"]["spec"],
        json!({
            "type": "object",
            "properties": {"a": {}, "b": {"type": "string"}, "c": {"x-kubernetes-preserve-unknown-fields": true}},
            "required": ["b"],
        })
    );
    assert_eq!(
        published["properties"]["metadata"],
        json!({"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "description": "Standard object's metadata: its name and what the server knows of it."})
    );
}
