//! Objects of all places as one document for programs.

use api::well_known::annotations::CACHED_FROM_CLUSTER;
use object::Object;
use serde_json::{Value, json};

use super::fetch::{Found, Section};
use crate::failure::Failure;

/// One document of all: a list, or the object itself if it was asked for by name in one place. Objects of members say
/// which one they are in.
pub(super) fn document(
    sections: Vec<Section>,
    is_single: bool,
    yaml: bool,
) -> Result<String, Failure> {
    let mut items: Vec<Value> = Vec::new();
    for (place, found) in sections.into_iter().flat_map(|section| section.parts) {
        let Found::Objects(objects) = found else {
            continue;
        };
        let member = place.is_member().then_some(place.name.as_str());
        items.extend(objects.into_iter().map(|object| mark(object, member)));
    }
    let document = match (is_single, items.len()) {
        (true, 0) => return Ok(String::new()),
        (true, 1) => items.remove(0),
        _ => json!({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items}),
    };
    let unprintable = |error: &dyn std::error::Error| {
        let what = format!("the objects cannot be written: {error}");
        Failure::failed(what, "choose another --output")
    };
    if yaml {
        let text = serde_saphyr::to_string(&document).map_err(|error| unprintable(&error))?;
        return Ok(text.trim_end().to_owned() + "\n");
    }
    let text = serde_json::to_string_pretty(&document).map_err(|error| unprintable(&error))?;
    Ok(text + "\n")
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

/// Without the records of who wrote which field, which nobody wants to read; with the member, if it is from one.
fn mark(mut object: Object, member: Option<&str>) -> Value {
    object.remove(&["metadata", "managedFields"]);
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
            let marked = mark(Object::from_value(object).unwrap(), member);
            let expected = json!({"metadata": {"name": "web", "annotations": expected}});
            assert_eq!(marked, expected);
        }
    }
}
