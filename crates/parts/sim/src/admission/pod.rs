//! What every new pod gets: an account and its token, patience with nodes that are not heard of, a priority.

use object::{Map, Value};
use serde_json::json;

use crate::{read, surroundings};

/// How long a pod bears a node that is not heard of.
const PATIENCE: i64 = 300;

/// Fills in what a cluster's admission fills in.
pub(crate) fn complete(pod: &mut Value) {
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    for name in ["serviceAccountName", "serviceAccount"] {
        let is_missing = spec
            .get(name)
            .and_then(Value::as_str)
            .is_none_or(str::is_empty);
        if is_missing {
            spec.insert(name.to_owned(), json!("default"));
        }
    }
    mount_token(spec);
    spec.entry("priority").or_insert_with(|| json!(0));
    spec.entry("preemptionPolicy")
        .or_insert_with(|| json!("PreemptLowerPriority"));
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    let Some(tolerations) = tolerations.as_array_mut() else {
        return;
    };
    for key in [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ] {
        let is_tolerated = tolerations.iter().any(|toleration| {
            let of = |name: &str| read::text(toleration, name);
            (of("key") == key || of("key").is_empty()) && matches!(of("effect"), "" | "NoExecute")
        });
        if !is_tolerated {
            tolerations.push(json!({
                "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": PATIENCE,
            }));
        }
    }
}

/// Where containers find the token of their account.
const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Gives every container the token of the pod's account, unless the pod wants none.
fn mount_token(spec: &mut Map) {
    let is_unwanted = spec
        .get("automountServiceAccountToken")
        .and_then(Value::as_bool)
        == Some(false);
    let is_there = ["containers", "initContainers"]
        .iter()
        .filter_map(|list| spec.get(*list)?.as_array())
        .flatten()
        .flat_map(|container| read::items(container, "volumeMounts"))
        .any(|mount| read::text(mount, "mountPath") == TOKEN_PATH);
    if is_unwanted || is_there {
        return;
    }
    let name = format!("kube-api-access-{}", surroundings::suffix());
    for list in ["containers", "initContainers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        for container in containers
            .into_iter()
            .flatten()
            .filter_map(Value::as_object_mut)
        {
            let mounts = container.entry("volumeMounts").or_insert_with(|| json!([]));
            if let Some(mounts) = mounts.as_array_mut() {
                mounts.push(json!({"name": name, "readOnly": true, "mountPath": TOKEN_PATH}));
            }
        }
    }
    let volumes = spec.entry("volumes").or_insert_with(|| json!([]));
    if let Some(volumes) = volumes.as_array_mut() {
        volumes.push(json!({"name": name, "projected": {"defaultMode": 420, "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [
                {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
            ]}},
        ]}}));
    }
}
