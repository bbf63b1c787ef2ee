//! What objects were last applied with.
//!
//! Karavel applies on the server, which keeps a record of the fields that everybody applied. kubectl's client-side `apply`
//! keeps the whole text on the object, and without it its next `apply` cannot tell what was taken out of a file: where the
//! text is, it is kept up to date; whoever uses both from the beginning has it noted with `--save-config`.

use client::{CallError, Client, WriteOptions};
use intent::Part;
use object::{Object, ResourceType, Value};
use serde_json::json;

use super::{MANAGER, Writing, discover};
use crate::failure::Failure;
use crate::nearest::missing;
use crate::reading::{self, Answer};

/// Where the note is.
pub(super) const NOTE: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Who writes it where others apply. Upstream: kubectl's own name for itself in that case.
const NOTER: &str = "kubectl-last-applied";
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
    let text = text_of(object);
    let set = object.set(&["metadata", "annotations", NOTE], text);
    set.map_err(|error| Failure::refused(error.to_string(), "correct metadata.annotations"))
}

fn text_of(object: &Object) -> String {
    let mut bare = object.clone();
    for path in SERVERS_OWN {
        bare.remove(path);
    }
    format!("{}\n", bare.into_value())
}

/// Brings the note on an object, which has become `applied`, to what was applied, and gives what it became; `None` for an
/// object without a note, which gets none, and for one whose note is right.
///
/// The note has an owner of its own, so that applying without it does not take it away.
pub(super) async fn renew(
    control: &Client,
    resource: &ResourceType,
    sent: &Object,
    applied: &Object,
    options: &WriteOptions,
) -> Result<Option<Object>, CallError> {
    let Some(noted) = renewed(sent, applied) else {
        return Ok(None);
    };
    let options = WriteOptions {
        field_manager: NOTER.into(),
        ..options.clone()
    };
    let written = control.apply(resource, &noted, true, &Part::Object, &options);
    written.await.map(Some)
}

/// What is written to bring the note on `applied` to what was sent; `None` if nothing is.
fn renewed(sent: &Object, applied: &Object) -> Option<Object> {
    let noted = applied.annotation(NOTE)?;
    if is_noted(noted, sent) {
        return None;
    }
    let mut renewed = Object::new(&applied.group_version_kind(), &applied.key());
    // Text always fits where nothing is yet.
    let _ = renewed.set(&["metadata", "annotations", NOTE], text_of(sent));
    // Who is gone by now, or another one of the name, gets no note.
    let _ = renewed.set(&["metadata", "uid"], applied.uid());
    Some(renewed)
}

/// Whether a note says what is sent, in whatever order and spelling.
fn is_noted(note: &str, sent: &Object) -> bool {
    let plain = |text: &str| {
        let mut value: Value = serde_json::from_str(text).ok()?;
        let metadata = value.get_mut("metadata").and_then(Value::as_object_mut);
        if let Some(metadata) = metadata {
            metadata.retain(|_, field| {
                !field.is_null() && field.as_object().is_none_or(|fields| !fields.is_empty())
            });
        }
        Some(value)
    };
    plain(note).is_some_and(|note| Some(note) == plain(&text_of(sent)))
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
    fn a_note_is_renewed_only_where_it_says_something_else() {
        let sent = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}, "data": {"x": "<1>"}});
        let sent = Object::from_value(sent).unwrap();
        for (note, expected) in [
            // As kubectl writes it: keys by name, empty annotations, letters escaped.
            (
                r#"{"apiVersion":"v1","data":{"x":"\u003c1\u003e"},"kind":"ConfigMap","metadata":{"annotations":{},"creationTimestamp":null,"name":"a","namespace":"n"}}"#,
                true,
            ),
            (
                r#"{"apiVersion":"v1","data":{"x":"2"},"kind":"ConfigMap","metadata":{"name":"a","namespace":"n"}}"#,
                false,
            ),
            (
                r#"{"apiVersion":"v1","data":{"x":"<1>"},"kind":"ConfigMap","metadata":{"labels":{"l":"1"},"name":"a","namespace":"n"}}"#,
                false,
            ),
            ("{}", false),
            ("no JSON", false),
        ] {
            assert_eq!(is_noted(note, &sent), expected, "{note}");
        }
    }

    #[test]
    fn a_note_is_renewed_on_the_very_object_that_was_applied() {
        let object = |metadata: Value| {
            let value = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
            Object::from_value(value).unwrap()
        };
        let sent = object(json!({"name": "a", "namespace": "n"}));
        let applied = object(json!({
            "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7", "annotations": {NOTE: "{}", "other": "1"},
        }));
        let renewed = renewed(&sent, &applied).unwrap().into_value();
        let metadata = json!({
            "name": "a", "namespace": "n", "annotations": {NOTE: text_of(&sent)}, "uid": "u",
        });
        assert_eq!(renewed["metadata"], metadata);
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
