//! Filling in what the author left out.

use object::{Map, Value};

use crate::{
    node::{Node, Schema, SchemaId, Types},
    trail::Trail,
};

impl Schema {
    /// Sets absent fields to their defaults, also inside values that were just set.
    ///
    /// A `null` where null is no value of its own counts as absent: it gives way to the default, or is removed.
    /// Doing it twice changes nothing.
    pub fn apply_defaults(&self, object: &mut Value) {
        fill(&self.types, object, self.root, &Trail::ROOT);
    }
}

fn fill(types: &Types, value: &mut Value, schema: SchemaId, trail: &Trail<'_>) {
    if trail.is_too_deep() {
        return;
    }
    let node = types.node(schema);
    match value {
        Value::Object(fields) => fill_object(types, fields, node, trail),
        Value::Array(items) => {
            let Some(schema) = node.items else { return };
            let element = types.node(schema);
            for (index, item) in items.iter_mut().enumerate() {
                // Upstream: a null element without a default stays; removing it would shift its neighbours.
                if let (Value::Null, false, Some(default)) =
                    (&*item, element.nullable, &element.default)
                {
                    *item = (**default).clone();
                }
                fill(types, item, schema, &trail.index(index));
            }
        }
        _ => {}
    }
}

fn fill_object(types: &Types, fields: &mut Map, node: &Node, trail: &Trail<'_>) {
    let child = |name: &str| {
        node.property(name)
            .map(|property| property.schema)
            .or(node.values)
    };
    let is_absent = |name: &str, value: &Value| {
        value.is_null() && child(name).is_some_and(|schema| !types.node(schema).nullable)
    };
    let default = |name: &str| match node.property(name) {
        Some(property) => types.default_of(property),
        None => node
            .values
            .and_then(|values| types.node(values).default.as_deref()),
    };
    if fields.iter().any(|(name, value)| is_absent(name, value)) {
        // Nulls with a default keep their place in the order; the others go.
        fields.retain(|name, value| !is_absent(name, value) || default(name).is_some());
        for (name, value) in fields.iter_mut() {
            if let (true, Some(default)) = (is_absent(name, value), default(name)) {
                *value = default.clone();
            }
        }
    }
    for property in &node.properties {
        if let Some(default) = types.default_of(property)
            && !fields.contains_key(&*property.name)
        {
            fields.insert(property.name.to_string(), default.clone());
        }
    }
    for (name, value) in fields.iter_mut() {
        if let Some(schema) = child(name) {
            fill(types, value, schema, &trail.field(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::crd;

    #[track_caller]
    fn check(spec: Value, object: Value, expected: Value) {
        let schema = json!({"type": "object", "properties": {"spec": spec}});
        let schema = crd::read(&schema, &"s".into()).unwrap();
        let mut value = object;
        schema.apply_defaults(&mut value);
        assert_eq!(value, expected);
        schema.apply_defaults(&mut value);
        assert_eq!(value, expected, "filling in twice changes nothing");
    }

    #[test]
    fn absent_fields_are_set_also_inside_what_was_set() {
        let inner = json!({"type": "object", "default": {}, "properties": {"b": {"type": "integer", "default": 1}}});
        let spec = json!({"type": "object", "properties": {"a": inner}});
        check(
            spec.clone(),
            json!({"spec": {}}),
            json!({"spec": {"a": {"b": 1}}}),
        );
        check(
            spec.clone(),
            json!({"spec": {"a": {"b": 2}}}),
            json!({"spec": {"a": {"b": 2}}}),
        );
        check(spec, json!({}), json!({}));
    }

    #[test]
    fn null_is_absent_where_it_is_no_value() {
        let properties = json!({
            "a": {"type": "integer", "default": 1},
            "b": {"type": "integer"},
            "c": {"type": "integer", "nullable": true, "default": 1},
            "d": {"type": "array", "items": {"type": "integer", "default": 7}},
        });
        check(
            json!({"type": "object", "properties": properties}),
            json!({"spec": {"a": null, "b": null, "c": null, "d": [null, 1]}}),
            json!({"spec": {"a": 1, "c": null, "d": [7, 1]}}),
        );
        check(
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"spec": {"x": null, "y": "z"}}),
            json!({"spec": {"y": "z"}}),
        );
    }
}
