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
    // Only what stays is copied: the status and the managers are most of a binding.
    let spec = child(before, "spec").map(|spec| with(spec, [("clusters", targets)]));
    let metadata = child(before, "metadata").map(|metadata| {
        let notes = child(metadata, "annotations");
        let notes = match (notes, &note) {
            (None, None) => metadata.get("annotations").cloned(),
            (Some(notes), _) => Some(with(notes, [(APPLIED_PLACEMENT, note)])),
            (None, Some(_)) => Some(with(&Map::new(), [(APPLIED_PLACEMENT, note)])),
        };
        let changed = [
            ("managedFields", managers),
            ("resourceVersion", revision),
            ("annotations", notes),
        ];
        with(metadata, changed)
    });
    let whole = |name: &str, made: Option<Value>| made.or_else(|| before.get(name).cloned());
    let changed = [
        ("status", status),
        ("spec", whole("spec", spec)),
        ("metadata", whole("metadata", metadata)),
    ];
    *new = with(before, changed);
}

fn child<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Map<String, Value>> {
    fields.get(name)?.as_object()
}

/// A copy with some fields changed, each in the place of the one that was there, or at the end. Nothing, and null, take a
/// field away.
fn with<const N: usize>(
    fields: &Map<String, Value>,
    mut changed: [(&str, Option<Value>); N],
) -> Value {
    let mut made = Map::new();
    for (name, value) in fields {
        match changed.iter_mut().find(|(other, _)| other == name) {
            None => drop(made.insert(name.clone(), value.clone())),
            Some((_, value)) => put(&mut made, name, value.take()),
        }
    }
    for (name, value) in changed {
        put(&mut made, name, value);
    }
    Value::Object(made)
}

fn put(fields: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    if let Some(value) = value.filter(|value| !value.is_null()) {
        fields.insert(name.to_owned(), value);
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
