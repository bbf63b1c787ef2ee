//! Random values for a schema: mostly fitting, sometimes not.

use serde_json::{Map, Value, json};

use crate::dice::Dice;

/// How often, in a hundred, a value is of another type than it should be.
const WRONG: usize = 3;

/// A value for a schema.
pub(crate) fn value(dice: &mut Dice, schema: &Value) -> Value {
    if dice.chance(WRONG) {
        return match dice.below(7) {
            0 => json!("wrong"),
            1 => json!(7),
            2 => json!([1]),
            3 => json!({"unknown": 1}),
            4 => json!(1.5),
            5 => json!(true),
            _ => Value::Null,
        };
    }
    if schema["nullable"] == true && dice.chance(15) {
        return Value::Null;
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return if dice.chance(50) {
            json!(dice.below(9))
        } else {
            json!("50%")
        };
    }
    match schema["type"].as_str().unwrap_or_default() {
        "string" => string(dice, schema),
        "integer" => json!([0, 1, 2, 5, 6, 10, 15, -1, 3_000_000_000_i64][dice.below(9)]),
        "number" => json!([0.0, 1.5, -2.25, 3.0, 1e21][dice.below(5)]),
        "boolean" => json!(dice.chance(50)),
        "array" => {
            let mut items: Vec<Value> = Vec::new();
            for _ in 0..dice.below(4) {
                items.push(value(dice, &schema["items"]));
            }
            json!(items)
        }
        _ => object(dice, schema),
    }
}

fn string(dice: &mut Dice, schema: &Value) -> Value {
    let fitting = match schema["format"].as_str().unwrap_or_default() {
        "date-time" => "2024-05-06T07:08:09Z",
        "duration" => "1h5m",
        "ipv4" => "10.0.0.1",
        "uuid" => "3f1c1f9e-6f1a-4f0b-9a53-0d6f2c8d6a11",
        "byte" => "aGVsbG8=",
        "email" => "a@b.org",
        "uri" => "https://a.b/c",
        _ => dice.pick(&["a", "b", "ab", "abc"]),
    };
    if dice.chance(75) {
        return json!(fitting);
    }
    json!(dice.pick(&["", "A", "a b", "long", "longer than that", "5", "é"]))
}

fn object(dice: &mut Dice, schema: &Value) -> Value {
    let mut fields = Map::new();
    if let Some(properties) = schema["properties"].as_object() {
        for (name, schema) in properties {
            if dice.chance(65) || name == "k" {
                fields.insert(name.clone(), value(dice, schema));
            }
        }
    }
    if let Some(items) = schema
        .get("additionalProperties")
        .filter(|items| items.is_object())
    {
        for _ in 0..dice.below(4) {
            let name = dice.pick(&["x", "y", "z.z/z"]).to_owned();
            let item = value(dice, items);
            fields.insert(name, item);
        }
    }
    if dice.chance(6) || (schema["x-kubernetes-preserve-unknown-fields"] == true && dice.chance(50))
    {
        fields.insert(String::from("unknown"), json!({"a": [1, {"b": null}]}));
    }
    Value::Object(fields)
}
