//! What `kubectl apply` wrote at the client becomes what is applied at the server.
//!
//! The server takes away what left a file only if whoever applies it now has applied it before. An object that was applied
//! at the client has its fields recorded as updates of another name, and would keep for ever what left its file. So those
//! records are joined to those of the one who applies, as `kubectl apply --server-side` does it.

use client::{CallError, Client, PatchKind, WriteOptions};
use intent::Part;
use object::{Object, ResourceType, Value};
use serde_json::{Map, json};

use super::last_applied::NOTE;

/// Whom client-side `apply` writes as.
const CLIENT_SIDE: &str = "kubectl-client-side-apply";
/// How often records that somebody else changes meanwhile are looked at anew.
const ATTEMPTS: usize = 5;
const RECORDS: [&str; 2] = ["metadata", "managedFields"];

/// Makes the records of an object those of the one who applies it; `before` is the object as it was read. Says whether
/// anything was written.
///
/// In a rehearsal nothing is kept, so that nothing is written: see [`finish_rehearsal`].
pub(super) async fn hand_over(
    control: &Client,
    resource: &ResourceType,
    before: &Object,
    options: &WriteOptions,
) -> Result<bool, CallError> {
    let mut newer: Option<Object> = None;
    for attempt in 1..=ATTEMPTS {
        let object = newer.as_ref().unwrap_or(before);
        let Some(records) = joined(object, &options.field_manager) else {
            return Ok(newer.is_some());
        };
        let patch = json!([
            {"op": "replace", "path": "/metadata/managedFields", "value": records},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": object.resource_version()},
        ]);
        let (key, whole) = (object.key(), Part::Object);
        let written = control
            .patch_unread(resource, &key, PatchKind::Json, &patch, &whole, options)
            .await;
        match written {
            Err(error) if error.is_conflict() && attempt < ATTEMPTS => {
                newer = Some(control.get(resource, &key).await?);
            }
            Err(error) if error.is_not_found() => return Ok(true),
            written => return written.map(|()| true),
        }
    }
    Ok(true)
}

/// What a rehearsed object would be had its records been handed over before: without the fields that only client-side
/// `apply` has a claim to. The server has its say on what is then missing.
pub(crate) async fn finish_rehearsal(
    control: &Client,
    resource: &ResourceType,
    rehearsed: Object,
    options: &WriteOptions,
) -> Result<Object, CallError> {
    let Some(mut left) = without_claims(&rehearsed) else {
        return Ok(rehearsed);
    };
    let now = control.get_metadata(resource, &left.key()).await?;
    // Text at this path is always fine where the server's own object has it.
    let _ = left.set(
        &["metadata", "resourceVersion"],
        now.resource_version().to_owned(),
    );
    let whole = Part::Object;
    match control.replace(resource, &left, &whole, options).await {
        // Who may only patch is told what is known without the server.
        Err(error) if error.is_forbidden() => Ok(left),
        answer => answer,
    }
}

/// The records with those of client-side `apply` joined to what `manager` has applied; `None` if there are none to join.
fn joined(object: &Object, manager: &str) -> Option<Vec<Value>> {
    let (handed, mut kept) = divided(object)?;
    let is_own = |record: &&mut Value| {
        record["manager"] == manager
            && record["operation"] == "Apply"
            && record.get("subresource").is_none()
    };
    let (first, mut rest) = (handed.first()?.clone(), handed.into_iter());
    let own = match kept.iter_mut().find(is_own) {
        Some(own) => own,
        None => {
            rest.next();
            let mut own = first;
            own["manager"] = json!(manager);
            own["operation"] = json!("Apply");
            kept.push(own);
            kept.last_mut()?
        }
    };
    let fields = own.get_mut("fieldsV1")?.as_object_mut()?;
    for record in rest {
        if let Some(Value::Object(further)) = record.get("fieldsV1") {
            join(fields, further);
        }
    }
    forget_note(fields);
    Some(kept)
}

/// Takes the note out of a set of fields: it stays for those who go on applying at the client, and is in no file.
///
/// Invariant: a step that names nothing below itself means all that is there, so that none may be left empty.
fn forget_note(fields: &mut Map<String, Value>) {
    let Some(Value::Object(metadata)) = fields.get_mut("f:metadata") else {
        return;
    };
    let Some(Value::Object(annotations)) = metadata.get_mut("f:annotations") else {
        return;
    };
    annotations.shift_remove(&format!("f:{NOTE}"));
    annotations.shift_remove(".");
    if annotations.is_empty() {
        metadata.shift_remove("f:annotations");
    }
    if metadata.is_empty() {
        fields.shift_remove("f:metadata");
    }
}

/// The object without what only records of client-side `apply` claim; `None` if that is nothing.
fn without_claims(object: &Object) -> Option<Object> {
    let (handed, kept) = divided(object)?;
    let kept: Vec<&Value> = kept
        .iter()
        .filter_map(|record| record.get("fieldsV1"))
        .collect();
    let mut value = object.clone().into_value();
    for record in &handed {
        if let Some(Value::Object(claims)) = record.get("fieldsV1") {
            take_away(&mut value, claims, &kept);
        }
    }
    let mut left = Object::from_value(value).ok()?;
    if let Some(note) = object.annotation(NOTE) {
        left.set(&["metadata", "annotations", NOTE], note.to_owned())
            .ok()?;
    }
    (left != *object).then_some(left)
}

/// The records of client-side `apply`, and all others. `None` for an object without its note or without such records.
fn divided(object: &Object) -> Option<(Vec<Value>, Vec<Value>)> {
    object.annotation(NOTE)?;
    let records = object.at(&RECORDS)?.as_array()?;
    let is_of_client = |record: &Value| {
        let note = &record["fieldsV1"]["f:metadata"]["f:annotations"][format!("f:{NOTE}")];
        record["operation"] == "Update"
            && record.get("subresource").is_none()
            && (record["manager"] == CLIENT_SIDE || note.is_object())
    };
    let (handed, kept): (Vec<Value>, Vec<Value>) = records.iter().cloned().partition(is_of_client);
    (!handed.is_empty()).then_some((handed, kept))
}

fn join(fields: &mut Map<String, Value>, further: &Map<String, Value>) {
    for (step, below) in further {
        match (fields.get_mut(step), below) {
            (Some(Value::Object(known)), Value::Object(below)) => join(known, below),
            _ => {
                fields.insert(step.clone(), below.clone());
            }
        }
    }
}

/// Removes what is claimed and nobody else claims too, nor anything below it.
fn take_away(value: &mut Value, claims: &Map<String, Value>, others: &[&Value]) {
    for (step, below) in claims {
        let Some(below) = below.as_object().filter(|_| step != ".") else {
            continue;
        };
        let others: Vec<&Value> = others.iter().filter_map(|other| other.get(step)).collect();
        let is_whole = below.is_empty() || below.contains_key(".");
        if is_whole && others.is_empty() {
            remove(value, step);
        } else if let Some(inner) = inside(value, step) {
            take_away(inner, below, &others);
        }
    }
}

fn remove(value: &mut Value, step: &str) {
    match (value, step.split_once(':')) {
        (Value::Object(fields), Some(("f", name))) => drop(fields.shift_remove(name)),
        (Value::Array(items), Some(_)) => items.retain(|item| !is_at(item, step)),
        _ => {}
    }
}

fn inside<'v>(value: &'v mut Value, step: &str) -> Option<&'v mut Value> {
    match (value, step.split_once(':')?) {
        (Value::Object(fields), ("f", name)) => fields.get_mut(name),
        (Value::Array(items), _) => items.iter_mut().find(|item| is_at(item, step)),
        _ => None,
    }
}

/// Whether an item of a list is the one that a step names by its keys or by its value.
fn is_at(item: &Value, step: &str) -> bool {
    let Some((sort, text)) = step.split_once(':') else {
        return false;
    };
    match (sort, serde_json::from_str::<Value>(text)) {
        ("k", Ok(Value::Object(keys))) => keys.iter().all(|(key, value)| item[key] == *value),
        ("v", Ok(value)) => *item == value,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(records: Value, is_noted: bool) -> Object {
        let mut value = json!({
            "metadata": {"name": "w", "labels": {"a": "1", "b": "2"}, "managedFields": records},
            "spec": {"replicas": 2, "list": [{"name": "x", "image": "i"}, {"name": "y", "image": "j"}], "set": ["p", "q"]},
        });
        if is_noted {
            value["metadata"]["annotations"] = json!({NOTE: "{}", "mine": "1"});
        }
        Object::from_value(value).unwrap()
    }

    fn record(manager: &str, operation: &str, fields: Value) -> Value {
        json!({"manager": manager, "operation": operation, "fieldsV1": fields})
    }

    #[test]
    fn records_of_the_client_are_joined_to_those_of_who_applies() {
        let client = |fields| record(CLIENT_SIDE, "Update", fields);
        let (replicas, paused) = (
            json!({"f:spec": {"f:replicas": {}}}),
            json!({"f:spec": {"f:paused": {}}}),
        );
        let both = json!({"f:spec": {"f:replicas": {}, "f:paused": {}}});
        let noted = json!({"f:metadata": {"f:annotations": {".": {}, (format!("f:{NOTE}")): {}, "f:mine": {}}}});
        let bare = json!({"f:metadata": {"f:annotations": {"f:mine": {}}}});
        let mut status = client(replicas.clone());
        status["subresource"] = json!("status");
        for (records, is_noted, expected) in [
            (
                json!([client(replicas.clone())]),
                true,
                Some(json!([record("me", "Apply", replicas.clone())])),
            ),
            (
                json!([
                    client(replicas.clone()),
                    record("me", "Apply", paused.clone()),
                    record("hpa", "Update", replicas.clone())
                ]),
                true,
                Some(json!([
                    record("me", "Apply", both.clone()),
                    record("hpa", "Update", replicas.clone())
                ])),
            ),
            (
                json!([
                    record("kubectl-create", "Update", noted),
                    client(paused.clone())
                ]),
                true,
                Some(json!([record(
                    "me",
                    "Apply",
                    json!({"f:metadata": bare["f:metadata"], "f:spec": paused["f:spec"]})
                )])),
            ),
            // Without the note nothing is left of the annotations, and nothing must mean all of them.
            (
                json!([client(json!({
                    "f:metadata": {"f:annotations": {".": {}, (format!("f:{NOTE}")): {}}}, "f:spec": replicas["f:spec"],
                }))]),
                true,
                Some(json!([record("me", "Apply", replicas.clone())])),
            ),
            (
                json!([client(json!({
                    "f:metadata": {"f:annotations": {(format!("f:{NOTE}")): {}}, "f:labels": {"f:a": {}}},
                }))]),
                true,
                Some(json!([record(
                    "me",
                    "Apply",
                    json!({"f:metadata": {"f:labels": {"f:a": {}}}})
                )])),
            ),
            (json!([client(replicas.clone())]), false, None),
            (json!([status]), true, None),
            (json!([record("hpa", "Update", replicas)]), true, None),
            (json!("odd"), true, None),
        ] {
            let found = joined(&object(records, is_noted), "me").map(Value::from);
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn what_only_the_client_claims_is_taken_away() {
        let label = |name: &str| json!({"f:metadata": {"f:labels": {(format!("f:{name}")): {}}}});
        let x = r#"k:{"name":"x"}"#;
        for (client, other, path, expected) in [
            (
                label("a"),
                label("b"),
                "/metadata/labels",
                json!({"b": "2"}),
            ),
            (
                label("a"),
                label("a"),
                "/metadata/labels",
                json!({"a": "1", "b": "2"}),
            ),
            (
                json!({"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}),
                json!({}),
                "/metadata/labels",
                Value::Null,
            ),
            (
                json!({"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}),
                label("b"),
                "/metadata/labels",
                json!({"b": "2"}),
            ),
            (
                json!({"f:spec": {"f:list": {x: {".": {}, "f:name": {}}}}}),
                json!({}),
                "/spec/list",
                json!([{"name": "y", "image": "j"}]),
            ),
            (
                json!({"f:spec": {"f:list": {x: {".": {}, "f:name": {}, "f:image": {}}}}}),
                json!({"f:spec": {"f:list": {x: {".": {}, "f:name": {}}}}}),
                "/spec/list/0",
                json!({"name": "x"}),
            ),
            (
                json!({"f:spec": {"f:set": {"v:\"p\"": {}}}}),
                json!({}),
                "/spec/set",
                json!(["q"]),
            ),
            (
                json!({"f:metadata": {"f:annotations": {".": {}, "f:mine": {}}}}),
                json!({}),
                "/metadata/annotations",
                json!({NOTE: "{}"}),
            ),
            (
                json!({"f:no": {"f:such": {}}, "odd": {}, "i:0": {}}),
                json!({}),
                "/spec/replicas",
                json!(2),
            ),
        ] {
            let records = json!([
                record(CLIENT_SIDE, "Update", client.clone()),
                record("me", "Apply", other)
            ]);
            let whole = object(records, true);
            let left = without_claims(&whole).unwrap_or(whole).into_value();
            let found = left.pointer(path).cloned().unwrap_or_default();
            assert_eq!(found, expected, "{client}");
        }
    }
}
