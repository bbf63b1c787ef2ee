//! What objects were last applied with.
//!
//! Karavel applies on the server, which keeps a record of the fields that everybody applied. kubectl's client-side `apply`
//! keeps the whole text on the object, and without it its next `apply` cannot tell what was taken out of a file: whoever
//! uses both has it noted with `--save-config`.

use client::Client;
use object::{Object, Value};
use serde_json::json;

use super::{MANAGER, Writing, discover};
use crate::failure::Failure;
use crate::nearest::missing;
use crate::reading::{self, Answer};

/// Where the note is.
pub(super) const NOTE: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Fields that the server keeps, and nobody applies.
const SERVERS_OWN: [&[&str]; 7] = [
    &["metadata", "creationTimestamp"],
    &["metadata", "generation"],
    &["metadata", "managedFields"],
    &["metadata", "resourceVersion"],
    &["metadata", "uid"],
    &["metadata", "annotations", NOTE],
    &["status"],
];

/// Notes on an object what it says.
pub(super) fn note(object: &mut Object) -> Result<(), Failure> {
    let mut bare = object.clone();
    for path in SERVERS_OWN {
        bare.remove(path);
    }
    let text = format!("{}\n", bare.into_value());
    let set = object.set(&["metadata", "annotations", NOTE], text);
    set.map_err(|error| Failure::refused(error.to_string(), "correct metadata.annotations"))
}

/// Shows what objects were last applied with, in YAML unless JSON is wanted.
pub async fn view_last_applied(
    control: &Client,
    words: &[String],
    writing: &Writing,
    json: bool,
) -> Result<Answer, Failure> {
    let discovery = discover(control).await?;
    let namespace = writing.namespace(control);
    let (mut text, mut failures) = (String::new(), Vec::new());
    for wanted in reading::read_words(words)? {
        let resource = &reading::resolve(&discovery, &wanted.word)?.resource;
        for name in &wanted.names {
            let key = reading::key(resource, &namespace, name);
            let shown = match control.get(resource, &key).await {
                Ok(object) => show(&object, json),
                Err(error) => Err(missing(control, resource, &key, &error).await),
            };
            match shown {
                Ok(shown) if text.is_empty() || json => text.push_str(&shown),
                Ok(shown) => text.push_str(&format!("---\n{shown}")),
                Err(failure) => failures.push((key.to_string(), failure)),
            }
        }
        if wanted.names.is_empty() {
            return Err(Failure::refused(
                "no object is named",
                "for example: karavel apply view-last-applied deployment/web",
            ));
        }
    }
    Ok(Answer {
        text,
        notes: Vec::new(),
        failure: reading::blame_places(failures),
    })
}

fn show(object: &Object, json: bool) -> Result<String, Failure> {
    if let Some(recorded) = recorded(object) {
        return reading::write_document(&recorded, !json);
    }
    let Some(note) = object.annotation(NOTE) else {
        return Err(Failure::refused(
            format!(
                "no last-applied-configuration annotation found on resource: {}",
                object.name()
            ),
            "nobody has applied it; `karavel get TYPE/NAME -o yaml --show-managed-fields` shows who wrote which field",
        ));
    };
    let value: Value = serde_json::from_str(note).map_err(|error| {
        Failure::refused(
            format!("{NOTE} is no JSON: {error}"),
            "remove the annotation",
        )
    })?;
    reading::write_document(&value, !json)
}

/// The fields that were applied by this program, as the server has recorded it.
fn recorded(object: &Object) -> Option<Value> {
    let records = object.at(&["metadata", "managedFields"])?.as_array()?;
    let record = records.iter().find(|record| {
        record["manager"] == MANAGER
            && record["operation"] == "Apply"
            && record.get("subresource").is_none()
    })?;
    let whole = object.clone().into_value();
    let picked = pick(&whole, &record["fieldsV1"]);
    let mut shown =
        json!({"apiVersion": whole["apiVersion"], "kind": whole["kind"], "metadata": {}});
    for field in ["name", "namespace"] {
        if let Some(text) = whole["metadata"].get(field) {
            shown["metadata"][field] = text.clone();
        }
    }
    for (field, value) in picked.as_object().into_iter().flatten() {
        if field != "metadata" {
            shown[field.as_str()] = value.clone();
            continue;
        }
        for (field, value) in value.as_object().into_iter().flatten() {
            shown["metadata"][field.as_str()] = value.clone();
        }
    }
    Some(shown)
}

/// The part of a value that a set of fields names. `f:` is a field, `k:` an element of a list by its keys, `v:` one by its
/// value, `i:` one by its place; what names nothing below itself is meant whole.
fn pick(value: &Value, fields: &Value) -> Value {
    let names = fields.as_object().into_iter().flatten();
    let names: Vec<(&String, &Value)> = names.filter(|(name, _)| *name != ".").collect();
    if names.is_empty() {
        return value.clone();
    }
    match value {
        Value::Object(_) => {
            let mut picked = object::Map::new();
            for (name, below) in names {
                let Some(name) = name.strip_prefix("f:") else {
                    continue;
                };
                if let Some(found) = value.get(name) {
                    picked.insert(name.to_owned(), pick(found, below));
                }
            }
            Value::Object(picked)
        }
        Value::Array(items) => {
            let picked = items.iter().enumerate().filter_map(|(place, item)| {
                let named = names.iter().find(|(name, _)| is_named(name, place, item))?;
                Some(pick(item, named.1))
            });
            Value::Array(picked.collect())
        }
        other => other.clone(),
    }
}

fn is_named(name: &str, place: usize, item: &Value) -> bool {
    let Some((sort, rest)) = name.split_once(':') else {
        return false;
    };
    let wanted = serde_json::from_str::<Value>(rest).unwrap_or_default();
    match sort {
        "k" => {
            let mut keys = wanted.as_object().into_iter().flatten();
            wanted.is_object() && keys.all(|(key, value)| item.get(key) == Some(value))
        }
        "v" => *item == wanted,
        "i" => rest.parse() == Ok(place),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_what_is_shown() {
        let value = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "u", "resourceVersion": "7"}, "data": {"x": "1"}});
        let mut object = Object::from_value(value).unwrap();
        assert!(show(&object, true).is_err());
        note(&mut object).unwrap();
        // A second time the first note is not in it.
        note(&mut object).unwrap();
        let shown: Value = serde_json::from_str(&show(&object, true).unwrap()).unwrap();
        let metadata = &shown["metadata"];
        assert_eq!(shown["data"], json!({"x": "1"}));
        assert_eq!(
            (&metadata["name"], &metadata["uid"]),
            (&json!("a"), &Value::Null)
        );
        assert!(show(&object, false).unwrap().contains("kind: ConfigMap"));
    }

    #[test]
    fn records_of_the_server_show_what_was_applied_and_no_more() {
        let object = Object::from_value(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "p", "uid": "u", "labels": {"mine": "1", "other": "2"}, "finalizers": ["a", "b"], "managedFields": [
                {"manager": "somebody", "operation": "Update", "fieldsV1": {"f:spec": {}}},
                {"manager": "karavel", "operation": "Apply", "fieldsV1": {
                    "f:metadata": {"f:labels": {"f:mine": {}}, "f:finalizers": {"v:\"b\"": {}}},
                    "f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {".": {}, "f:name": {}, "f:image": {}}}},
                }},
            ]},
            "spec": {"nodeName": "n", "containers": [{"name": "x", "image": "no"}, {"name": "c", "image": "yes", "tty": false}]},
        }))
        .unwrap();
        assert_eq!(
            recorded(&object),
            Some(json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": "p", "labels": {"mine": "1"}, "finalizers": ["b"]},
                "spec": {"containers": [{"name": "c", "image": "yes"}]},
            }))
        );
    }
}
