//! The history of a template: one ControllerRevision for each state it has had, as `kubectl rollout history` and `undo`
//! read it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use object::{Object, Value};
use serde_json::json;

use crate::controllers::template::hash_of;
use crate::engine::action::Plan;
use crate::engine::kind::Kind;
use crate::read;

/// The label by which a revision carries the hash of its template.
const HASH: &str = "controller.kubernetes.io/hash";
/// The same for DaemonSets, whose pods carry it too.
const HASH_OF_DAEMONS: &str = "controller-revision-hash";
/// As many old revisions as are kept unless the owner says otherwise.
const HISTORY: i64 = 10;

/// A template as it is told apart from others.
pub(crate) struct Revision {
    /// The name of its ControllerRevision.
    pub(crate) name: String,
    /// The end of that name.
    pub(crate) hash: String,
}

/// The revision of an owner's present template.
pub(crate) fn of(owner: &Object) -> Revision {
    let template = owner.at(&["spec", "template"]).unwrap_or(&Value::Null);
    let hash = hash_of(template, 0);
    Revision {
        name: format!("{}-{hash}", owner.name()),
        hash,
    }
}

/// Keeps a revision of the present template, as the latest one, and lets go of the oldest that nobody uses.
pub(crate) fn keep(owner: &Object, known: &[&Arc<Object>], used: &BTreeSet<&str>, plan: &mut Plan) {
    if owner.is_terminating() {
        return;
    }
    let present = of(owner);
    let number = |revision: &Object| revision.integer_at(&["revision"]).unwrap_or(0);
    let latest = known
        .iter()
        .map(|revision| number(revision))
        .max()
        .unwrap_or(0);
    let found = known
        .iter()
        .find(|revision| revision.name() == present.name);
    match found {
        // Upstream: a template that comes back is a new revision under its old name.
        Some(revision) if number(revision) < latest => {
            let patch = json!({"revision": latest.saturating_add(1)});
            plan.merge(Kind::ControllerRevision, revision, patch);
        }
        Some(_) => {}
        None => {
            let object = make(owner, &present, latest.saturating_add(1));
            plan.create(Kind::ControllerRevision, object);
        }
    }
    let limit = owner
        .integer_at(&["spec", "revisionHistoryLimit"])
        .unwrap_or(HISTORY);
    let mut idle: Vec<&Object> = known
        .iter()
        .map(|revision| &***revision)
        .filter(|revision| {
            let name = revision.name();
            name != present.name && !used.contains(name) && !revision.is_terminating()
        })
        .collect();
    idle.sort_by_key(|revision| number(revision));
    let surplus = idle
        .len()
        .saturating_sub(usize::try_from(limit).unwrap_or(0));
    for revision in idle.into_iter().take(surplus) {
        plan.delete(Kind::ControllerRevision, revision);
    }
}

/// The template of a revision.
pub(crate) fn template_of(revision: &Object) -> Option<Value> {
    let mut template = revision.at(&["data", "spec", "template"])?.clone();
    template.as_object_mut()?.shift_remove("$patch");
    Some(template)
}

fn make(owner: &Object, revision: &Revision, number: i64) -> Value {
    let mut template = owner.at(&["spec", "template"]).cloned().unwrap_or_default();
    let mut labels = template
        .pointer("/metadata/labels")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let label = match owner.kind() {
        "DaemonSet" => HASH_OF_DAEMONS,
        _ => HASH,
    };
    labels.insert(label.to_owned(), json!(revision.hash));
    if let Some(fields) = template.as_object_mut() {
        // Whoever goes back to it puts it in the place of the present one as a whole.
        fields.insert("$patch".to_owned(), json!("replace"));
    }
    json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision",
        "metadata": {
            "name": revision.name, "namespace": owner.namespace(), "labels": labels,
            "annotations": owner.at(&["metadata", "annotations"]),
            "ownerReferences": [read::owner_reference(owner)],
        },
        // Upstream: in the order of names, and clients tell revisions apart by the bytes.
        "data": {"spec": {"template": sorted(template)}}, "revision": number,
    })
}

/// The same value with its fields in the order of their names, all the way down.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<String, Value> = fields.into_iter().collect();
            let fields = fields.into_iter();
            Value::Object(fields.map(|(name, value)| (name, sorted(value))).collect())
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::action::Action;

    fn owner(image: &str) -> Object {
        let owner = json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "namespace": "d", "uid": "u"},
            "spec": {"revisionHistoryLimit": 1, "template": {"spec": {"image": image}}},
        });
        Object::from_value(owner).unwrap()
    }

    fn revision(of: &Object, number: i64) -> Arc<Object> {
        Arc::new(Object::from_value(make(of, &super::of(of), number)).unwrap())
    }

    fn kept(owner: &Object, known: &[Arc<Object>], used: &[&str]) -> Vec<String> {
        let known: Vec<&Arc<Object>> = known.iter().collect();
        let mut plan = Plan::default();
        keep(owner, &known, &used.iter().copied().collect(), &mut plan);
        let shown = plan.actions.into_iter().map(|action| match action {
            Action::Create { object, .. } => format!("create {}", object["revision"]),
            Action::Merge { patch, .. } => format!("merge {patch}"),
            Action::Delete { of, .. } => format!("delete {}", of.path.rsplit('-').next().unwrap()),
            other => format!("{other:?}"),
        });
        shown.collect()
    }

    #[test]
    fn a_revision_says_whose_it_is_and_lists_its_fields_by_name() {
        for (kind, label) in [("StatefulSet", HASH), ("DaemonSet", HASH_OF_DAEMONS)] {
            let owner = json!({
                "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "db", "namespace": "d", "uid": "u"},
                "spec": {"template": {"spec": {"z": [{"y": 1, "x": 2}], "a": 1}, "metadata": {}}},
            });
            let owner = Object::from_value(owner).unwrap();
            let made = make(&owner, &of(&owner), 1);
            assert_eq!(made["metadata"]["labels"][label], json!(of(&owner).hash));
            assert_eq!(
                made["data"].to_string(),
                r#"{"spec":{"template":{"$patch":"replace","metadata":{},"spec":{"a":1,"z":[{"x":2,"y":1}]}}}}"#
            );
        }
    }

    #[test]
    fn every_template_has_one_revision_and_the_oldest_idle_ones_go() {
        let [one, two, three] = ["1", "2", "3"].map(owner);
        assert_eq!(kept(&one, &[], &[]), ["create 1"]);
        assert!(kept(&one, &[revision(&one, 1)], &[]).is_empty());
        assert_eq!(kept(&two, &[revision(&one, 1)], &[]), ["create 2"]);
        let all = [revision(&one, 1), revision(&two, 2), revision(&three, 3)];
        assert_eq!(
            kept(&three, &all, &[]),
            [format!("delete {}", of(&one).hash)]
        );
        assert!(kept(&three, &all, &[of(&one).name.as_str()]).is_empty());
        let back = kept(&one, &all[..2], &[]);
        assert_eq!(back, [r#"merge {"revision":3}"#]);
        assert_eq!(template_of(&all[0]), one.at(&["spec", "template"]).cloned());
    }
}
