//! What of a template does not go to clusters: fields the control plane's own server and controllers filled in.

use object::{Map, Object, Value};

/// Set by the server that keeps the template, or for its own controllers.
const SERVER_METADATA: &[&str] = &[
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

/// Labels that the Job controller puts on pods, and its selector asks for, by default.
const JOB_LABELS: &[&str] = &[
    "controller-uid",
    "batch.kubernetes.io/controller-uid",
    "job-name",
    "batch.kubernetes.io/job-name",
];

/// Takes away what belongs to the template alone. Only the kind counts, whatever its group.
pub fn prune_manifest(manifest: &mut Object) {
    for field in SERVER_METADATA {
        manifest.remove(&["metadata", field]);
    }
    manifest.remove(&["status"]);
    match manifest.kind() {
        "Deployment" => prune_deployment(manifest),
        "Job" => prune_job(manifest),
        "Secret" => prune_secret(manifest),
        "ServiceAccount" => prune_service_account(manifest),
        "Service" => prune_service(manifest),
        "PersistentVolumeClaim" => {
            manifest.remove(&[
                "metadata",
                "annotations",
                "volume.kubernetes.io/selected-node",
            ]);
        }
        _ => {}
    }
}

fn prune_deployment(manifest: &mut Object) {
    for annotation in [
        "deployment.kubernetes.io/revision",
        "deployment.kubernetes.io/revision-history",
    ] {
        manifest.remove(&["metadata", "annotations", annotation]);
    }
}

/// A Job must not remove itself from a cluster: the control plane would make it again.
fn prune_job(manifest: &mut Object) {
    manifest.remove(&["spec", "ttlSecondsAfterFinished"]);
    if manifest.at(&["spec", "manualSelector"]) == Some(&Value::Bool(true)) {
        return;
    }
    for label in JOB_LABELS {
        manifest.remove(&["spec", "template", "metadata", "labels", label]);
        manifest.remove(&["spec", "selector", "matchLabels", label]);
    }
}

/// Every cluster makes tokens of its own.
fn prune_secret(manifest: &mut Object) {
    if manifest.text_at(&["type"]) != Some("kubernetes.io/service-account-token") {
        return;
    }
    manifest.remove(&[
        "metadata",
        "annotations",
        "kubernetes.io/service-account.uid",
    ]);
    manifest.fields_mut().insert("data".to_owned(), Value::Null);
}

fn prune_service_account(manifest: &mut Object) {
    let prefix = format!("{}-token-", manifest.name());
    let is_token = |secret: &Value| {
        let name = secret.get("name").and_then(Value::as_str);
        name.is_some_and(|name| name.starts_with(&prefix))
    };
    if let Some(Value::Array(secrets)) = manifest.fields_mut().get_mut("secrets") {
        secrets.retain(|secret| !is_token(secret));
    }
}

/// Every cluster gives addresses of its own; `None` asks for no address at all and is the author's wish.
fn prune_service(manifest: &mut Object) {
    let spec = manifest
        .fields_mut()
        .get_mut("spec")
        .and_then(Value::as_object_mut);
    let Some(spec) = spec else { return };
    if has_own_address(spec) {
        spec.shift_remove("clusterIP");
        spec.shift_remove("clusterIPs");
    }
}

fn has_own_address(spec: &Map) -> bool {
    spec.get("clusterIP")
        .and_then(Value::as_str)
        .is_some_and(|address| address != "None")
}
