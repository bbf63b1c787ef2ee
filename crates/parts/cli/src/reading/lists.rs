//! Objects of all places as one document for programs.

use api::well_known::annotations::CACHED_FROM_CLUSTER;
use object::Object;
use serde_json::{Value, json};

use super::fetch::{Found, Section};

/// One document of all: a list, or the object itself if it was asked for by name in one place. Objects of members say
/// which one they are in, and so do the control plane's if there are others. `None` if the one object is not there.
pub(super) fn document(
    sections: Vec<Section>,
    is_single: bool,
    several: bool,
    managed_fields: bool,
) -> Option<Value> {
    let mut items: Vec<Value> = Vec::new();
    for (place, found) in sections.into_iter().flat_map(|section| section.parts) {
        let Found::Objects(objects) = found else {
            continue;
        };
        let member = place.mark(several);
        let marked = objects
            .into_iter()
            .map(|object| mark(object, member, managed_fields));
        items.extend(marked);
    }
    match (is_single, items.len()) {
        (true, 0) => None,
        (true, 1) => items.pop(),
        _ => Some(list(items)),
    }
}

/// Several objects as one.
pub(super) fn list(items: Vec<Value>) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items})
}

/// A line for each object: kind, group and name, as other commands take them.
pub(super) fn names(sections: &[Section]) -> String {
    let mut text = String::new();
    for section in sections {
        let kind = section.kind_word();
        for (_, found) in &section.parts {
            let Found::Objects(objects) = found else {
                continue;
            };
            for object in objects {
                text.push_str(&format!("{kind}/{}\n", object.name()));
            }
        }
    }
    text
}

/// Without the records of who wrote which field unless they are wanted; with the member, if it is from one.
pub(crate) fn mark(object: Object, member: Option<&str>, managed_fields: bool) -> Value {
    mark_value(object.into_value(), member, managed_fields)
}

pub(super) fn mark_value(value: Value, member: Option<&str>, managed_fields: bool) -> Value {
    let mut object = match Object::from_value(value) {
        Ok(object) => object,
        Err(_) => return Value::Null,
    };

    if !managed_fields {
        object.remove(&["metadata", "managedFields"]);
    }
    if let Some(member) = member {
        // What a server sends as annotations is a map or nothing; anything else stays as it is.
        let _ = object.set(&["metadata", "annotations", CACHED_FROM_CLUSTER], member);
    }
    object.into_value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_members_say_where_they_are() {
        for (member, annotations, expected) in [
            (None, json!({"a": "b"}), json!({"a": "b"})),
            (
                Some("east"),
                json!({"a": "b"}),
                json!({"a": "b", CACHED_FROM_CLUSTER: "east"}),
            ),
            (
                Some("east"),
                Value::Null,
                json!({CACHED_FROM_CLUSTER: "east"}),
            ),
        ] {
            let object = json!({
                "metadata": {"name": "web", "annotations": annotations, "managedFields": [{}]},
            });
            let marked = mark(Object::from_value(object).unwrap(), member, false);
            let expected = json!({"metadata": {"name": "web", "annotations": expected}});
            assert_eq!(marked, expected);
        }
    }
}
