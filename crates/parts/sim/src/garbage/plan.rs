//! What becomes of an object given its owners and dependents; what a namespace on its way out does.

use std::sync::Arc;

use object::Value;
use object::time::Time;
use serde_json::json;
use serve::lifecycle::{FOREGROUND, ORPHAN};
use serve::record::Record;

use crate::admission::CLEANUP;
use crate::engine::action::{Action, Target, Writer};
use crate::read;

/// What has become of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Present,
    /// It waits for its dependents to go first.
    Waiting,
    Absent,
}

impl Owner {
    /// What an owner that is there says.
    pub(crate) fn of(owner: &Value) -> Self {
        let is_going = owner.pointer("/metadata/deletionTimestamp").is_some();
        if is_going && finalizers(owner).any(|name| name == FOREGROUND) {
            return Self::Waiting;
        }
        Self::Present
    }
}

/// Everything the decision about one object may look at.
pub(crate) struct Facts<'a> {
    pub(crate) path: String,
    pub(crate) object: &'a Value,
    pub(crate) references: &'a [Value],
    /// What has become of each owner, in the order of the references.
    pub(crate) owners: &'a [Owner],
    /// What refers to the object, with paths.
    pub(crate) dependents: &'a [(String, Value)],
}

pub(crate) fn decide(facts: &Facts<'_>) -> Vec<Action> {
    let mut actions = Vec::new();
    let is_going = facts
        .object
        .pointer("/metadata/deletionTimestamp")
        .is_some();
    let has = |finalizer: &str| finalizers(facts.object).any(|name| name == finalizer);
    if is_going && has(ORPHAN) {
        let uid = text(facts.object, "uid");
        for (path, dependent) in facts.dependents {
            let references = read::items(&dependent["metadata"], "ownerReferences");
            let kept = references
                .iter()
                .filter(|reference| read::text(reference, "uid") != uid);
            actions.push(set_owners(path, dependent, kept.collect()));
        }
        if facts.dependents.is_empty() {
            actions.push(drop_finalizer(facts, ORPHAN));
        }
        return actions;
    }
    if is_going && has(FOREGROUND) {
        let uid = text(facts.object, "uid");
        let blocks = |dependent: &Value| {
            read::items(&dependent["metadata"], "ownerReferences")
                .iter()
                .any(|reference| {
                    read::text(reference, "uid") == uid
                        && reference.get("blockOwnerDeletion").and_then(Value::as_bool)
                            == Some(true)
                })
        };
        if !facts
            .dependents
            .iter()
            .any(|(_, dependent)| blocks(dependent))
        {
            actions.push(drop_finalizer(facts, FOREGROUND));
        }
    }
    if is_going || facts.references.is_empty() {
        return actions;
    }
    let present = facts
        .owners
        .iter()
        .filter(|owner| **owner == Owner::Present)
        .count();
    if present == 0 {
        let waits = facts.owners.contains(&Owner::Waiting);
        // What goes first for an owner lets its own dependents go first too.
        let propagation = if waits && !facts.dependents.is_empty() {
            "Foreground"
        } else {
            "Background"
        };
        let is_in_circle = facts
            .dependents
            .iter()
            .any(|(_, dependent)| Owner::of(dependent) == Owner::Waiting);
        // Upstream: what owns its own owner holds it no longer, or both would wait for ever.
        if waits && is_in_circle {
            actions.push(unblock_owners(facts));
        }
        actions.push(Action::Delete {
            of: target(facts),
            grace: None,
            propagation: Some(propagation),
            by: Writer::Controllers,
        });
        return actions;
    }
    if present < facts.owners.len() {
        let kept = facts
            .references
            .iter()
            .zip(facts.owners)
            .filter(|(_, owner)| **owner == Owner::Present)
            .map(|(reference, _)| reference);
        actions.push(set_owners(&facts.path, facts.object, kept.collect()));
    }
    actions
}

/// Asks everything in a namespace to go, pods before the rest; lets the namespace go when nothing is left.
pub(crate) fn empty(
    namespace: &Value,
    content: &[(String, Arc<Record>)],
    now: Time,
) -> Vec<Action> {
    if content.is_empty() {
        let name = text(namespace, "name");
        let object = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "resourceVersion": text(namespace, "resourceVersion")},
            "spec": {"finalizers": []},
        });
        let path = format!("/api/v1/namespaces/{name}/finalize");
        let by = Writer::Controllers;
        return vec![Action::Put { path, object, by }];
    }
    let pods = format!("/api/v1/namespaces/{}/pods/", text(namespace, "name"));
    let is_pod = |(path, _): &&(String, Arc<Record>)| path.starts_with(&pods);
    let first: Vec<(String, Arc<Record>)> = content.iter().filter(is_pod).cloned().collect();
    // Upstream: what pods use, and what keeps others away from them, goes after they went.
    let mut actions = dismiss(if first.is_empty() { content } else { &first });
    actions.extend(tell_remaining(namespace, now));
    actions
}

/// Says once that a namespace waits for what is in it.
fn tell_remaining(namespace: &Value, now: Time) -> Option<Action> {
    let status = namespace.get("status").unwrap_or(&Value::Null);
    if read::find_condition(status, "NamespaceDeletionContentFailure").is_some() {
        return None;
    }
    let mut conditions = read::items(status, "conditions").to_vec();
    for (kind, state, reason) in [
        (
            "NamespaceDeletionDiscoveryFailure",
            "False",
            "ResourcesDiscovered",
        ),
        ("NamespaceDeletionContentFailure", "False", "ContentDeleted"),
        ("NamespaceContentRemaining", "True", "SomeResourcesRemain"),
    ] {
        let condition = json!({"type": kind, "status": state, "reason": reason, "message": ""});
        read::put_condition(&mut conditions, condition, now);
    }
    let name = text(namespace, "name");
    Some(Action::Merge {
        of: Target {
            path: format!("/api/v1/namespaces/{name}/status"),
            uid: text(namespace, "uid").to_owned(),
            revision: Some(text(namespace, "resourceVersion").to_owned()),
        },
        patch: json!({"status": {"conditions": conditions}}),
        by: Writer::Controllers,
    })
}

/// Asks the objects of a definition to go; lets the definition go when none is left.
pub(crate) fn retire(
    definition: &Value,
    objects: &[(String, Arc<Record>)],
    now: Time,
) -> Vec<Action> {
    if !finalizers(definition).any(|name| name == CLEANUP) {
        return Vec::new();
    }
    let name = text(definition, "name");
    let mut of = Target {
        path: format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"),
        uid: text(definition, "uid").to_owned(),
        revision: Some(text(definition, "resourceVersion").to_owned()),
    };
    let by = Writer::Controllers;
    if objects.is_empty() {
        let kept: Vec<&str> = finalizers(definition)
            .filter(|name| *name != CLEANUP)
            .collect();
        let patch = json!({"metadata": {"finalizers": kept}});
        return vec![Action::Merge { of, patch, by }];
    }
    let mut actions = dismiss(objects);
    let status = definition.get("status").unwrap_or(&Value::Null);
    if read::find_condition(status, "Terminating").is_none() {
        let mut conditions = read::items(status, "conditions").to_vec();
        let condition = json!({
            "type": "Terminating", "status": "True", "reason": "InstanceDeletionInProgress",
            "message": "CustomResource deletion is in progress",
        });
        read::put_condition(&mut conditions, condition, now);
        of.path.push_str("/status");
        let patch = json!({"status": {"conditions": conditions}});
        actions.push(Action::Merge { of, patch, by });
    }
    actions
}

/// Asks everything to go that has not been asked yet.
fn dismiss(content: &[(String, Arc<Record>)]) -> Vec<Action> {
    let going = content
        .iter()
        .filter(|(_, record)| !record.head().terminating);
    going
        .map(|(path, record)| Action::Delete {
            of: Target {
                path: path.clone(),
                uid: record.head().uid.to_string(),
                revision: None,
            },
            grace: None,
            propagation: Some("Background"),
            by: Writer::Controllers,
        })
        .collect()
}

fn target(facts: &Facts<'_>) -> Target {
    Target {
        path: facts.path.clone(),
        uid: text(facts.object, "uid").to_owned(),
        revision: None,
    }
}

fn drop_finalizer(facts: &Facts<'_>, finalizer: &str) -> Action {
    let kept: Vec<&str> = finalizers(facts.object)
        .filter(|name| *name != finalizer)
        .collect();
    Action::Merge {
        of: Target {
            revision: Some(text(facts.object, "resourceVersion").to_owned()),
            ..target(facts)
        },
        patch: json!({"metadata": {"finalizers": kept}}),
        by: Writer::Controllers,
    }
}

fn set_owners(path: &str, object: &Value, kept: Vec<&Value>) -> Action {
    Action::Merge {
        of: Target {
            path: path.to_owned(),
            uid: text(object, "uid").to_owned(),
            revision: Some(text(object, "resourceVersion").to_owned()),
        },
        patch: json!({"metadata": {"ownerReferences": kept}}),
        by: Writer::Controllers,
    }
}

/// Lets the owners go without waiting for the object.
fn unblock_owners(facts: &Facts<'_>) -> Action {
    let mut references = facts.references.to_vec();
    for fields in references.iter_mut().filter_map(Value::as_object_mut) {
        fields.insert("blockOwnerDeletion".to_owned(), json!(false));
    }
    set_owners(&facts.path, facts.object, references.iter().collect())
}

fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    let list = object
        .pointer("/metadata/finalizers")
        .and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}

fn text<'v>(object: &'v Value, name: &str) -> &'v str {
    object
        .get("metadata")
        .map_or("", |metadata| read::text(metadata, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(object: Value, owners: &[Owner], dependents: &[Value]) -> Vec<String> {
        let references = read::items(&object["metadata"], "ownerReferences").to_vec();
        let dependents: Vec<(String, Value)> = dependents
            .iter()
            .map(|dependent| ("/d".to_owned(), dependent.clone()))
            .collect();
        let actions = decide(&Facts {
            path: "/o".to_owned(),
            object: &object,
            references: &references,
            owners,
            dependents: &dependents,
        });
        let shown = actions.into_iter().map(|action| match action {
            Action::Delete {
                of, propagation, ..
            } => {
                format!("delete {} {}", of.path, propagation.unwrap_or_default())
            }
            Action::Merge { of, patch, .. } => format!("merge {} {patch}", of.path),
            other => format!("{other:?}"),
        });
        shown.collect()
    }

    #[test]
    fn objects_go_with_their_last_owner() {
        let object =
            json!({"metadata": {"uid": "u", "ownerReferences": [{"uid": "a"}, {"uid": "b"}]}});
        for (owners, expected) in [
            ([Owner::Present, Owner::Present], vec![]),
            ([Owner::Absent, Owner::Absent], vec!["delete /o Background"]),
            (
                [Owner::Waiting, Owner::Absent],
                vec!["delete /o Background"],
            ),
            (
                [Owner::Present, Owner::Absent],
                vec![r#"merge /o {"metadata":{"ownerReferences":[{"uid":"a"}]}}"#],
            ),
        ] {
            assert_eq!(check(object.clone(), &owners, &[]), expected, "{owners:?}");
        }
    }

    #[test]
    fn a_circle_of_owners_is_opened_where_it_closes() {
        let object = json!({"metadata": {"uid": "u", "ownerReferences": [{"uid": "a", "blockOwnerDeletion": true}]}});
        let waiting =
            json!({"metadata": {"uid": "a", "deletionTimestamp": "x", "finalizers": [FOREGROUND]}});
        let staying = json!({"metadata": {"uid": "c"}});
        let opened =
            r#"merge /o {"metadata":{"ownerReferences":[{"uid":"a","blockOwnerDeletion":false}]}}"#;
        for (dependent, expected) in [
            (waiting, vec![opened, "delete /o Foreground"]),
            (staying, vec!["delete /o Foreground"]),
        ] {
            let owners = [Owner::Waiting];
            assert_eq!(check(object.clone(), &owners, &[dependent]), expected);
        }
    }

    #[test]
    fn owners_wait_for_those_that_block_them_and_orphans_are_let_go_of() {
        let going = |finalizer: &str| json!({"metadata": {"uid": "u", "deletionTimestamp": "x", "finalizers": ["keep", finalizer]}});
        let child = |blocks: bool| json!({"metadata": {"uid": "c", "ownerReferences": [{"uid": "u", "blockOwnerDeletion": blocks}]}});
        let released = r#"merge /o {"metadata":{"finalizers":["keep"]}}"#;
        for (object, dependents, expected) in [
            (going(FOREGROUND), vec![child(true)], vec![]),
            (going(FOREGROUND), vec![child(false)], vec![released]),
            (going(FOREGROUND), vec![], vec![released]),
            (
                going(ORPHAN),
                vec![child(true)],
                vec![r#"merge /d {"metadata":{"ownerReferences":[]}}"#],
            ),
            (going(ORPHAN), vec![], vec![released]),
        ] {
            assert_eq!(check(object, &[], &dependents), expected);
        }
    }
}
