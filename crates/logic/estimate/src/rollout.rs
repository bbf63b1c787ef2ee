//! Which ReplicaSet a Deployment's pods belong to.

use object::{Object, Value};

/// The label by which a Deployment tells the pods of its ReplicaSets apart.
const HASH: &str = "pod-template-hash";

/// Of the ReplicaSets of a Deployment, the one that makes the pods it wants now: the oldest with its template.
#[must_use]
pub fn current<'a>(deployment: &Object, replica_sets: &'a [Object]) -> Option<&'a Object> {
    let wanted = template(deployment)?;
    let is_owned = |set: &Object| {
        let mut owners = set.owner_references();
        owners.any(|owner| owner.controller == Some(true) && owner.uid == deployment.uid())
    };
    let age = |set: &&Object| {
        let created = set.text_at(&["metadata", "creationTimestamp"]);
        (
            created.unwrap_or_default().to_owned(),
            set.name().to_owned(),
        )
    };
    let sets = replica_sets.iter().filter(|set| is_owned(set));
    sets.filter(|set| template(set).as_ref() == Some(&wanted))
        .min_by_key(age)
}

/// The template of the pods, without the mark that every ReplicaSet puts on its own.
fn template(object: &Object) -> Option<Value> {
    let mut template = object.at(&["spec", "template"])?.clone();
    let metadata = template.get_mut("metadata").and_then(Value::as_object_mut);
    if let Some(metadata) = metadata {
        metadata.retain(|_, value| !value.is_null());
        if let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut) {
            labels.retain(|name, _| name != HASH);
        }
    }
    Some(template)
}
