//! The part of bindings that a scheduler writes: result and status of a decision in one write.
//!
//! A decision changes fields that belong to two parts of the API, the object and its status. Kubernetes' own scheduler
//! has the part `binding` of pods for that; bindings have the part [`PART`], which takes a patch of the whole object and
//! keeps what a decision may say. Servers that do not have it are written to in two steps.

use serde_json::{Map, Value};

use crate::well_known::annotations::APPLIED_PLACEMENT;

/// The name of the part.
pub const PART: &str = "placing";

/// Takes back everything that a write through the part may not change: all but the targets, the note of the placement
/// that led to them, and the status.
pub fn keep_to_decision(old: &Value, new: &mut Value) {
    let (Some(before), Some(after)) = (old.as_object(), new.as_object_mut()) else {
        return;
    };
    let status = after.shift_remove("status");
    let targets = after
        .get_mut("spec")
        .and_then(|spec| spec.as_object_mut()?.shift_remove("clusters"));
    let mut metadata = after.shift_remove("metadata").unwrap_or_default();
    let mut sent = |name: &str| metadata.as_object_mut()?.shift_remove(name);
    let (managers, revision) = (sent("managedFields"), sent("resourceVersion"));
    let note = sent("annotations");
    let note = note.and_then(|mut notes| notes.as_object_mut()?.shift_remove(APPLIED_PLACEMENT));
    after.clone_from(before);
    put(after, "status", status);
    if let Some(spec) = child(after, "spec") {
        put(spec, "clusters", targets);
    }
    if let Some(metadata) = child(after, "metadata") {
        put(metadata, "managedFields", managers);
        put(metadata, "resourceVersion", revision);
        if note.is_some() || metadata.contains_key("annotations") {
            let notes = metadata
                .entry("annotations")
                .or_insert_with(|| Value::Object(Map::new()));
            if let Some(notes) = notes.as_object_mut() {
                put(notes, APPLIED_PLACEMENT, note);
            }
        }
    }
}

fn child<'a>(fields: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Map<String, Value>> {
    fields.get_mut(name)?.as_object_mut()
}

/// Keeps the place of a field that is there already.
fn put(fields: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    match value.filter(|value| !value.is_null()) {
        Some(value) => drop(fields.insert(name.to_owned(), value)),
        None => drop(fields.shift_remove(name)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(new: Value, expected: Value) {
        let old = json!({
            "kind": "ResourceBinding", "metadata": {"name": "web", "labels": {"a": "b"}, "resourceVersion": "1"},
            "spec": {"replicas": 2, "clusters": [{"name": "m1"}]}, "status": {"schedulerObservedGeneration": 1},
        });
        let mut patched = old.clone();
        for (name, value) in new.as_object().unwrap() {
            patched[name.as_str()] = value.clone();
        }
        keep_to_decision(&old, &mut patched);
        assert_eq!(patched, expected);
    }

    #[test]
    fn a_decision_may_say_where_why_and_how_it_went_and_nothing_else() {
        check(
            json!({
                "metadata": {
                    "name": "other", "labels": {}, "finalizers": ["x"], "resourceVersion": "1",
                    "annotations": {APPLIED_PLACEMENT: "{}", "other": "note"},
                },
                "spec": {"replicas": 9, "clusters": [{"name": "m2", "replicas": 2}]},
                "status": {"schedulerObservedGeneration": 2}, "extra": 1,
            }),
            json!({
                "kind": "ResourceBinding",
                "metadata": {
                    "name": "web", "labels": {"a": "b"}, "resourceVersion": "1",
                    "annotations": {APPLIED_PLACEMENT: "{}"},
                },
                "spec": {"replicas": 2, "clusters": [{"name": "m2", "replicas": 2}]},
                "status": {"schedulerObservedGeneration": 2},
            }),
        );
    }

    #[test]
    fn targets_and_status_may_go() {
        check(
            json!({"metadata": {"resourceVersion": "1"}, "spec": {}, "status": null}),
            json!({
                "kind": "ResourceBinding", "metadata": {"name": "web", "labels": {"a": "b"}, "resourceVersion": "1"},
                "spec": {"replicas": 2},
            }),
        );
    }
}
