//! From a pod template to a pod.

use object::{Map, Object, Value};
use serde_json::json;

use crate::read;

/// A new pod of an owner's template, under a name of its own or one the server completes.
pub(crate) fn pod_of(owner: &Object, name: Option<&str>) -> Value {
    let template = owner.at(&["spec", "template"]);
    let part = |name: &str| {
        template
            .and_then(|template| template.get("metadata"))
            .and_then(|metadata| metadata.get(name))
            .cloned()
    };
    let mut metadata = Map::new();
    match name {
        Some(name) => metadata.insert("name".to_owned(), json!(name)),
        None => metadata.insert(
            "generateName".to_owned(),
            json!(format!("{}-", owner.name())),
        ),
    };
    metadata.insert("namespace".to_owned(), json!(owner.namespace()));
    for field in ["labels", "annotations", "finalizers"] {
        if let Some(value) = part(field) {
            metadata.insert(field.to_owned(), value);
        }
    }
    metadata.insert(
        "ownerReferences".to_owned(),
        json!([read::owner_reference(owner)]),
    );
    let spec = template
        .and_then(|template| template.get("spec"))
        .cloned()
        .unwrap_or_else(|| json!({}));
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
}

/// A short text that is the same for the same template: what tells revisions apart.
pub(crate) fn hash_of(template: &Value, collisions: i64) -> String {
    /// Letters and digits that spell no words.
    const SAFE: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    const LENGTH: usize = 10;
    // FNV-1a, 64 bits: fixed for ever, as names made from it outlive the process.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let text = format!("{}{collisions}", canonical(template));
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    let letters = (0..LENGTH).map(|_| {
        let place = usize::try_from(hash % SAFE.len() as u64).unwrap_or_default();
        hash /= SAFE.len() as u64;
        SAFE.get(place).copied().map_or('b', char::from)
    });
    letters.collect()
}

/// The same text for the same value, in whatever order its fields came.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut parts: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name:?}:{}", canonical(value)))
                .collect();
            parts.sort();
            format!("{{{}}}", parts.join(","))
        }
        Value::Array(items) => {
            let parts: Vec<String> = items.iter().map(canonical).collect();
            format!("[{}]", parts.join(","))
        }
        plain => plain.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_sees_values_and_not_their_order() {
        let one = json!({"spec": {"a": 1, "b": [1, 2]}});
        let same = json!({"spec": {"b": [1, 2], "a": 1}});
        let other = json!({"spec": {"a": 1, "b": [2, 1]}});
        assert_eq!(hash_of(&one, 0), hash_of(&same, 0));
        assert_ne!(hash_of(&one, 0), hash_of(&other, 0));
        assert_ne!(hash_of(&one, 0), hash_of(&one, 1));
        assert_eq!(hash_of(&one, 0).len(), 10);
    }
}
