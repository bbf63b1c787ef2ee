//! A pod runs as an account that is there, with what the account has for its pods.

use std::sync::Arc;
use std::time::Duration;

use object::{Map, Value};
use serde_json::json;
use serve::cache::{self, Cache};
use serve::call::Call;
use serve::record::Record;
use serve::status::Status;

use crate::admission::refuse;
use crate::{read, surroundings};

/// The account of pods that name none.
const DEFAULT: &str = "default";
/// How long a pod waits for that account, which every namespace gets soon after it is made.
const WAIT: Duration = Duration::from_secs(1);
/// Where containers find the token of their account.
const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Gives a new pod its account and what belongs to it, or refuses the pod if there is no such account.
pub(super) async fn settle(call: &Call, pod: &mut Value, cache: &Cache) -> Result<(), Status> {
    let name = match pod
        .pointer("/spec/serviceAccountName")
        .and_then(Value::as_str)
    {
        None | Some("") => DEFAULT.to_owned(),
        Some(name) => name.to_owned(),
    };
    let namespace = call.target.namespace.as_str();
    let Some(account) = find(cache, namespace, &name).await else {
        let why = format!(
            "error looking up service account {namespace}/{name}: serviceaccount {name:?} not found"
        );
        return Err(refuse(call, pod, &why));
    };
    let account = account.value();
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
        return Ok(());
    };
    for field in ["serviceAccountName", "serviceAccount"] {
        spec.insert(field.to_owned(), json!(name));
    }
    let pulls = read::items(&account, "imagePullSecrets");
    let has_pulls = spec
        .get("imagePullSecrets")
        .and_then(Value::as_array)
        .is_some_and(|list| !list.is_empty());
    if !pulls.is_empty() && !has_pulls {
        spec.insert("imagePullSecrets".to_owned(), pulls.to_vec().into());
    }
    let says = |value: Option<&Value>| value.and_then(Value::as_bool);
    let own = says(spec.get("automountServiceAccountToken"));
    let wanted = own.or_else(|| says(account.get("automountServiceAccountToken")));
    if wanted != Some(false) {
        mount_token(spec);
    }
    Ok(())
}

/// The account; the default one is waited for.
async fn find(cache: &Cache, namespace: &str, name: &str) -> Option<Arc<Record>> {
    let accounts = cache.collection("core/serviceaccounts");
    let key = cache::object_key(namespace, name);
    let mut arrivals = accounts.arrivals();
    let known = accounts.find(&key);
    if known.is_some() || name != DEFAULT {
        return known;
    }
    let coming = async {
        while arrivals.changed().await.is_ok() {
            if let Some(account) = accounts.find(&key) {
                return Some(account);
            }
        }
        None
    };
    tokio::time::timeout(WAIT, coming).await.ok().flatten()
}

/// Gives every container the token of the pod's account, unless it has one.
fn mount_token(spec: &mut Map) {
    let is_there = ["containers", "initContainers"]
        .iter()
        .filter_map(|list| spec.get(*list)?.as_array())
        .flatten()
        .flat_map(|container| read::items(container, "volumeMounts"))
        .any(|mount| read::text(mount, "mountPath") == TOKEN_PATH);
    if is_there {
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
