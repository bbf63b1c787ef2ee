//! Claims are bound at once, to a volume that suits them or to one made for them; volumes go with their claims.
//!
//! Reads:  claims, volumes, classes.
//! Writes: volumes and whose they are; the volume's name and the status of claims; the status of volumes.
//! Keeps:  each claim has a volume of its own, and no volume has two claims.

mod matching;

use std::sync::Arc;

use object::quantity::Quantity;
use object::{Object, Value};
use serde_json::json;

use crate::admission::DEFAULT_CLASS;
use crate::engine::action::{Plan, Writer};
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};
use crate::read;

/// A class of volumes that somebody else makes.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

pub(crate) const CONTROLLER: Controller = Controller {
    name: "volume",
    component: "persistentvolume-controller",
    wakes,
    plan,
};

/// What comes before the name of a volume in a key; claims are known by namespace and name.
const VOLUME: &str = "volume:";

fn wakes(seen: &Seen, mirror: &Mirror, keys: &mut Vec<Arc<str>>) {
    match seen.kind {
        Kind::PersistentVolumeClaim => keys.push(Arc::clone(&seen.key)),
        Kind::StorageClass => wake_waiting(mirror, keys),
        Kind::PersistentVolume => {
            let free = seen.after.as_deref().filter(|volume| is_free(volume));
            if free.is_some() {
                keys.push(format!("{VOLUME}{}", seen.key).into());
                wake_waiting(mirror, keys);
            }
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

/// Claims that have no volume yet.
fn wake_waiting(mirror: &Mirror, keys: &mut Vec<Arc<str>>) {
    let waiting = mirror
        .all(Kind::PersistentVolumeClaim)
        .filter(|(_, claim)| read::phase(claim) != "Bound");
    keys.extend(waiting.map(|(key, _)| Arc::clone(key)));
}

/// Whether no claim has a volume, though it may be kept for one by name.
fn is_free(volume: &Object) -> bool {
    volume.at(&["spec", "claimRef", "uid"]).is_none()
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    let mut plan = Plan::default();
    if key.is_empty() {
        return plan;
    }
    if let Some(name) = key.strip_prefix(VOLUME) {
        let volume = view.mirror.find(Kind::PersistentVolume, name);
        let volume = volume.filter(|volume| is_free(volume) && !volume.is_terminating());
        if let Some(volume) = volume.filter(|volume| read::phase(volume) != "Available") {
            set_phase(&mut plan, volume, "Available", view);
        }
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
    let is_own =
        |volume: &&Arc<Object>| volume.text_at(&["spec", "claimRef", "uid"]) == Some(claim.uid());
    // Nearly every claim names its volume or has one that is called after it.
    let named = claim.text_at(&["spec", "volumeName"]).map(str::to_owned);
    let named = named.unwrap_or_else(|| made_name(claim));
    let known = view.mirror.find(Kind::PersistentVolume, &named);
    let own = known.filter(is_own).or_else(|| {
        let mut all = view.mirror.all(Kind::PersistentVolume);
        all.find_map(|(_, volume)| Some(volume).filter(is_own))
    });
    match own {
        Some(volume) => bind(&mut plan, claim, volume, view),
        None => find(&mut plan, claim, view),
    }
    plan
}

/// A claim and its volume say of each other that they belong together.
fn bind(plan: &mut Plan, claim: &Object, volume: &Object, view: &View<'_>) {
    if claim.text_at(&["spec", "volumeName"]) != Some(volume.name()) {
        let patch = json!({"spec": {"volumeName": volume.name()}, "metadata": {"annotations": {
            "pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes",
        }}});
        plan.merge(Kind::PersistentVolumeClaim, claim, patch);
        return;
    }
    if let Some(size) = growth(claim, volume) {
        let by = Writer::Controllers;
        let message = format!("External resizer is resizing volume {}", volume.name());
        plan.report(claim, by, "Resizing", message);
        let patch = json!({"spec": {"capacity": {"storage": size}}});
        plan.merge(Kind::PersistentVolume, volume, patch);
        let message = "Resize volume succeeded".to_owned();
        plan.report(claim, by, "VolumeResizeSuccessful", message);
        return;
    }
    let status = json!({
        "phase": "Bound", "accessModes": volume.at(&["spec", "accessModes"]),
        "capacity": volume.at(&["spec", "capacity"]),
    });
    let by = Writer::Controllers;
    plan.status(Kind::PersistentVolumeClaim, claim, status, by);
    if read::phase(volume) != "Bound" {
        set_phase(plan, volume, "Bound", view);
    }
}

/// What a claim asks for that its volume does not have. Admission has seen to it that the class lets volumes grow.
fn growth(claim: &Object, volume: &Object) -> Option<String> {
    let size = |value: Option<&Value>| value?.as_str()?.parse::<Quantity>().ok();
    let wanted = claim.at(&["spec", "resources", "requests", "storage"]);
    let has = size(volume.at(&["spec", "capacity", "storage"]))?;
    let grows = size(wanted).is_some_and(|wanted| wanted > has);
    Some(wanted?.as_str()?.to_owned()).filter(|_| grows)
}

/// A claim without a volume takes one that suits it, or one is made for it if its class can.
fn find(plan: &mut Plan, claim: &Object, view: &View<'_>) {
    let volumes = view.mirror.all(Kind::PersistentVolume);
    let volumes = volumes.map(|(_, volume)| &**volume);
    if let Some(volume) = matching::choose(claim, volumes) {
        let patch = json!({"spec": {"claimRef": reference(claim)}, "metadata": {"annotations": {
            "pv.kubernetes.io/bound-by-controller": "yes",
        }}});
        plan.merge(Kind::PersistentVolume, volume, patch);
        return;
    }
    let by = Writer::Controllers;
    if claim
        .text_at(&["spec", "volumeName"])
        .is_some_and(|name| !name.is_empty())
    {
        // It wants that one and no other.
        return;
    }
    let Some(class) = class_of(view, claim) else {
        let named = claim
            .text_at(&["spec", "storageClassName"])
            .unwrap_or_default();
        if named.is_empty() {
            let message =
                "no persistent volumes available for this claim and no storage class is set";
            plan.report(claim, by, "FailedBinding", message.to_owned());
        } else {
            let message = format!("storageclass.storage.k8s.io {named:?} not found");
            plan.warn(claim, by, "ProvisioningFailed", message);
        }
        return;
    };
    let provisioner = class.text_at(&["provisioner"]).unwrap_or_default();
    if provisioner == NO_PROVISIONER {
        return;
    }
    let name = made_name(claim);
    plan.create(Kind::PersistentVolume, volume(claim, &class, &name));
    let message = format!("Successfully provisioned volume {name}");
    plan.report(claim, by, "ProvisioningSucceeded", message);
}

/// What a volume is called that is made for a claim.
fn made_name(claim: &Object) -> String {
    format!("pvc-{}", claim.uid())
}

fn set_phase(plan: &mut Plan, volume: &Object, phase: &str, view: &View<'_>) {
    let status = json!({"phase": phase, "lastPhaseTransitionTime": view.now.to_string()});
    plan.status(Kind::PersistentVolume, volume, status, Writer::Controllers);
}

fn reference(claim: &Object) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": claim.namespace(),
        "name": claim.name(), "uid": claim.uid(), "resourceVersion": claim.resource_version(),
    })
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
            "claimRef": reference(claim),
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
                set_phase(plan, volume, "Released", view);
            }
        } else {
            plan.delete(Kind::PersistentVolume, volume);
        }
    }
}
