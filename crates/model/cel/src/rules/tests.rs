//! Schemas with rules, objects, and what is said about them.

use object::Value;
use object::field::FieldPath;
use serde_json::json;

use super::Rules;

fn compiled(schema: &Value) -> Result<Rules, String> {
    let path = FieldPath::from("schema");
    let schema = schema::crd::read(schema, &path).unwrap();
    Rules::compile(&schema, &path).map_err(|errors| {
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        texts.join("\n")
    })
}

/// A schema whose spec has these properties and rules.
fn with_spec(properties: Value, rules: Value) -> Value {
    json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": properties, "x-kubernetes-validations": rules},
    }})
}

fn check(schema: &Value, old: Option<Value>, new: Value, expected: &[&str]) {
    let rules = compiled(schema).unwrap();
    let found: Vec<String> = rules
        .check(old.as_ref(), &new)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(found, expected, "{new}");
}

#[test]
fn rules_hold_or_say_why_not() {
    let schema = with_spec(
        json!({
            "min": {"type": "integer"}, "max": {"type": "integer"},
            "namespace": {"type": "string"}, "a-b": {"type": "string"},
            "when": {"type": "string", "format": "date-time"},
            "port": {"x-kubernetes-int-or-string": true},
        }),
        json!([
            {"rule": "self.min <= self.max", "message": "min must not exceed max"},
            {"rule": "!has(self.__namespace__) || self.__namespace__ != 'bad'"},
            {"rule": "!has(self.a__dash__b) || self.a__dash__b == 'x'", "reason": "FieldValueForbidden", "fieldPath": ".a-b"},
            {"rule": "self.max < 100", "messageExpression": "'max is ' + string(self.max)"},
            {"rule": "!has(self.when) || self.when > timestamp('2020-01-01T00:00:00Z')"},
            {"rule": "!has(self.port) || self.port != 0"},
        ]),
    );
    check(&schema, None, json!({"spec": {"min": 1, "max": 2}}), &[]);
    check(
        &schema,
        None,
        json!({"spec": {"min": 3, "max": 2, "namespace": "bad", "a-b": "y", "when": "2019-01-01T00:00:00Z", "port": 0}}),
        &[
            "spec: Invalid value: \"object\": min must not exceed max",
            "spec: Invalid value: \"object\": failed rule: !has(self.__namespace__) || self.__namespace__ != 'bad'",
            "spec.a-b: Forbidden: failed rule: !has(self.a__dash__b) || self.a__dash__b == 'x'",
            "spec: Invalid value: \"object\": failed rule: !has(self.when) || self.when > timestamp('2020-01-01T00:00:00Z')",
            "spec: Invalid value: \"object\": failed rule: !has(self.port) || self.port != 0",
        ],
    );
    check(
        &schema,
        None,
        json!({"spec": {"min": 1, "max": 200}}),
        &["spec: Invalid value: \"object\": max is 200"],
    );
    check(
        &schema,
        None,
        json!({"spec": {"min": 1}}),
        &[
            "spec: Invalid value: \"object\": no such key: max evaluating rule: min must not exceed max",
            "spec: Invalid value: \"object\": no such key: max evaluating rule: self.max < 100",
        ],
    );
}

#[test]
fn rules_stand_at_every_level() {
    let text = |rule: &str| json!({"type": "string", "x-kubernetes-validations": [{"rule": rule}]});
    let schema = json!({"type": "object",
    "x-kubernetes-validations": [{"rule": "self.metadata.name != 'forbidden'"}],
    "properties": {"spec": {"type": "object", "properties": {
        "names": {"type": "array", "items": text("self.size() < 4")},
        "labels": {"type": "object", "additionalProperties": text("self != ''")},
        "embedded": {"type": "object", "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true,
            "x-kubernetes-validations": [{"rule": "self.kind == 'Pod' && self.metadata.name.startsWith('p')"}]},
    }}}});
    check(
        &schema,
        None,
        json!({"metadata": {"name": "forbidden"}, "spec": {
            "names": ["ok", "too long"], "labels": {"a": "x", "b": ""},
            "embedded": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "q"}},
        }}),
        &[
            "<root>: Invalid value: \"object\": failed rule: self.metadata.name != 'forbidden'",
            "spec.names[1]: Invalid value: \"string\": failed rule: self.size() < 4",
            "spec.labels[b]: Invalid value: \"string\": failed rule: self != ''",
            "spec.embedded: Invalid value: \"object\": failed rule: self.kind == 'Pod' && self.metadata.name.startsWith('p')",
        ],
    );
}

#[test]
fn transitions_see_what_was_before() {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "size": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "may not shrink"}]},
        "once": {"type": "string", "x-kubernetes-validations": [
            {"rule": "!oldSelf.hasValue() || oldSelf.value() == self", "optionalOldSelf": true},
        ]},
        "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string"},
                "number": {"type": "integer", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]},
            }}},
    }}}});
    let object = |size: i64, once: &str, ports: Value| json!({"spec": {"size": size, "once": once, "ports": ports}});
    let ports = json!([{"name": "a", "number": 1}, {"name": "b", "number": 2}]);
    check(&schema, None, object(3, "x", ports.clone()), &[]);
    check(
        &schema,
        Some(object(3, "x", ports)),
        object(
            2,
            "y",
            json!([{"name": "new", "number": 9}, {"name": "b", "number": 3}, {"name": "a", "number": 1}]),
        ),
        &[
            "spec.size: Invalid value: \"integer\": may not shrink",
            "spec.once: Invalid value: \"string\": failed rule: !oldSelf.hasValue() || oldSelf.value() == self",
            "spec.ports[1].number: Invalid value: \"integer\": failed rule: self == oldSelf",
        ],
    );
}

#[test]
fn what_a_write_did_not_change_is_not_held_against_it() {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "names": {"type": "array", "items": {"type": "string", "x-kubernetes-validations": [{"rule": "self.size() < 4"}]}},
        "other": {"type": "string"},
        "kept": {"type": "object", "properties": {"n": {"type": "integer"}},
            "x-kubernetes-validations": [{"rule": "self.n < 5"}]},
    }}}});
    let object = |names: Value, other: &str, n: i64| json!({"spec": {"names": names, "other": other, "kept": {"n": n}}});
    let old = object(json!(["far too long"]), "a", 9);
    check(
        &schema,
        Some(old.clone()),
        object(json!(["far too long"]), "b", 9),
        &[],
    );
    check(
        &schema,
        Some(old),
        object(json!(["far too long", "x"]), "b", 8),
        &[
            "spec.names[0]: Invalid value: \"string\": failed rule: self.size() < 4",
            "spec.kept: Invalid value: \"object\": failed rule: self.n < 5",
        ],
    );
}

#[test]
fn rules_that_cannot_be_are_refused_with_their_place() {
    let refused = |rules: Value, expected: &str| {
        let schema = with_spec(json!({"n": {"type": "integer"}}), rules.clone());
        let error = compiled(&schema).err().unwrap_or_default();
        assert!(error.contains(expected), "{rules}: {error}");
    };
    let at = "schema.properties[spec].x-kubernetes-validations[0]";
    refused(
        json!([{"rule": "self.m > 1"}]),
        &format!(
            "{at}.rule: Invalid value: \"self.m > 1\": compilation failed: ERROR: <input>:1:5: undefined field 'm'"
        ),
    );
    refused(
        json!([{"rule": "self.n"}]),
        "cel expression must evaluate to a bool",
    );
    refused(
        json!([{"rule": "true", "messageExpression": "1"}]),
        "messageExpression must evaluate to a string",
    );
    refused(
        json!([{"rule": "true", "optionalOldSelf": true}]),
        "may not be set if oldSelf is not used in rule",
    );
    let list = with_spec(
        json!({"l": {"type": "array", "items": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}}),
        json!([]),
    );
    let error = compiled(&list).err().unwrap_or_default();
    assert!(
        error.contains("oldSelf cannot be used on the uncorrelatable portion"),
        "{error}"
    );
}

#[test]
fn a_costly_rule_ends_the_check() {
    let schema = with_spec(
        json!({"l": {"type": "array", "items": {"type": "integer"}}}),
        json!([
            {"rule": "self.l.all(a, self.l.all(b, self.l.all(c, a + b + c >= 0)))"},
            {"rule": "self.l.size() < 0"},
        ]),
    );
    let list: Vec<i64> = (0..300).collect();
    check(
        &schema,
        None,
        json!({"spec": {"l": list}}),
        &[
            "spec: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: self.l.all(a, self.l.all(b, self.l.all(c, a + b + c >= 0)))",
        ],
    );
}

#[test]
fn defaults_must_satisfy_the_rules() {
    let rule =
        |rule: &str| json!([{"rule": rule, "message": "not so", "reason": "FieldValueForbidden"}]);
    let cases = [
        (
            json!({"n": {"type": "integer", "default": 5, "x-kubernetes-validations": rule("self < 10")}}),
            None,
        ),
        (
            json!({"n": {"type": "integer", "default": 5, "x-kubernetes-validations": rule("self > 10")}}),
            Some("schema.properties[spec].properties[n].default: Forbidden: not so"),
        ),
        (
            json!({"o": {"type": "object", "default": {"n": 5}, "properties": {
                "n": {"type": "integer", "x-kubernetes-validations": rule("self > 10")},
            }}}),
            Some("schema.properties[spec].properties[o].default.n: Forbidden: not so"),
        ),
        (
            json!({"l": {"type": "array", "items": {"type": "object", "properties": {
                "n": {"type": "integer", "default": 5, "x-kubernetes-validations": rule("self > 10")},
            }}}}),
            Some(
                "schema.properties[spec].properties[l].items.properties[n].default: Forbidden: not so",
            ),
        ),
        // A default does not change, and so breaks no rule about changes.
        (
            json!({"n": {"type": "integer", "default": 5, "x-kubernetes-validations": rule("self == oldSelf")}}),
            None,
        ),
    ];
    for (properties, expected) in cases {
        let path = FieldPath::from("schema");
        let written = with_spec(properties, json!([]));
        let schema = schema::crd::read(&written, &path).unwrap();
        let rules = Rules::compile(&schema, &path).unwrap();
        let found: Vec<String> = rules
            .check_defaults(&schema, &path)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found.first().map(String::as_str), expected, "{written}");
    }
}
