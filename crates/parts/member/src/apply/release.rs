//! What becomes of a member's object when its work goes.

use api::well_known::{
    annotations::{
        CLUSTER_PROPAGATION_POLICY_NAME, CLUSTER_RESOURCE_BINDING_NAME, MANAGED_ANNOTATIONS,
        MANAGED_LABELS, PROPAGATION_POLICY_NAME, PROPAGATION_POLICY_NAMESPACE,
        RESOURCE_BINDING_NAME, RESOURCE_BINDING_NAMESPACE, TEMPLATE_GENERATION, TEMPLATE_UID,
        WORK_NAME, WORK_NAMESPACE,
    },
    labels::{MANAGED, TRUE, permanent_id},
};
use intent::{Action, Part, Propagation};
use object::{Map, Object, ObjectKey, ResourceType, Value};

use crate::apply::namespace::is_namespace;
use crate::works::connection::Live;

/// What a work says about the objects it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Afterwards {
    /// They go with it.
    Delete,
    /// They stay, without the marks of whoever managed them.
    Preserve,
    /// They stay as they are: somebody will manage them again.
    Leave,
}

/// The labels by which a member's object is known to be managed, and by whom.
const LABELS: [&str; 6] = [
    MANAGED,
    permanent_id::WORK,
    permanent_id::RESOURCE_BINDING,
    permanent_id::CLUSTER_RESOURCE_BINDING,
    permanent_id::PROPAGATION_POLICY,
    permanent_id::CLUSTER_PROPAGATION_POLICY,
];

/// The annotations to the same end.
const ANNOTATIONS: [&str; 12] = [
    WORK_NAMESPACE,
    WORK_NAME,
    TEMPLATE_UID,
    TEMPLATE_GENERATION,
    MANAGED_LABELS,
    MANAGED_ANNOTATIONS,
    RESOURCE_BINDING_NAMESPACE,
    RESOURCE_BINDING_NAME,
    CLUSTER_RESOURCE_BINDING_NAME,
    PROPAGATION_POLICY_NAMESPACE,
    PROPAGATION_POLICY_NAME,
    CLUSTER_PROPAGATION_POLICY_NAME,
];

/// What is to be done to an object that was read from the member itself, after its work was asked to go. `None`: it is
/// not ours, or nothing of it is.
///
/// Invariant: an object that does not carry our mark, or that another work has taken over, is never touched.
pub(crate) fn release(
    work: &ObjectKey,
    manifest: &Object,
    resource: &ResourceType,
    observed: &Live,
    afterwards: Afterwards,
) -> Option<Action> {
    if !is_managed(manifest, observed) || is_of_another(observed, work) {
        return None;
    }
    match afterwards {
        Afterwards::Leave => None,
        Afterwards::Delete if observed.is_terminating() => None,
        Afterwards::Delete => Some(Action::Delete {
            resource: resource.clone(),
            key: observed.key(),
            uid: observed.uid().to_owned(),
            revision: None,
            propagation: Some(Propagation::Background),
            cause: format!("its work {work} was deleted"),
        }),
        Afterwards::Preserve => Some(Action::patch(
            resource.clone(),
            observed,
            unmark(observed),
            Part::Object,
        )),
    }
}

/// Whether a member's object is managed from here: it says so; or it says nothing but the permanent id of the very work that
/// the manifest is of, which is all that the reference leaves on what somebody wrote a work for by hand.
pub(crate) fn is_managed(manifest: &Object, observed: &Object) -> bool {
    let id = manifest
        .label(permanent_id::WORK)
        .filter(|id| !id.is_empty());
    let is_bare = observed.annotation(WORK_NAME).is_none();
    observed.label(MANAGED) == Some(TRUE)
        || (is_bare && id.is_some() && observed.label(permanent_id::WORK) == id)
}

fn is_of_another(observed: &Object, work: &ObjectKey) -> bool {
    let differs = |annotation: &str, ours: &str| {
        observed
            .annotation(annotation)
            .is_some_and(|theirs| theirs != ours)
    };
    differs(WORK_NAMESPACE, &work.namespace) || differs(WORK_NAME, &work.name)
}

fn unmark(observed: &Object) -> Value {
    let absent = |field: &str, keys: &[&str]| -> Map {
        keys.iter()
            .filter(|key| observed.at(&["metadata", field, key]).is_some())
            .map(|key| ((*key).to_owned(), Value::Null))
            .collect()
    };
    let mut annotations = absent("annotations", &ANNOTATIONS);
    if is_namespace(observed) {
        // By this it is known when it comes back, and is nobody else's then.
        annotations.shift_remove(TEMPLATE_UID);
    }
    serde_json::json!({"metadata": {
        "labels": absent("labels", &LABELS),
        "annotations": annotations,
    }})
}
