//! What of a template must not reach the members: what the control plane's own server and controllers wrote into it.
//!
//! Goes by the name of the kind alone, whatever its group, so that it is the same for every version of it. Admission of
//! works does this as well, so the result depends on the object alone and pruning twice is pruning once.

use object::{Object, Value};

use crate::{error::RuleError, native::ACCOUNT_TOKEN, node::Node};

/// What becomes of the time after which a finished job is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobTtl {
    /// Taken out of works: a member that deletes the job would be sent it again.
    Remove,
    /// Left in an object that is taken over from a member.
    Keep,
}

/// Metadata that is made anew in each cluster.
const METADATA: [&str; 10] = [
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

/// What the Deployment controller keeps on its objects.
const REVISIONS: [&str; 2] = [
    "deployment.kubernetes.io/revision",
    "deployment.kubernetes.io/revision-history",
];

/// The labels by which a job knows its pods, old name and new.
const CONTROLLER_UID: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];
const JOB_NAME: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];

const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// The address of a service that asks for none.
const HEADLESS: &str = "None";

/// The object without what belongs to the cluster it is from.
pub fn prune(mut object: Object, ttl: JobTtl) -> Result<Object, RuleError> {
    for name in METADATA {
        object.remove(&["metadata", name]);
    }
    object.remove(&["status"]);
    match object.kind() {
        "Deployment" => prune_annotations(&mut object, &REVISIONS),
        "PersistentVolumeClaim" => prune_annotations(&mut object, &[SELECTED_NODE]),
        "Job" => prune_job(&mut object, ttl)?,
        "Secret" => prune_secret(&mut object)?,
        "ServiceAccount" => prune_service_account(&mut object)?,
        "Service" => prune_service(&mut object)?,
        _ => {}
    }
    Ok(object)
}

fn prune_annotations(object: &mut Object, keys: &[&str]) {
    for key in keys {
        object.remove(&["metadata", "annotations", key]);
    }
}

fn prune_job(object: &mut Object, ttl: JobTtl) -> Result<(), RuleError> {
    if ttl == JobTtl::Remove {
        object.remove(&["spec", "ttlSecondsAfterFinished"]);
    }
    let manual = Node::of(object)
        .at(&["spec", "manualSelector"])?
        .boolean()?;
    if manual == Some(true) {
        return Ok(());
    }
    for key in CONTROLLER_UID {
        object.remove(&["spec", "selector", "matchLabels", key]);
    }
    for key in CONTROLLER_UID.into_iter().chain(JOB_NAME) {
        object.remove(&["spec", "template", "metadata", "labels", key]);
    }
    Ok(())
}

/// The token and the identity it is for are the cluster's own. `null` tells whoever compares that data is expected.
fn prune_secret(object: &mut Object) -> Result<(), RuleError> {
    if Node::of(object).at(&["type"])?.text()? != Some(ACCOUNT_TOKEN) {
        return Ok(());
    }
    prune_annotations(object, &[ACCOUNT_UID]);
    object.fields_mut().insert("data".to_owned(), Value::Null);
    Ok(())
}

/// Takes the generated secrets away, however many stand in a row.
fn prune_service_account(object: &mut Object) -> Result<(), RuleError> {
    let prefix = format!("{}-token-", object.name());
    let mut kept = Vec::new();
    let root = Node::of(object);
    let secrets = root.at(&["secrets"])?;
    if secrets.is_absent() {
        return Ok(());
    }
    for secret in secrets.list()? {
        if !secret.at(&["name"])?.text_or_empty()?.starts_with(&prefix) {
            kept.extend(secret.raw().cloned());
        }
    }
    object
        .fields_mut()
        .insert("secrets".to_owned(), Value::Array(kept));
    Ok(())
}

fn prune_service(object: &mut Object) -> Result<(), RuleError> {
    let root = Node::of(object);
    let address = root.at(&["spec", "clusterIP"])?.text()?;
    if address.is_none_or(|address| address == HEADLESS) {
        return Ok(());
    }
    for name in ["clusterIP", "clusterIPs"] {
        object.remove(&["spec", name]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_token_is_replaced_by_null_and_not_by_nothing() {
        let secret = json!({"kind": "Secret", "type": ACCOUNT_TOKEN, "data": {"token": "dA=="}});
        let secret = Object::from_value(secret).unwrap();
        let pruned = prune(secret, JobTtl::Remove).unwrap();
        assert_eq!(pruned.at(&["data"]), Some(&Value::Null));
    }

    #[test]
    fn fields_keep_their_order() {
        let text = r#"{"kind":"Service","spec":{"z":1,"clusterIP":"10.0.0.1","a":2},"metadata":{"z":1,"uid":"u","a":2}}"#;
        let service: Object = serde_json::from_str(text).unwrap();
        let pruned = prune(service, JobTtl::Remove).unwrap();
        assert_eq!(
            serde_json::to_string(&pruned).unwrap(),
            r#"{"kind":"Service","spec":{"z":1,"a":2},"metadata":{"z":1,"a":2}}"#
        );
    }
}
