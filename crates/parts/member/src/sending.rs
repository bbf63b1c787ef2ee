//! Works that the control plane makes on its own account, without a binding: for namespaces, and for who may impersonate.

use api::names::{execution_space, work_name};
use api::well_known::annotations::{WORK_NAME, WORK_NAMESPACE};
use api::well_known::finalizers;
use api::well_known::labels::{MANAGED, TRUE, permanent_id};
use api::work::v1alpha1::Work;
use intent::{Action, Part};
use object::object::SetError;
use object::{Map, Object, ObjectKey, Value};
use serde_json::json;

use crate::resources;

/// One object for one cluster.
pub(crate) struct Sending<'a> {
    pub(crate) cluster: &'a str,
    /// The object whose end is the work's end too.
    pub(crate) owner: &'a Object,
    /// What the cluster is to have.
    pub(crate) object: Object,
    /// Notes on the work.
    pub(crate) annotations: Vec<(&'static str, String)>,
    /// The work as it is now, if there is one.
    pub(crate) existing: Option<&'a Object>,
    /// What is known of the owner.
    pub(crate) standing: Standing,
}

/// What is known of the owner of a work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is in view, and may be gone.
    Seen,
    /// The server itself has just said that it is there to stay: a work that has lost it gets it back.
    Sure,
    /// It is on its way out: the work brings nothing, and takes away what is there once the owner is gone.
    Ending,
}

/// Whether a work has lost its owner, and so would never go.
pub(crate) fn is_lost(work: &Object) -> bool {
    !work.is_terminating() && work.owner_references().next().is_none()
}

/// Where the work for an object in a cluster is.
pub(crate) fn key(object: &Object, cluster: &str) -> ObjectKey {
    let name = work_name(object.kind(), object.name(), object.namespace());
    ObjectKey::namespaced(execution_space(cluster), name)
}

/// What brings the work to what it should be; `None` if it is, or is on its way out.
pub(crate) fn send(sending: Sending<'_>) -> Result<Option<Action>, SetError> {
    let key = key(&sending.object, sending.cluster);
    let manifest = manifest(sending.object, &key, sending.existing)?;
    let annotations: Map = sending
        .annotations
        .into_iter()
        .map(|(name, value)| (name.to_owned(), Value::from(value)))
        .collect();
    let resource = resources::of::<Work>();
    let (owner, standing) = (sending.owner, sending.standing);
    let owners = json!([{
        "apiVersion": owner.api_version(), "kind": owner.kind(), "name": owner.name(), "uid": owner.uid(),
        "controller": true, "blockOwnerDeletion": true,
    }]);
    let Some(existing) = sending.existing else {
        let mut work = Object::new(&resource.kind, &key);
        work.set(&["metadata", "finalizers"], json!([finalizers::EXECUTION]))?;
        work.set(&["metadata", "ownerReferences"], owners)?;
        if !annotations.is_empty() {
            work.set(&["metadata", "annotations"], annotations)?;
        }
        work.set(&["spec", "workload", "manifests"], json!([manifest]))?;
        if standing == Standing::Ending {
            work.set(&["spec", "suspendDispatching"], true)?;
        }
        return Ok(Some(Action::Create {
            resource,
            object: work,
        }));
    };
    if existing.is_terminating() || standing == Standing::Ending {
        return Ok(None);
    }
    let manifests = json!([manifest]);
    let is_noted = annotations
        .iter()
        .all(|(name, value)| existing.at(&["metadata", "annotations", name]) == Some(value));
    let gets_owner = standing == Standing::Sure && is_lost(existing);
    let is_same = existing.at(&["spec", "workload", "manifests"]) == Some(&manifests);
    if is_noted && is_same && !gets_owner {
        return Ok(None);
    }
    let mut patch = json!({
        "metadata": {"annotations": annotations},
        "spec": {"workload": {"manifests": manifests}},
    });
    if gets_owner {
        patch["metadata"]["ownerReferences"] = owners;
    }
    Ok(Some(Action::patch(resource, existing, patch, Part::Object)))
}

/// The object with the marks by which a member and its reports know it.
fn manifest(
    mut object: Object,
    key: &ObjectKey,
    existing: Option<&Object>,
) -> Result<Object, SetError> {
    object.set(&["metadata", "labels", MANAGED], TRUE)?;
    object.set(
        &["metadata", "annotations", WORK_NAMESPACE],
        key.namespace.as_str(),
    )?;
    object.set(&["metadata", "annotations", WORK_NAME], key.name.as_str())?;
    let id = existing.and_then(|work| work.label(permanent_id::WORK));
    binding::manifest::finish(object, id)
}
