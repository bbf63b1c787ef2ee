//! What makes an object the one it is, whatever a webhook makes of it.

use object::{Map, Value};

/// Fields only the server writes. Upstream: what webhooks make of them is not kept.
const KEPT: [&str; 8] = [
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
    "managedFields",
];

/// Takes back what a webhook may not change, and refuses what would make another object of it.
pub(super) fn keep_identity(before: &Value, after: &mut Value) -> Result<(), String> {
    let text = |object: &Value, path: [&str; 2]| {
        let value = match path {
            ["", field] => object.get(field),
            [parent, field] => object.get(parent).and_then(|parent| parent.get(field)),
        };
        value.cloned().unwrap_or_default()
    };
    for path in [
        ["", "apiVersion"],
        ["", "kind"],
        ["metadata", "name"],
        ["metadata", "namespace"],
    ] {
        if text(before, path) != text(after, path) {
            let name = path.join(".");
            return Err(format!(
                "it changes {}, which no webhook may",
                name.trim_start_matches('.')
            ));
        }
    }
    let nothing = Map::new();
    let kept = before.get("metadata").and_then(Value::as_object);
    let kept = kept.unwrap_or(&nothing);
    let Some(metadata) = after.get_mut("metadata").and_then(Value::as_object_mut) else {
        return Err("it takes metadata away".to_owned());
    };
    for field in KEPT {
        match kept.get(field) {
            Some(value) => drop(metadata.insert(field.to_owned(), value.clone())),
            None => drop(metadata.shift_remove(field)),
        }
    }
    Ok(())
}
