//! Claims are bound at once to volumes made for them; volumes go with their claims.
//!
//! Reads:  claims, volumes, classes.
//! Writes: volumes; the volume's name and the status of claims; the status of volumes.
//! Keeps:  each claim has a volume of its own.

use std::sync::Arc;

use object::{Object, Value};
use serde_json::json;

use crate::admission::DEFAULT_CLASS;
use crate::engine::action::{Plan, Writer};
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};
use crate::read;

pub(crate) const CONTROLLER: Controller = Controller {
    name: "volume",
    component: "persistentvolume-controller",
    wakes,
    plan,
};

fn wakes(seen: &Seen, _: &Mirror, keys: &mut Vec<Arc<str>>) {
    match seen.kind {
        Kind::PersistentVolumeClaim => keys.push(Arc::clone(&seen.key)),
        Kind::PersistentVolume => {
            let claim = seen.either().and_then(|volume| {
                let namespace = volume.text_at(&["spec", "claimRef", "namespace"])?;
                Some(format!(
                    "{namespace}/{}",
                    volume.text_at(&["spec", "claimRef", "name"])?
                ))
            });
            keys.extend(claim.map(Arc::from));
        }
        _ => {}
    }
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    let mut plan = Plan::default();
    if key.is_empty() {
        return plan;
    }
    let claim = view.mirror.find(Kind::PersistentVolumeClaim, key);
    let Some(claim) = claim else {
        release(view, key, &mut plan);
        return plan;
    };
    if claim.is_terminating() {
        return plan;
    }
    let Some(class) = class_of(view, claim) else {
        return plan;
    };
    let name = match claim
        .text_at(&["spec", "volumeName"])
        .filter(|name| !name.is_empty())
    {
        Some(name) => name.to_owned(),
        None => {
            let name = format!("pvc-{}", claim.uid());
            let patch = json!({"spec": {"volumeName": name}, "metadata": {"annotations": {
                "pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes",
            }}});
            if view.mirror.find(Kind::PersistentVolume, &name).is_none() {
                plan.create(Kind::PersistentVolume, volume(claim, &class, &name));
                let message = format!("Successfully provisioned volume {name}");
                plan.report(claim, Writer::Controllers, "ProvisioningSucceeded", message);
            }
            plan.merge(Kind::PersistentVolumeClaim, claim, patch);
            return plan;
        }
    };
    let Some(volume) = view.mirror.find(Kind::PersistentVolume, &name) else {
        return plan;
    };
    let status = json!({
        "phase": "Bound", "accessModes": claim.at(&["spec", "accessModes"]),
        "capacity": volume.at(&["spec", "capacity"]),
    });
    plan.status(
        Kind::PersistentVolumeClaim,
        claim,
        status,
        Writer::Controllers,
    );
    if read::phase(volume) != "Bound" {
        let status = json!({"phase": "Bound", "lastPhaseTransitionTime": view.now.to_string()});
        plan.status(Kind::PersistentVolume, volume, status, Writer::Controllers);
    }
    plan
}

/// The class a claim names, or the default one.
fn class_of(view: &View<'_>, claim: &Object) -> Option<Object> {
    let named = claim.text_at(&["spec", "storageClassName"]);
    let mut classes = view.mirror.all(Kind::StorageClass).map(|(_, class)| class);
    let found = match named {
        Some(name) => classes.find(|class| class.name() == name),
        None => classes.find(|class| class.annotation(DEFAULT_CLASS) == Some("true")),
    };
    found.map(|class| Object::clone(class))
}

fn volume(claim: &Object, class: &Object, name: &str) -> Value {
    let policy = class.text_at(&["reclaimPolicy"]).unwrap_or("Delete");
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": class.text_at(&["provisioner"])}},
        "spec": {
            "capacity": claim.at(&["spec", "resources", "requests"]), "accessModes": claim.at(&["spec", "accessModes"]),
            "persistentVolumeReclaimPolicy": policy, "storageClassName": class.name(), "volumeMode": "Filesystem",
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": claim.namespace(),
                "name": claim.name(), "uid": claim.uid(),
            },
            "hostPath": {"path": format!("/var/lib/sim/{name}")},
        },
    })
}

/// Volumes of a claim that is gone: deleted or released, as their policy says.
fn release(view: &View<'_>, key: &str, plan: &mut Plan) {
    let volumes = view
        .mirror
        .all(Kind::PersistentVolume)
        .map(|(_, volume)| volume);
    for volume in volumes {
        let of = |name: &str| {
            volume
                .text_at(&["spec", "claimRef", name])
                .unwrap_or_default()
        };
        if format!("{}/{}", of("namespace"), of("name")) != key || volume.is_terminating() {
            continue;
        }
        if volume.text_at(&["spec", "persistentVolumeReclaimPolicy"]) == Some("Retain") {
            if read::phase(volume) != "Released" {
                let status =
                    json!({"phase": "Released", "lastPhaseTransitionTime": view.now.to_string()});
                plan.status(Kind::PersistentVolume, volume, status, Writer::Controllers);
            }
        } else {
            plan.delete(Kind::PersistentVolume, volume);
        }
    }
}
