//! Volumes that live as long as their pod: each is a claim made for it.
//!
//! Reads:  pods with such volumes, claims.
//! Writes: claims, owned by their pod.
//! Keeps:  a claim of that name that belongs to somebody else is not taken.

use std::sync::Arc;

use object::{Object, Value};
use serde_json::json;

use crate::engine::action::{Plan, Writer};
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};
use crate::read;

pub(crate) const CONTROLLER: Controller = Controller {
    name: "ephemeral volume",
    component: "ephemeral_volume",
    wakes,
    plan,
};

/// The claim of one of a pod's volumes, if the volume is of that sort: its name and its template.
pub(crate) fn claim_of<'v>(pod: &Object, volume: &'v Value) -> Option<(String, &'v Value)> {
    let template = volume.get("ephemeral")?.get("volumeClaimTemplate")?;
    let name = format!("{}-{}", pod.name(), read::text(volume, "name"));
    Some((name, template))
}

/// Whether a claim was made for a pod.
pub(crate) fn is_for(claim: &Object, pod: &Object) -> bool {
    read::controller_uid(claim) == Some(pod.uid())
}

fn wakes(seen: &Seen, _: &Mirror, keys: &mut Vec<Arc<str>>) {
    let has_any = |pod: &Object| {
        let mut volumes = read::list(pod, &["spec", "volumes"]).iter();
        volumes.any(|volume| volume.get("ephemeral").is_some())
    };
    match (seen.kind, &seen.before, &seen.after) {
        (Kind::Pod, None, Some(pod)) if has_any(pod) => keys.push(Arc::clone(&seen.key)),
        (Kind::PersistentVolumeClaim, Some(claim), None) => {
            let owner = read::controller(claim);
            if let Some(owner) = owner.filter(|owner| read::text(owner, "kind") == "Pod") {
                let name = read::text(owner, "name");
                keys.push(format!("{}/{name}", claim.namespace()).into());
            }
        }
        _ => {}
    }
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    let mut plan = Plan::default();
    let Some(pod) = view.mirror.find(Kind::Pod, key) else {
        return plan;
    };
    if !read::is_active(pod) {
        return plan;
    }
    for volume in read::list(pod, &["spec", "volumes"]) {
        let Some((name, template)) = claim_of(pod, volume) else {
            continue;
        };
        let key = format!("{}/{name}", pod.namespace());
        match view.mirror.find(Kind::PersistentVolumeClaim, &key) {
            None => plan.create(Kind::PersistentVolumeClaim, claim(pod, &name, template)),
            Some(claim) if is_for(claim, pod) => {}
            Some(_) => {
                let message = format!(
                    "PVC {key} was not created for pod {}/{} (pod is not owner)",
                    pod.namespace(),
                    pod.name()
                );
                plan.warn(pod, Writer::Controllers, "FailedEphemeralVolume", message);
            }
        }
    }
    plan
}

fn claim(pod: &Object, name: &str, template: &Value) -> Value {
    let of = |field: &str| {
        let metadata = template.get("metadata");
        metadata
            .and_then(|metadata| metadata.get(field).cloned())
            .unwrap_or_else(|| json!({}))
    };
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name, "namespace": pod.namespace(), "labels": of("labels"), "annotations": of("annotations"),
            "ownerReferences": [read::owner_reference(pod)],
        },
        "spec": template.get("spec"),
    })
}
