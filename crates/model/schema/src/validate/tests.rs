use object::Value;
use serde_json::json;

use crate::{Schema, crd};

fn schema(spec: &Value) -> Schema {
    let whole = json!({"type": "object", "properties": {"spec": spec}});
    crd::read(&whole, &"schema".into()).unwrap()
}

#[track_caller]
fn check(spec: Value, value: Value, expected: &[&str]) {
    let errors = schema(&spec).validate(&json!({"spec": value}));
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(texts, expected, "{spec} {value}");
}

#[test]
fn wrong_types_are_reported_as_by_kubernetes() {
    let replicas = json!({"type": "object", "properties": {"replicas": {"type": "integer", "format": "int32"}}});
    check(
        replicas.clone(),
        json!({"replicas": "x"}),
        &[
            r#"spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string""#,
        ],
    );
    check(
        replicas.clone(),
        json!({"replicas": 3_000_000_000_i64}),
        &[
            r#"<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.replicas"#,
        ],
    );
    check(replicas.clone(), json!({"replicas": 2.0}), &[]);
    check(
        replicas,
        json!([]),
        &[r#"spec: Invalid value: "array": spec in body must be of type object: "array""#],
    );
    let list = json!({"type": "array", "items": {"type": "object", "additionalProperties": {"type": "boolean"}}});
    check(
        list,
        json!([{}, {"a": true}, {"b": null}]),
        &[r#"spec[2].b: Invalid value: "null": spec[2].b in body must be of type boolean: "null""#],
    );
    check(
        json!({"type": "string", "nullable": true}),
        json!(null),
        &[],
    );
    check(
        json!({"x-kubernetes-int-or-string": true}),
        json!("10%"),
        &[],
    );
    check(
        json!({"x-kubernetes-int-or-string": true}),
        json!(true),
        &[
            r#"spec: Invalid value: "boolean": spec in body must be of type integer,string: "boolean""#,
        ],
    );
}

#[test]
fn broken_rules_are_reported_as_by_kubernetes() {
    for (spec, value, expected) in [
        (
            json!({"type": "string", "maxLength": 2}),
            json!("abc"),
            "spec: Too long: may not be more than 2 bytes",
        ),
        (
            json!({"type": "string", "minLength": 2}),
            json!("é"),
            r#"spec: Invalid value: "é": spec in body should be at least 2 chars long"#,
        ),
        (
            json!({"type": "string", "pattern": "^a+$"}),
            json!("b"),
            r#"spec: Invalid value: "b": spec in body should match '^a+$'"#,
        ),
        (
            json!({"type": "string", "enum": ["a", "b"]}),
            json!("c"),
            r#"spec: Unsupported value: "c": supported values: "a", "b""#,
        ),
        (
            json!({"type": "string", "format": "date-time"}),
            json!("soon"),
            r#"spec: Invalid value: "soon": spec in body must be of type date-time: "soon""#,
        ),
        (
            json!({"type": "integer", "minimum": 1}),
            json!(0),
            "spec: Invalid value: 0: spec in body should be greater than or equal to 1",
        ),
        (
            json!({"type": "number", "maximum": 1.5, "exclusiveMaximum": true}),
            json!(1.5),
            "spec: Invalid value: 1.5: spec in body should be less than 1.5",
        ),
        (
            json!({"type": "integer", "multipleOf": 3}),
            json!(4),
            "spec: Invalid value: 4: spec in body should be a multiple of 3",
        ),
        (
            json!({"type": "array", "maxItems": 1, "items": {"type": "integer"}}),
            json!([1, 2]),
            "spec: Too many: 2: must have at most 1 item",
        ),
        (
            json!({"type": "array", "minItems": 1, "items": {"type": "integer"}}),
            json!([]),
            "spec: Invalid value: 0: spec in body should have at least 1 items",
        ),
        (
            json!({"type": "object", "required": ["a"]}),
            json!({}),
            "spec.a: Required value",
        ),
        (
            json!({"type": "object", "minProperties": 1, "additionalProperties": {"type": "string"}}),
            json!({}),
            "spec: Invalid value: 0: spec in body should have at least 1 properties",
        ),
        (
            json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}),
            json!(["a", "b", "a", "a"]),
            r#"spec[2]: Duplicate value: "a""#,
        ),
    ] {
        check(spec, value, &[expected]);
    }
}

#[test]
fn keyed_lists_may_not_repeat_a_key() {
    let list = json!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "protocol"],
        "items": {
            "type": "object",
            "required": ["port"],
            "properties": {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}},
        },
    });
    let ports = json!([{"port": 1, "protocol": "TCP"}, {"port": 1, "protocol": "UDP"}, {"port": 1, "protocol": "TCP"}]);
    check(
        list,
        ports,
        &[r#"spec[2]: Duplicate value: {"port":1,"protocol":"TCP"}"#],
    );
}

#[test]
fn combinations_report_the_closest_alternative() {
    let pair = json!({"a": {"type": "string"}, "b": {"type": "string"}});
    let one = json!({"type": "object", "properties": pair, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
    check(
        one.clone(),
        json!({}),
        &[
            r#"<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found none valid"#,
            "spec.a: Required value",
        ],
    );
    check(
        one,
        json!({"a": "", "b": ""}),
        &[
            r#"<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives"#,
        ],
    );
    let not = json!({"type": "string", "not": {"enum": ["root"]}});
    check(
        not,
        json!("root"),
        &[r#"<nil>: Invalid value: "": "spec" must not validate the schema (not)"#],
    );
    let any = json!({"type": "integer", "anyOf": [{"maximum": 1}, {"minimum": 5}]});
    check(any.clone(), json!(5), &[]);
    check(
        any,
        json!(3),
        &[
            r#"<nil>: Invalid value: "": "spec" must validate at least one schema (anyOf)"#,
            "spec: Invalid value: 3: spec in body should be less than or equal to 1",
        ],
    );
}

#[test]
fn embedded_objects_need_an_identity() {
    let embedded = json!({
        "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
    });
    check(
        embedded.clone(),
        json!({"apiVersion": "v1", "kind": "Pod", "any": 1}),
        &[],
    );
    check(
        embedded.clone(),
        json!({}),
        &[
            "spec.apiVersion: Required value",
            "spec.kind: Required value",
        ],
    );
    check(
        embedded,
        json!({"apiVersion": "v1", "kind": "", "metadata": {"name": "a/b"}}),
        &[
            r#"spec.kind: Invalid value: "": must not be empty"#,
            r#"spec.metadata.name: Invalid value: "a/b": may not contain '/'"#,
        ],
    );
}

#[test]
fn what_did_not_change_is_not_held_against_an_update() {
    let strict = schema(&json!({
        "type": "object",
        "properties": {
            "a": {"type": "string", "maxLength": 1},
            "list": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {"name": {"type": "string"}, "v": {"type": "integer", "maximum": 1}},
                },
            },
        },
    }));
    let object = |a: &str, list: Value| json!({"spec": {"a": a, "list": list}});
    let old = object(
        "too long",
        json!([{"name": "x", "v": 9}, {"name": "y", "v": 1}]),
    );
    let count = |new: &Value| strict.validate_update(new, &old).len();
    assert_eq!(
        count(&object(
            "too long",
            json!([{"name": "y", "v": 0}, {"name": "x", "v": 9}])
        )),
        0
    );
    assert_eq!(
        count(&object("too long as well", json!([{"name": "x", "v": 9}]))),
        1
    );
    assert_eq!(count(&object("a", json!([{"name": "x", "v": 8}]))), 1);
    assert_eq!(
        count(&object(
            "a",
            json!([{"name": "x", "v": 9}, {"name": "x", "v": 9}])
        )),
        1,
        "a new duplicate"
    );
    // Elements of long lists are found like those of short ones, wherever they are.
    let long = |wrong: usize, odd: usize| -> Value {
        let items = (0..1_000).map(|number| match number {
            number if number == odd => json!({"name": format!("n{number}"), "v": 8}),
            number if number < wrong => json!({"name": format!("n{number}"), "v": 9}),
            number => json!({"name": format!("n{number}"), "v": 1}),
        });
        object("a", items.rev().collect())
    };
    let mut stored = long(500, 1_000);
    stored["spec"]["list"].as_array_mut().unwrap().reverse();
    for (new, errors) in [
        (long(500, 1_000), 0),
        (long(500, 499), 1),
        (long(500, 500), 1),
        (long(510, 1_000), 10),
    ] {
        assert_eq!(strict.validate_update(&new, &stored).len(), errors);
    }
}

#[test]
fn deep_objects_are_refused_and_do_not_overflow_the_stack() {
    let free =
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {}});
    let mut types = crate::builder::SchemaBuilder::new();
    let tree = types.reference("Tree");
    types
        .define(
            "Tree",
            crate::Node::object([crate::Property::new("t", tree)]),
        )
        .unwrap();
    let tree = types.build().unwrap().schema("Tree").unwrap();
    let mut value = json!({});
    for _ in 0..20_000 {
        value = Value::Object([("t".to_owned(), value)].into_iter().collect());
    }
    assert_eq!(tree.validate(&value).len(), 1);
    assert!(tree.prune(&mut value).is_empty());
    tree.apply_defaults(&mut value);
    schema(&free).prune(&mut value);
    // Dropping the value recurses too; take it apart by hand.
    while let Value::Object(mut fields) = value {
        value = fields.shift_remove("t").unwrap_or_default();
    }
}
