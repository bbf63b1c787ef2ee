use object::Value;
use serde_json::json;

use super::read;

#[track_caller]
fn check(schema: Value, expected: &[&str]) {
    let texts: Vec<String> = match read(&schema, &"s".into()) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(texts, expected, "{schema}");
}

fn spec(spec: Value) -> Value {
    json!({"type": "object", "properties": {"spec": spec}})
}

#[test]
fn structural_schemas_are_read() {
    check(json!({"type": "object"}), &[]);
    check(
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        &[],
    );
    check(
        spec(
            json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
        ),
        &[],
    );
    check(
        spec(
            json!({"type": "string", "anyOf": [{"maxLength": 1}, {"pattern": "^a"}], "default": "a"}),
        ),
        &[],
    );
}

#[test]
fn every_place_needs_a_type() {
    check(
        json!({}),
        &["s.type: Required value: must not be empty at the root"],
    );
    check(
        json!({"type": "string"}),
        &[r#"s.type: Invalid value: "string": must be object at the root"#],
    );
    check(
        json!({"type": "object", "properties": {"a": {}, "b": {"type": "array", "items": {}}, "c": {"type": "array"}}}),
        &[
            "s.properties[a].type: Required value: must not be empty for specified object fields",
            "s.properties[b].items.type: Required value: must not be empty for specified array items",
            "s.properties[c].items: Required value: must be specified",
        ],
    );
}

#[test]
fn combinations_may_only_restrict_what_is_described() {
    check(
        json!({
            "type": "object",
            "properties": {"a": {"type": "string", "oneOf": [{"type": "string", "default": "x", "nullable": true}]}},
            "allOf": [{"properties": {"b": {"minLength": 1}, "metadata": {}}}],
        }),
        &[
            "s.allOf[0].properties[metadata]: Forbidden: must not be specified in a nested context",
            "s.properties[a].oneOf[0].default: Forbidden: must be undefined to be structural",
            "s.properties[a].oneOf[0].nullable: Forbidden: must be false to be structural",
            "s.properties[a].oneOf[0].type: Forbidden: must be empty to be structural",
            "s.properties[b]: Required value: because it is defined in s.allOf[0].properties[b]",
            "s.properties[metadata]: Required value: because it is defined in s.allOf[0].properties[metadata]",
        ],
    );
}

#[test]
fn unsupported_constructs_are_refused() {
    check(
        spec(
            json!({"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": {"type": "string"}}),
        ),
        &[
            "s.properties[spec].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
            r#"s.properties[spec].properties[a].type: Unsupported value: "null": supported values: "array", "boolean", "integer", "number", "object", "string""#,
            "s.properties[spec].properties[a].type: Forbidden: type cannot be set to null, use nullable as an alternative",
        ],
    );
    check(
        spec(
            json!({"type": "array", "uniqueItems": true, "items": {"type": "string"}, "$ref": "#/x"}),
        ),
        &[
            "s.properties[spec].$ref: Forbidden: $ref is not supported",
            "s.properties[spec].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ],
    );
    check(
        spec(json!({"type": "string", "pattern": "(?!a)"})),
        &[
            "s.properties[spec].pattern: Invalid value: \"(?!a)\": must be a valid regular expression, but isn't: \
           error parsing regexp: invalid or unsupported Perl syntax: `(?!`",
        ],
    );
}

#[test]
fn metadata_may_only_restrict_names() {
    let named = |properties: Value| json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": properties}}});
    check(
        named(json!({"name": {"type": "string", "maxLength": 63}})),
        &[],
    );
    check(
        named(json!({"labels": {"type": "object"}})),
        &[
            "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, \
           but metadata is implicitly specified",
        ],
    );
}

#[test]
fn defaults_must_be_valid_themselves() {
    check(
        spec(
            json!({"type": "object", "properties": {"a": {"type": "integer"}}, "default": {"a": "x", "b": 1}}),
        ),
        &[
            r#"s.properties[spec].default: Invalid value: {"a":"x","b":1}: must not have unknown fields"#,
            r#"s.properties[spec].default.a: Invalid value: "string": a in body must be of type integer: "string""#,
        ],
    );
    check(
        json!({"type": "object", "properties": {"kind": {"type": "string", "default": "A"}}}),
        &["s.properties[kind].default: Forbidden: must not be set in top-level kind"],
    );
}

#[test]
fn list_keys_must_be_there_or_have_a_default() {
    let list = |items: Value| {
        spec(
            json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": items}),
        )
    };
    check(
        list(json!({"type": "object", "properties": {"k": {"type": "string", "default": ""}}})),
        &[],
    );
    check(
        list(json!({"type": "object", "nullable": true, "properties": {"k": {"type": "string"}}})),
        &[
            "s.properties[spec].items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is map",
            "s.properties[spec].items.properties[k].default: Required value: this property is in \
             x-kubernetes-list-map-keys, so it must have a default or be a required property",
        ],
    );
    check(
        list(json!({"type": "object", "properties": {"x": {"type": "string"}}})),
        &[
            r#"s.properties[spec].x-kubernetes-list-map-keys: Invalid value: ["k"]: entries must all be names of item properties"#,
        ],
    );
}

#[test]
fn rules_are_kept_as_text_and_checked_for_form() {
    let rule = |rule: Value| {
        spec(
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-validations": [rule]}),
        )
    };
    check(
        rule(json!({"rule": "self.a != ''", "message": "name it", "fieldPath": ".a"})),
        &[],
    );
    check(
        rule(json!({"rule": " ", "reason": "Because", "fieldPath": ".b"})),
        &[
            "s.properties[spec].x-kubernetes-validations[0].rule: Required value: rule is not specified",
            r#"s.properties[spec].x-kubernetes-validations[0].reason: Unsupported value: "Because": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired""#,
            r#"s.properties[spec].x-kubernetes-validations[0].fieldPath: Invalid value: ".b": must be a valid path"#,
        ],
    );
    let schema = read(&rule(json!({"rule": "true"})), &"s".into()).unwrap();
    let spec = schema.node(schema.root().property("spec").unwrap().schema);
    assert_eq!(&*spec.rules.as_deref().unwrap().expressions[0].rule, "true");
}

#[test]
fn a_schema_of_wrong_json_types_is_refused_with_its_path() {
    check(json!([]), &["s: Invalid value: []: must be a schema"]);
    check(
        json!({"type": 1, "properties": {"a": {"maxLength": "x", "required": [1]}}}),
        &[
            "s.type: Invalid value: 1: must be a string",
            r#"s.properties[a].maxLength: Invalid value: "x": must be an integer"#,
            "s.properties[a].required: Invalid value: 1: must be a list of strings",
        ],
    );
    let mut deep = json!({"type": "object"});
    for _ in 0..200 {
        deep = json!({"type": "object", "properties": {"a": deep}});
    }
    assert_eq!(read(&deep, &"s".into()).unwrap_err().len(), 1);
}
