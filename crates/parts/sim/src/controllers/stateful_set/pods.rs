//! The pods and claims of a StatefulSet.

use object::{Object, Value};
use serde_json::json;

use crate::controllers::stateful_set::retention;
use crate::controllers::template::pod_of;
use crate::read;

pub(crate) const REVISION: &str = "controller-revision-hash";

/// The name of the pod at an ordinal.
pub(crate) fn name_of(set: &Object, ordinal: i64) -> String {
    format!("{}-{ordinal}", set.name())
}

/// The ordinal of a pod of the set.
pub(crate) fn ordinal_of(set: &Object, pod: &Object) -> Option<i64> {
    let rest = pod.name().strip_prefix(set.name())?.strip_prefix('-')?;
    rest.parse().ok()
}

/// A pod of a revision. `template` is that of an older revision, if it is one.
pub(crate) fn pod(set: &Object, ordinal: i64, revision: &str, template: Option<&Value>) -> Value {
    let name = name_of(set, ordinal);
    let mut pod = match template {
        Some(template) => {
            let mut older = set.clone();
            // The path is there: the server refuses sets without a spec.
            let _set = older.set(&["spec", "template"], template.clone());
            pod_of(&older, Some(&name))
        }
        None => pod_of(set, Some(&name)),
    };
    let labels = pod
        .get_mut("metadata")
        .and_then(Value::as_object_mut)
        .map(|metadata| metadata.entry("labels").or_insert_with(|| json!({})));
    if let Some(labels) = labels.and_then(Value::as_object_mut) {
        labels.insert("statefulset.kubernetes.io/pod-name".to_owned(), json!(name));
        labels.insert(
            "apps.kubernetes.io/pod-index".to_owned(),
            json!(ordinal.to_string()),
        );
        labels.insert(REVISION.to_owned(), json!(revision));
    }
    let claims: Vec<(String, String)> = templates(set)
        .iter()
        .map(|template| {
            let volume = template.pointer("/metadata/name").and_then(Value::as_str);
            let volume = volume.unwrap_or_default();
            (volume.to_owned(), format!("{volume}-{name}"))
        })
        .collect();
    if let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert("hostname".to_owned(), json!(name));
        if let Some(service) = set.text_at(&["spec", "serviceName"]) {
            spec.insert("subdomain".to_owned(), json!(service));
        }
        let volumes = spec.entry("volumes").or_insert_with(|| json!([]));
        if let Some(volumes) = volumes.as_array_mut() {
            volumes.retain(|volume| {
                claims
                    .iter()
                    .all(|(name, _)| read::text(volume, "name") != name)
            });
            for (volume, claim) in claims {
                volumes
                    .push(json!({"name": volume, "persistentVolumeClaim": {"claimName": claim}}));
            }
        }
    }
    pod
}

/// The names of the claims of the pod at an ordinal, in the order of their templates.
pub(crate) fn claim_names(set: &Object, ordinal: i64) -> impl Iterator<Item = String> {
    let pod = name_of(set, ordinal);
    templates(set).iter().map(move |template| {
        let volume = template.pointer("/metadata/name").and_then(Value::as_str);
        format!("{}-{pod}", volume.unwrap_or_default())
    })
}

/// The claims of the pod at an ordinal, by name.
pub(crate) fn claims(set: &Object, ordinal: i64) -> Vec<(String, Value)> {
    let named = claim_names(set, ordinal).zip(templates(set));
    let claims = named.map(|(name, template)| {
        let labels = set.at(&["spec", "selector", "matchLabels"]);
        let mut claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": set.namespace(), "labels": labels},
            "spec": template.get("spec"),
        });
        let metadata = claim.get_mut("metadata").and_then(Value::as_object_mut);
        if let (Some(owner), Some(metadata)) = (retention::first_owner(set), metadata) {
            metadata.insert("ownerReferences".to_owned(), json!([owner]));
        }
        (name, claim)
    });
    claims.collect()
}

fn templates(set: &Object) -> &[Value] {
    read::list(set, &["spec", "volumeClaimTemplates"])
}
