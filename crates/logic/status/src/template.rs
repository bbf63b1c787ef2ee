//! From the binding's items to the template.

use object::{Map, Object, Value, patch};
use serde_json::json;

/// What is to be written to the template's status, as a merge patch; `None` if it says all of this already.
///
/// `next` is the whole status that the interpreter made of the binding's items.
#[must_use]
pub fn template_patch(template: &Object, next: &Value) -> Option<Value> {
    let nothing = Value::Object(Map::new());
    let current = template.at(&["status"]).unwrap_or(&nothing);
    if current == next {
        return None;
    }
    let change = patch::diff(current, next);
    // A rule may answer with fields that are null, which no merge patch can write; they must not be tried for ever.
    (patch::merge(current, &change) != *current).then(|| json!({ "status": change }))
}
