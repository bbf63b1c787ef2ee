//! What `null` says where a type has no such value, read as Go's decoder reads it.
//!
//! Manifests made from templates are full of it: a label without a value, an empty list element.

use object::parse::DEPTH_LIMIT;
use object::{Map, Value};

use crate::node::{Node, Schema, SchemaId, Type, Types};

impl Schema {
    /// Turns every `null` among list elements and map values into the empty value of its type. Fields that are `null` stay:
    /// they are as good as absent.
    pub fn settle_nulls(&self, object: &mut Value) {
        settle(&self.types, self.root, object, 0);
    }
}

fn settle(types: &Types, schema: SchemaId, value: &mut Value, depth: usize) {
    if depth > DEPTH_LIMIT {
        return;
    }
    let node = types.node(schema);
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                match (node.property(name), node.values) {
                    (Some(property), _) => settle(types, property.schema, value, depth + 1),
                    (None, Some(values)) => element(types, values, value, depth + 1),
                    (None, None) => {}
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = node.items else { return };
            for item in items {
                element(types, schema, item, depth + 1);
            }
        }
        _ => {}
    }
}

fn element(types: &Types, schema: SchemaId, value: &mut Value, depth: usize) {
    let node = types.node(schema);
    match value {
        Value::Null if !node.nullable => *value = empty(node),
        other => settle(types, schema, other, depth),
    }
}

/// The empty value of a type; `null` where any value would do.
fn empty(node: &Node) -> Value {
    match node.ty {
        Type::String => Value::from(""),
        Type::Boolean => Value::from(false),
        Type::Integer | Type::Number => Value::from(0),
        Type::Object => Value::Object(Map::new()),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::crd;

    #[test]
    fn null_is_the_empty_value_among_elements_and_stays_where_it_is_a_field() {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "names": {"type": "array", "items": {"type": "string"}},
            "refs": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
            "either": {"type": "array", "items": {"type": "string", "nullable": true}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }}}});
        let schema = crd::read(&schema, &"s".into()).unwrap();
        let mut object = json!({"spec": {
            "labels": {"a": null, "b": "c"}, "names": [null, "x"], "refs": [null, {"name": null}], "either": [null],
            "free": {"x": [null]},
        }});
        schema.settle_nulls(&mut object);
        assert_eq!(
            object,
            json!({"spec": {
                "labels": {"a": "", "b": "c"}, "names": ["", "x"], "refs": [{}, {"name": null}], "either": [null],
                "free": {"x": [null]},
            }})
        );
    }
}
