//! Random definitions of users' own kinds: mostly sound, sometimes not.

use serde_json::{Map, Value, json};

use crate::dice::Dice;

/// A definition of a kind `Thing` in a group of its own.
pub(crate) fn definition(dice: &mut Dice, group: &str) -> Value {
    let mut properties = Map::new();
    for index in 0..2 + dice.below(4) {
        properties.insert(format!("f{index}"), node(dice, 2));
    }
    let mut spec = json!({"type": "object", "properties": properties});
    if dice.chance(25) {
        spec["required"] = json!(["f0"]);
    }
    if dice.chance(10) {
        spec["x-kubernetes-preserve-unknown-fields"] = json!(true);
    }
    if dice.chance(15) {
        spec["x-kubernetes-validations"] = json!([rule(dice, "has(self.f0) || has(self.f1)")]);
    }
    if dice.chance(10) {
        let key = dice.pick(&["oneOf", "anyOf", "allOf"]);
        spec[key] = json!([{"required": ["f0"]}, {"required": ["f1"]}]);
    }
    let status = json!({"type": "object", "properties": {"phase": {"type": "string"}, "count": {"type": "integer"}}});
    let mut version = json!({
        "name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
    });
    if dice.chance(60) {
        version["subresources"] = json!({"status": {}});
    }
    if dice.chance(20) {
        version["additionalPrinterColumns"] =
            json!([{"name": "F", "type": "string", "jsonPath": ".spec.f0"}]);
    }
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"kind": "Thing", "plural": "things"},
            "versions": [version],
        },
    });
    if dice.chance(15) {
        spoil(dice, &mut definition);
    }
    definition
}

/// One mistake that a person might make.
fn spoil(dice: &mut Dice, definition: &mut Value) {
    let version = &mut definition["spec"]["versions"][0];
    let schema = &mut version["schema"]["openAPIV3Schema"];
    match dice.below(16) {
        0 => schema["properties"]["spec"]["properties"]["f0"] = json!({"properties": {}}),
        1 => schema["properties"]["spec"]["properties"]["f0"] = json!({"type": "strnig"}),
        2 => {
            schema["properties"]["spec"]["properties"]["f0"] =
                json!({"type": "integer", "default": "x"})
        }
        3 => {
            schema["properties"]["spec"]["properties"]["f0"] = json!({"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"});
        }
        4 => schema["properties"]["spec"]["properties"]["f0"] = json!({"type": "array"}),
        5 => {
            schema["properties"]["spec"]["properties"]["f0"] =
                json!({"type": "string", "pattern": "("})
        }
        6 => schema["type"] = json!("array"),
        7 => version["storage"] = json!(false),
        8 => definition["spec"]["names"]["plural"] = json!("Things"),
        9 => definition["metadata"]["name"] = json!("other.example.org"),
        10 => definition["spec"]["scope"] = json!("Everywhere"),
        11 => {
            schema["properties"]["spec"]["x-kubernetes-validations"] =
                json!([{"rule": "self.missing > 3", "message": "m"}]);
        }
        12 => {
            schema["properties"]["spec"]["x-kubernetes-validations"] =
                json!([{"rule": "self.f0 +"}])
        }
        13 => {
            schema["properties"]["spec"]["properties"]["f0"] =
                json!({"type": "object", "uniqueItems": true})
        }
        14 => {
            schema["properties"]["spec"]["properties"]["f0"] = json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}});
        }
        _ => version["name"] = json!("1v"),
    }
}

fn node(dice: &mut Dice, depth: usize) -> Value {
    let mut node = match dice.below(if depth == 0 { 9 } else { 15 }) {
        0..=2 => string(dice),
        3..=4 => integer(dice),
        5 => json!({"type": "number"}),
        6 => json!({"type": "boolean"}),
        7 => json!({"x-kubernetes-int-or-string": true}),
        8 => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        9..=10 => object(dice, depth),
        11 => {
            let mut map = json!({"type": "object", "additionalProperties": node(dice, depth - 1)});
            if dice.chance(30) {
                map["maxProperties"] = json!(2);
            }
            map
        }
        _ => array(dice, depth),
    };
    if dice.chance(12) {
        node["nullable"] = json!(true);
    }
    if dice.chance(12) {
        node["description"] = json!("What it is for.");
    }
    node
}

fn string(dice: &mut Dice) -> Value {
    let mut node = json!({"type": "string"});
    match dice.below(8) {
        0 => node["enum"] = json!(["a", "b", "long"]),
        1 => node["pattern"] = json!("^[a-z]+$"),
        2 => node["maxLength"] = json!(3),
        3 => node["minLength"] = json!(2),
        4 => {
            node["format"] = json!(dice.pick(&[
                "date-time",
                "duration",
                "ipv4",
                "uuid",
                "byte",
                "email",
                "uri",
                "int32"
            ]))
        }
        5 => {
            let text = dice.pick(&[
                "self.size() < 4",
                "self.startsWith('a')",
                "self != 'b'",
                "self == oldSelf",
            ]);
            node["maxLength"] = json!(20);
            node["x-kubernetes-validations"] = json!([rule(dice, text)]);
        }
        _ => {}
    }
    if dice.chance(20) {
        node["default"] = json!(dice.pick(&["a", "b", "long"]));
    }
    node
}

fn integer(dice: &mut Dice) -> Value {
    let mut node = json!({"type": "integer"});
    match dice.below(7) {
        0 => node["minimum"] = json!(1),
        1 => node["maximum"] = json!(10),
        2 => node["multipleOf"] = json!(5),
        3 => node["format"] = json!(dice.pick(&["int32", "int64"])),
        4 => {
            let text = dice.pick(&["self < 6", "self % 2 == 0", "self >= oldSelf"]);
            node["x-kubernetes-validations"] = json!([rule(dice, text)]);
        }
        5 => {
            node["maximum"] = json!(7);
            node["exclusiveMaximum"] = json!(true);
        }
        _ => {}
    }
    if dice.chance(20) {
        node["default"] = json!(5);
    }
    node
}

fn object(dice: &mut Dice, depth: usize) -> Value {
    let mut properties = Map::new();
    for index in 0..1 + dice.below(3) {
        properties.insert(format!("g{index}"), node(dice, depth - 1));
    }
    let mut node = json!({"type": "object", "properties": properties});
    if dice.chance(25) {
        node["required"] = json!(["g0"]);
    }
    if dice.chance(15) {
        node["x-kubernetes-map-type"] = json!("atomic");
    }
    if dice.chance(20) {
        node["default"] = json!({});
    }
    if dice.chance(10) {
        node["x-kubernetes-validations"] = json!([rule(dice, "has(self.g0)")]);
    }
    if dice.chance(8) {
        node["x-kubernetes-preserve-unknown-fields"] = json!(true);
    }
    node
}

fn array(dice: &mut Dice, depth: usize) -> Value {
    let mut node = match dice.below(4) {
        0 => json!({
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": node(dice, depth - 1)}},
        }),
        1 => json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}),
        2 => {
            json!({"type": "array", "x-kubernetes-list-type": "atomic", "items": node(dice, depth - 1)})
        }
        _ => json!({"type": "array", "items": node(dice, depth - 1)}),
    };
    if dice.chance(20) {
        node["maxItems"] = json!(2);
    }
    if dice.chance(10) {
        node["minItems"] = json!(1);
    }
    if dice.chance(12) {
        node["maxItems"] = json!(3);
        node["x-kubernetes-validations"] = json!([rule(dice, "self.size() != 2")]);
    }
    node
}

fn rule(dice: &mut Dice, text: &str) -> Value {
    let mut rule = json!({"rule": text});
    if dice.chance(50) {
        rule["message"] = json!("must be as the rule says");
    }
    if dice.chance(15) {
        rule["messageExpression"] = json!("'not ' + 'so'");
    }
    if dice.chance(20) {
        rule["reason"] = json!(dice.pick(&[
            "FieldValueInvalid",
            "FieldValueForbidden",
            "FieldValueRequired",
            "FieldValueDuplicate"
        ]));
    }
    rule
}
