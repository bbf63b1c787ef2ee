//! The defaults of schemas, which a server fills in before admission and after it.

use std::sync::LazyLock;

use karavel_api::schema::schemas;
use object::{GroupVersionKind, Object};
use serde_json::Value;

/// Fills the defaults of its kind into an object.
pub(crate) fn fill(object: &mut Object) {
    static SCHEMAS: LazyLock<Vec<(GroupVersionKind, Value)>> = LazyLock::new(schemas);
    let kind = object.group_version_kind();
    let (_, schema) = SCHEMAS
        .iter()
        .find(|(found, _)| *found == kind)
        .expect("a known kind");
    let mut value = std::mem::take(object).into_value();
    fill_value(&mut value, schema);
    *object = Object::from_value(value).expect("still an object");
}

fn fill_value(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(fields) => {
            for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
                let default = schema.get("default").filter(|default| !default.is_null());
                let is_missing = fields.get(name).is_none_or(Value::is_null);
                if let Some(default) = default.filter(|_| is_missing) {
                    fields.insert(name.clone(), default.clone());
                }
                if let Some(field) = fields.get_mut(name) {
                    fill_value(field, schema);
                }
            }
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| fill_value(item, &schema["items"])),
        _ => {}
    }
}
