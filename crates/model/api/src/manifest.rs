//! The object inside a work, as the member gets it: without what belongs to the server it came from, and with a record of
//! what is managed from here.
//!
//! Whoever makes works and whoever admits them do this alike, so both come to the same bytes.

use object::{Map, Object, Value, object::SetError};

use crate::well_known::{
    annotations::{MANAGED_ANNOTATIONS, MANAGED_LABELS},
    labels::permanent_id,
};

/// Fields of the metadata that only the server an object lives on can know.
const SERVER_FIELDS: [&str; 10] = [
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
    "ownerReferences",
    "finalizers",
];

/// Labels that name the uid of the Job which made a pod.
const JOB_UID_LABELS: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];
/// Labels that name the Job which made a pod.
const JOB_NAME_LABELS: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];

/// What becomes of a Job's time to live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobLifetime {
    /// It is taken away: a Job that a member collects by itself would be made again.
    Dropped,
    /// It stays, for an object that is taken from a member and not sent to one.
    Kept,
}

/// The object without what belongs to the server it came from. Kinds are known by their name, in any group.
#[must_use]
pub fn prune(mut object: Object, lifetime: JobLifetime) -> Object {
    let kind = object.kind().to_owned();
    let fields = object.fields_mut();
    fields.shift_remove("status");
    if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
        for field in SERVER_FIELDS {
            metadata.shift_remove(field);
        }
    }
    match kind.as_str() {
        "Deployment" => remove_annotations(
            &mut object,
            &[
                "deployment.kubernetes.io/revision",
                "deployment.kubernetes.io/revision-history",
            ],
        ),
        "Job" => prune_job(&mut object, lifetime),
        "Secret" => prune_secret(&mut object),
        "ServiceAccount" => prune_service_account(&mut object),
        "Service" => prune_service(&mut object),
        "PersistentVolumeClaim" => {
            remove_annotations(&mut object, &["volume.kubernetes.io/selected-node"]);
        }
        _ => {}
    }
    object
}

/// A manifest ready for its member: pruned, with the permanent id of its work once that has one, and with the record of
/// the labels and annotations that are managed from here. The member's copy loses whatever leaves the record.
///
/// The record is made last, because it covers itself and the id.
pub fn finish(manifest: Object, work_id: Option<&str>) -> Result<Object, SetError> {
    let mut manifest = prune(manifest, JobLifetime::Dropped);
    // Both records are annotations, so both are in the record of annotations, whichever is written first.
    for record in [MANAGED_ANNOTATIONS, MANAGED_LABELS] {
        if manifest.annotation(record).is_none() {
            manifest.set(&["metadata", "annotations", record], "")?;
        }
    }
    let annotations = keys(&manifest, "annotations");
    manifest.set(
        &["metadata", "annotations", MANAGED_ANNOTATIONS],
        annotations,
    )?;
    if let Some(id) = work_id {
        manifest.set(&["metadata", "labels", permanent_id::WORK], id)?;
    }
    let labels = keys(&manifest, "labels");
    manifest.set(&["metadata", "annotations", MANAGED_LABELS], labels)?;
    Ok(manifest)
}

fn prune_job(job: &mut Object, lifetime: JobLifetime) {
    if lifetime == JobLifetime::Dropped {
        job.remove(&["spec", "ttlSecondsAfterFinished"]);
    }
    let is_manual = job.at(&["spec", "manualSelector"]) == Some(&Value::Bool(true));
    if is_manual {
        return;
    }
    let selector: &[&str] = &["spec", "selector", "matchLabels"];
    let labels: &[&str] = &["spec", "template", "metadata", "labels"];
    for path in [selector, labels] {
        remove_keys(job, path, &JOB_UID_LABELS);
    }
    remove_keys(job, labels, &JOB_NAME_LABELS);
}

/// The token belongs to an account of this server; the member makes its own.
fn prune_secret(secret: &mut Object) {
    if secret.text_at(&["type"]) != Some("kubernetes.io/service-account-token") {
        return;
    }
    remove_annotations(secret, &["kubernetes.io/service-account.uid"]);
    secret.fields_mut().insert("data".to_owned(), Value::Null);
}

/// Upstream: the entry right behind one that is taken away is not looked at.
fn prune_service_account(account: &mut Object) {
    let prefix = format!("{}-token-", account.name());
    if let Some(Value::Array(secrets)) = account.fields_mut().get_mut("secrets") {
        secrets.retain(|secret| {
            !secret
                .get("name")
                .and_then(Value::as_str)
                .is_some_and(|name| name.starts_with(&prefix))
        });
    }
}

fn prune_service(service: &mut Object) {
    if service.text_at(&["spec", "clusterIP"]) == Some("None") {
        return;
    }
    for field in ["clusterIP", "clusterIPs"] {
        service.remove(&["spec", field]);
    }
}

fn remove_annotations(object: &mut Object, keys: &[&str]) {
    remove_keys(object, &["metadata", "annotations"], keys);
}

fn remove_keys(object: &mut Object, path: &[&str], keys: &[&str]) {
    let mut map: Option<&mut Map> = Some(object.fields_mut());
    for field in path {
        map = map
            .and_then(|map| map.get_mut(*field))
            .and_then(Value::as_object_mut);
    }
    let Some(map) = map else {
        return;
    };
    for key in keys {
        map.shift_remove(*key);
    }
}

/// The keys of the labels or annotations, sorted and joined by commas.
fn keys(object: &Object, field: &str) -> String {
    let map = object.at(&["metadata", field]).and_then(Value::as_object);
    let mut keys: Vec<&str> = map
        .into_iter()
        .flat_map(|map| map.keys().map(String::as_str))
        .collect();
    keys.sort_unstable();
    keys.join(",")
}
