use object::Value;
use serde_json::json;

use super::PatchError;
use crate::{ListKind, Node, PatchStrategy, Property, Schema, Type, builder::SchemaBuilder};

/// Containers merge by name, arguments are replaced, finalizers are a set, the strategy keeps keys.
fn schema() -> Schema {
    let mut types = SchemaBuilder::new();
    let text = types.add(Node::of(Type::String));
    let texts = types.add(Node::list(text, ListKind::Unstated));
    let labels = types.add(Node::map(text));
    let container = types.add(Node::object([
        Property::new("name", text),
        Property::new("image", text),
        Property::new("args", texts),
    ]));
    let containers = types.add(Node::list(container, ListKind::Unstated));
    let strategy = types.add(Node::object([
        Property::new("type", text),
        Property::new("rolling", labels),
    ]));
    let root = types.add(Node::object([
        Property::new("containers", containers)
            .with_patch(PatchStrategy::parse("merge", Some("name"))),
        Property::new("finalizers", texts).with_patch(PatchStrategy::parse("merge", None)),
        Property::new("labels", labels),
        Property::new("raw", labels).with_patch(PatchStrategy::parse("replace", None)),
        Property::new("strategy", strategy).with_patch(PatchStrategy::parse("retainKeys", None)),
    ]));
    Schema::new(types.build().unwrap(), root)
}

#[track_caller]
fn check(object: Value, patch: Value, expected: Value) {
    let merged = schema().merge_strategically(object, patch.clone()).unwrap();
    assert_eq!(merged.to_string(), expected.to_string(), "{patch}");
}

#[test]
fn fields_merge_and_null_removes() {
    check(
        json!({"labels": {"a": "1", "b": "2"}}),
        json!({"labels": {"b": null, "c": "3"}}),
        json!({"labels": {"a": "1", "c": "3"}}),
    );
    check(
        json!({"labels": {"a": "1"}}),
        json!({"labels": null}),
        json!({}),
    );
    check(
        json!({}),
        json!({"labels": {"a": "1", "b": null}}),
        json!({"labels": {"a": "1"}}),
    );
    check(
        json!({"raw": {"a": "1"}}),
        json!({"raw": {"b": "2"}}),
        json!({"raw": {"b": "2"}}),
    );
    check(
        json!({"labels": "odd"}),
        json!({"labels": {"a": "1"}}),
        json!({"labels": {"a": "1"}}),
    );
}

#[test]
fn an_empty_patch_changes_nothing() {
    let object = json!({"z": 1, "containers": [{"name": "b"}, {"name": "a"}], "labels": {}});
    check(object.clone(), json!({}), object);
}

#[test]
fn lists_merge_by_key() {
    let object = json!({"containers": [{"name": "a", "image": "1", "args": ["x"]}, {"name": "b", "image": "1"}]});
    check(
        object.clone(),
        json!({"containers": [{"name": "a", "args": ["y"]}, {"name": "c", "image": "3"}]}),
        json!({"containers": [
            {"name": "a", "image": "1", "args": ["y"]}, {"name": "c", "image": "3"}, {"name": "b", "image": "1"},
        ]}),
    );
    check(
        object.clone(),
        json!({"containers": [{"name": "a", "$patch": "delete"}]}),
        json!({"containers": [{"name": "b", "image": "1"}]}),
    );
    check(
        object,
        json!({"containers": [{"name": "c"}, {"$patch": "replace"}]}),
        json!({"containers": [{"name": "c"}]}),
    );
}

#[test]
fn plain_lists_merge_as_sets_or_are_replaced() {
    check(
        json!({"finalizers": ["a", "b"]}),
        json!({"finalizers": ["c", "a"]}),
        json!({"finalizers": ["c", "a", "b"]}),
    );
    check(
        json!({"finalizers": ["a", "b", "c"]}),
        json!({"$deleteFromPrimitiveList/finalizers": ["b"]}),
        json!({"finalizers": ["a", "c"]}),
    );
}

#[test]
fn an_order_can_be_set() {
    check(
        json!({"finalizers": ["a", "b", "c"]}),
        json!({"$setElementOrder/finalizers": ["c", "a"]}),
        json!({"finalizers": ["b", "c", "a"]}),
    );
    check(
        json!({"containers": [{"name": "a"}, {"name": "b"}]}),
        json!({
            "$setElementOrder/containers": [{"name": "b"}, {"name": "c"}, {"name": "a"}],
            "containers": [{"name": "c", "image": "3"}],
        }),
        json!({"containers": [{"name": "b"}, {"name": "c", "image": "3"}, {"name": "a"}]}),
    );
}

#[test]
fn directives_replace_delete_and_retain() {
    check(
        json!({"labels": {"a": "1"}}),
        json!({"labels": {"$patch": "replace", "b": "2"}}),
        json!({"labels": {"b": "2"}}),
    );
    check(
        json!({"labels": {"a": "1"}}),
        json!({"labels": {"$patch": "delete"}}),
        json!({"labels": {}}),
    );
    check(
        json!({"strategy": {"type": "RollingUpdate", "rolling": {"a": "1"}}}),
        json!({"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}),
        json!({"strategy": {"type": "Recreate"}}),
    );
}

#[test]
fn contradictions_are_refused() {
    let containers = json!({"containers": [{"name": "a"}], "finalizers": ["a"], "labels": {}});
    for (patch, message) in [
        (
            json!({"$patch": "merge"}),
            "unknown patch type: merge in map: {}",
        ),
        (
            json!({"containers": [{"image": "1"}]}),
            r#"map: {"image":"1"} does not contain declared merge key: name"#,
        ),
        (
            json!({"containers": [{"name": "a", "$patch": "merge"}]}),
            "merging lists cannot yet be specified in the patch",
        ),
        (
            json!({"containers": ["a"]}),
            r#"list element types are not identical: [{"name":"a"}] ["a"]"#,
        ),
        (
            json!({"finalizers": [["a"]]}),
            r#"list element types are not identical: ["a"] [["a"]]"#,
        ),
        (
            json!({"$retainKeys": ["labels"], "finalizers": []}),
            "invalid patch format of retainKeys",
        ),
        (
            json!({"$retainKeys": "labels"}),
            "invalid patch format of retainKeys",
        ),
        (
            json!({"$setElementOrder": []}),
            "invalid patch format of setElementOrder list",
        ),
        (
            json!({"$setElementOrder/finalizers": "a"}),
            "expected a []interface {}, but received a string",
        ),
        (
            json!({"$deleteFromPrimitiveList": []}),
            "invalid patch format of primitive list",
        ),
        (
            json!({"$setElementOrder/finalizers": ["a"], "finalizers": ["b"]}),
            "The order in patch list:\n[\"b\"]\n doesn't match $setElementOrder list:\n[\"a\"]\n",
        ),
    ] {
        let error = schema()
            .merge_strategically(containers.clone(), patch.clone())
            .unwrap_err();
        assert_eq!(error.to_string(), message, "{patch}");
    }
    assert_eq!(
        schema().merge_strategically(json!([]), json!({})),
        Err(PatchError::NotAnObject)
    );
}

/// As many elements as a body has room for make no list too long to be merged: every list is looked through once.
#[test]
fn long_lists_merge_like_short_ones() {
    const LENGTH: usize = 5_000;
    let container =
        |number: usize, image: &str| json!({"name": format!("c{number}"), "image": image});
    let containers = |image: &str| -> Vec<Value> {
        (0..LENGTH).map(|number| container(number, image)).collect()
    };
    let texts = |numbers: &mut dyn Iterator<Item = usize>| -> Vec<Value> {
        numbers.map(|number| json!(format!("f{number}"))).collect()
    };
    let (old, new) = (containers("1"), containers("2"));
    let backwards: Vec<Value> = new.iter().rev().cloned().collect();
    let (all, even, odd) = (
        texts(&mut (0..LENGTH)),
        texts(&mut (0..LENGTH).step_by(2)),
        texts(&mut (1..LENGTH).step_by(2)),
    );
    let deletions: Vec<Value> = (0..LENGTH)
        .map(|number| json!({"name": format!("c{number}"), "$patch": "delete"}))
        .collect();
    let names: Vec<Value> = (0..LENGTH)
        .rev()
        .map(|number| json!({"name": format!("c{number}")}))
        .collect();
    for (object, patch, expected) in [
        (
            json!({"containers": old}),
            json!({"containers": new}),
            json!({"containers": new}),
        ),
        (
            json!({"containers": old}),
            json!({"containers": backwards}),
            json!({"containers": backwards}),
        ),
        (
            json!({"containers": old}),
            json!({"containers": deletions}),
            json!({"containers": []}),
        ),
        (
            json!({"containers": new}),
            json!({"$setElementOrder/containers": names}),
            json!({"containers": backwards}),
        ),
        (
            json!({"finalizers": all}),
            json!({"finalizers": all}),
            json!({"finalizers": all}),
        ),
        (
            json!({"finalizers": all}),
            json!({"$deleteFromPrimitiveList/finalizers": odd}),
            json!({"finalizers": even}),
        ),
    ] {
        check(object, patch, expected);
    }
}
