//! What cannot change once an object exists.

use std::collections::{BTreeMap, BTreeSet};

use object::{Value, field::FieldError};

use super::{
    bounds,
    container::quantity,
    spot::{Errors, Spot},
    storage::NOT_A_SOURCE,
    words::IMMUTABLE,
};
use crate::kinds::Kind;

/// Reports changes from `old` to `new` that are not allowed.
pub(super) fn check(kind: &Kind<'_>, old: &Value, new: &Value, errors: &mut Errors) {
    let (old, new) = (Spot::root(old), Spot::root(new));
    for path in fixed_fields(kind.group, kind.kind) {
        fixed(&old, &new, path, IMMUTABLE, errors);
    }
    match (kind.group, kind.kind) {
        ("", "ConfigMap") => sealed(&old, &new, &["data", "binaryData"], errors),
        ("", "Secret") => sealed(&old, &new, &["data"], errors),
        ("", "Service") => cluster_addresses(&old, &new, errors),
        ("", "Pod") => pod(&old.field("spec"), &new.field("spec"), errors),
        ("", "ResourceQuota") => bounds::quota_update(&old, &new, errors),
        ("", "PersistentVolumeClaim") => claim(&old, &new, errors),
        ("", "PersistentVolume") => volume(&old.field("spec"), &new.field("spec"), errors),
        ("apps", "StatefulSet") => stateful_set(&old.field("spec"), &new.field("spec"), errors),
        ("batch", "Job") => job(&old, &new, errors),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => {
            fixed(&old, &new, "roleRef", "cannot change roleRef", errors);
        }
        ("scheduling.k8s.io", "PriorityClass") => {
            forbidden(
                &old,
                &new,
                "value",
                "may not be changed in an update.",
                errors,
            );
        }
        ("storage.k8s.io", "StorageClass") => {
            for field in ["parameters", "provisioner", "reclaimPolicy"] {
                forbidden(
                    &old,
                    &new,
                    field,
                    &format!("updates to {field} are forbidden."),
                    errors,
                );
            }
        }
        ("storage.k8s.io", "VolumeAttributesClass") => {
            for field in ["driverName", "parameters"] {
                forbidden(
                    &old,
                    &new,
                    field,
                    &format!("updates to {field} are forbidden."),
                    errors,
                );
            }
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition(&old, &new, errors),
        _ => {}
    }
}

/// Fields whose every change is refused in the same words.
fn fixed_fields(group: &str, kind: &str) -> &'static [&'static str] {
    match (group, kind) {
        ("", "Secret") => &["type"],
        ("apps", "Deployment" | "ReplicaSet" | "DaemonSet") => &["spec.selector"],
        ("apps", "ControllerRevision") => &["data"],
        ("batch", "Job") => &[
            "spec.selector",
            "spec.completionMode",
            "spec.podFailurePolicy",
            "spec.backoffLimitPerIndex",
            "spec.managedBy",
            "spec.successPolicy",
        ],
        ("discovery.k8s.io", "EndpointSlice") => &["addressType"],
        ("networking.k8s.io", "IngressClass") => &["spec.controller"],
        ("networking.k8s.io", "IPAddress") => &["spec.parentRef"],
        ("node.k8s.io", "RuntimeClass") => &["handler"],
        ("scheduling.k8s.io", "PriorityClass") => &["preemptionPolicy"],
        ("storage.k8s.io", "StorageClass") => &["volumeBindingMode"],
        ("storage.k8s.io", "VolumeAttachment") => &["spec"],
        ("storage.k8s.io", "CSIStorageCapacity") => &["nodeTopology", "storageClassName"],
        ("resource.k8s.io", "ResourceClaim" | "ResourceClaimTemplate") => &["spec"],
        _ => &[],
    }
}

fn fixed(old: &Spot<'_>, new: &Spot<'_>, path: &str, detail: &str, errors: &mut Errors) {
    match path.split_once('.') {
        Some((first, rest)) => fixed(&old.field(first), &new.field(first), rest, detail, errors),
        None if old.field(path).value != new.field(path).value => {
            errors.push(new.field(path).invalid(detail));
        }
        None => {}
    }
}

fn forbidden(old: &Spot<'_>, new: &Spot<'_>, field: &str, detail: &str, errors: &mut Errors) {
    if old.field(field).value != new.field(field).value {
        errors.push(new.field(field).forbidden(detail));
    }
}

/// What was declared immutable stays as it is, and immutable.
fn sealed(old: &Spot<'_>, new: &Spot<'_>, fields: &[&str], errors: &mut Errors) {
    if !old.field("immutable").is_true() {
        return;
    }
    let detail = "field is immutable when `immutable` is set";
    if !new.field("immutable").is_true() {
        errors.push(new.field("immutable").forbidden(detail));
    }
    for field in fields {
        forbidden(old, new, field, detail, errors);
    }
}

/// The primary address of a service stays, unless the service comes from or goes to `ExternalName`.
fn cluster_addresses(old: &Spot<'_>, new: &Spot<'_>, errors: &mut Errors) {
    let (old, new) = (old.field("spec"), new.field("spec"));
    let external = |spec: &Spot<'_>| spec.field("type").text() == "ExternalName";
    if external(&old) || external(&new) {
        return;
    }
    let (before, after) = (old.field("clusterIP"), new.field("clusterIP"));
    if before.is_empty() || before.value == after.value {
        return;
    }
    let addresses = new.field("clusterIPs");
    let detail = if after.is_empty() {
        "primary clusterIP can not be unset"
    } else {
        "may not change once set"
    };
    errors.push(FieldError::invalid(
        addresses.path().index(0),
        addresses.value.clone(),
        detail,
    ));
}

/// Of a pod's spec only images, the deadline and more tolerations can change.
fn pod(old: &Spot<'_>, new: &Spot<'_>, errors: &mut Errors) {
    if old.value == new.value {
        return;
    }
    for list in ["containers", "initContainers"] {
        if old.field(list).len() != new.field(list).len() {
            errors.push(
                new.field(list)
                    .forbidden("pod updates may not add or remove containers"),
            );
            return;
        }
    }
    let deadline = new.field("activeDeadlineSeconds");
    match (
        old.field("activeDeadlineSeconds").number(),
        deadline.number(),
    ) {
        (Some(before), Some(after)) if before < after => {
            errors.push(deadline.invalid("must be less than or equal to previous value"));
        }
        (Some(_), None) => {
            errors.push(deadline.invalid("must not update from a positive integer to nil value"))
        }
        _ => {}
    }
    kept_tolerations(&old.field("tolerations"), &new.field("tolerations"), errors);
    gates_only_open(
        &old.field("schedulingGates"),
        &new.field("schedulingGates"),
        errors,
    );
    let mut allowed = new.value.clone();
    let besides = ["activeDeadlineSeconds", "tolerations", "schedulingGates"];
    // A pod that is not scheduled yet may still be sent elsewhere.
    let gated = !old.field("schedulingGates").is_empty();
    for field in besides
        .into_iter()
        .chain(gated.then_some("nodeSelector"))
        .chain(gated.then_some("affinity"))
    {
        copy_field(old.value, &mut allowed, field);
    }
    for list in ["containers", "initContainers"] {
        let before = old.value.get(list).and_then(Value::as_array);
        let after = allowed.get_mut(list).and_then(Value::as_array_mut);
        for (before, after) in before
            .into_iter()
            .flatten()
            .zip(after.into_iter().flatten())
        {
            copy_field(before, after, "image");
        }
    }
    if allowed != *old.value {
        errors.push(new.forbidden(
            "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,\
             `spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),\
             `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n",
        ));
    }
}

/// A pod keeps the ephemeral containers it has, as they are, in any order.
pub(super) fn ephemeral_containers(old: &Value, new: &Value, errors: &mut Errors) {
    let (old, new) = (Spot::root(old), Spot::root(new));
    let (old, new) = (old.field("spec"), new.field("spec"));
    let (old, new) = (
        old.field("ephemeralContainers"),
        new.field("ephemeralContainers"),
    );
    let after: BTreeMap<&str, &Value> = new
        .elements()
        .map(|container| {
            (
                container.value["name"].as_str().unwrap_or(""),
                container.value,
            )
        })
        .collect();
    for container in old.elements() {
        let name = container.value["name"].as_str().unwrap_or("");
        let done = match after.get(name) {
            None => "removed",
            Some(changed) if *changed != container.value => "changed",
            Some(_) => continue,
        };
        errors.push(new.forbidden(format!(
            "existing ephemeral containers {name:?} may not be {done}\n"
        )));
    }
}

fn kept_tolerations(old: &Spot<'_>, new: &Spot<'_>, errors: &mut Errors) {
    let without_time = |toleration: &Value| {
        let mut toleration = toleration.clone();
        if let Some(fields) = toleration.as_object_mut() {
            fields.shift_remove("tolerationSeconds");
        }
        toleration
    };
    // As text, with the fields in one order: each list is looked through once.
    let identity = |toleration: Spot<'_>| {
        let mut toleration = without_time(toleration.value);
        if let Some(fields) = toleration.as_object_mut() {
            fields.sort_keys();
        }
        toleration.to_string()
    };
    let after: BTreeSet<String> = new.elements().map(identity).collect();
    if !old
        .elements()
        .all(|before| after.contains(&identity(before)))
    {
        errors.push(
            new.forbidden("existing toleration can not be modified except its tolerationSeconds"),
        );
    }
}

fn gates_only_open(old: &Spot<'_>, new: &Spot<'_>, errors: &mut Errors) {
    let known: BTreeSet<String> = old
        .elements()
        .map(|gate| gate.field("name").text().to_owned())
        .collect();
    for gate in new.elements() {
        let name = gate.field("name");
        if !known.contains(name.text()) {
            let detail = format!(
                "only deletion is allowed, but found new scheduling gate '{}'",
                name.text()
            );
            errors.push(name.forbidden(detail));
        }
    }
}

/// A claim can grow once it is bound, and be given other settings; nothing else changes.
fn claim(old: &Spot<'_>, new: &Spot<'_>, errors: &mut Errors) {
    let status = old.field("status");
    let (old, new) = (old.field("spec"), new.field("spec"));
    let mut allowed = new.value.clone();
    // The binder fills the volume in; defaults may fill the class in.
    for field in ["volumeName", "storageClassName"] {
        if old.field(field).is_empty() {
            copy_field(old.value, &mut allowed, field);
        }
    }
    copy_field(old.value, &mut allowed, "volumeAttributesClassName");
    let bound = status.field("phase").text() == "Bound";
    if bound && let Some(resources) = allowed.get_mut("resources") {
        copy_field(
            old.value.get("resources").unwrap_or(&Value::Null),
            resources,
            "requests",
        );
    }
    if allowed != *old.value {
        errors.push(new.forbidden(
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n",
        ));
        return;
    }
    let size = |spec: &Spot<'_>| {
        let resources = spec.field("resources");
        let requests = resources.field("requests");
        quantity(&requests.key("storage"))
    };
    let capacity = status.field("capacity");
    if let (Some(before), Some(after)) = (size(&old), size(&new))
        && after < before
    {
        let enough = quantity(&capacity.key("storage")).is_some_and(|capacity| after > capacity);
        let path = new
            .path()
            .child("resources")
            .child("requests")
            .child("storage");
        if !enough {
            errors.push(FieldError::forbidden(
                path,
                "field can not be less than status.capacity",
            ));
        }
    }
}

fn volume(old: &Spot<'_>, new: &Spot<'_>, errors: &mut Errors) {
    let source = |spec: &Spot<'_>| {
        let mut spec = spec.value.clone();
        if let Some(fields) = spec.as_object_mut() {
            fields.retain(|name, _| !NOT_A_SOURCE.contains(&name.as_str()));
        }
        spec
    };
    if source(old) != source(new) {
        let path = new.path().child("persistentvolumesource");
        errors.push(FieldError::forbidden(
            path,
            "spec.persistentvolumesource is immutable after creation\n",
        ));
    }
    fixed(old, new, "volumeMode", IMMUTABLE, errors);
}

fn stateful_set(old: &Spot<'_>, new: &Spot<'_>, errors: &mut Errors) {
    let mut allowed = new.value.clone();
    for field in [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    ] {
        copy_field(old.value, &mut allowed, field);
    }
    if allowed != *old.value {
        errors.push(new.forbidden(
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', \
             'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        ));
    }
}

/// A job's template can be moved elsewhere while the job is suspended and has not started; an indexed job can change
/// its size as long as all its pods run at once.
fn job(old: &Spot<'_>, new: &Spot<'_>, errors: &mut Errors) {
    let started = crate::path::is_set(old.value, "status.startTime");
    let (old, new) = (old.field("spec"), new.field("spec"));
    let mut template = new.field("template").value.clone();
    if old.field("suspend").is_true() && !started {
        let before = old.field("template").value;
        for (part, fields) in [
            ("metadata", &["annotations", "labels"][..]),
            (
                "spec",
                &["nodeSelector", "affinity", "tolerations", "schedulingGates"],
            ),
        ] {
            let (before, after) = (before.get(part), template.get_mut(part));
            if let (Some(before), Some(after)) = (before, after) {
                fields
                    .iter()
                    .for_each(|field| copy_field(before, after, field));
            }
        }
    }
    if template != *old.field("template").value {
        errors.push(new.field("template").invalid(IMMUTABLE));
    }
    let (before, after) = (old.field("completions"), new.field("completions"));
    if before.value == after.value {
        return;
    }
    if new.field("completionMode").text() != "Indexed" {
        errors.push(after.invalid(IMMUTABLE));
    } else if after.number() != new.field("parallelism").number() {
        errors.push(after.invalid("can only be modified in tandem with spec.parallelism"));
    }
}

fn definition(old: &Spot<'_>, new: &Spot<'_>, errors: &mut Errors) {
    fixed(old, new, "spec.group", IMMUTABLE, errors);
    fixed(old, new, "spec.names.plural", IMMUTABLE, errors);
    let status = old.field("status");
    let conditions = status.field("conditions");
    let established = conditions.elements().any(|condition| {
        condition.field("type").text() == "Established"
            && condition.field("status").text() == "True"
    });
    if established {
        fixed(old, new, "spec.scope", IMMUTABLE, errors);
        fixed(old, new, "spec.names.kind", IMMUTABLE, errors);
    }
    // Objects may still be stored in it.
    let (spec, status) = (new.field("spec"), new.field("status"));
    let known: BTreeSet<String> = spec
        .field("versions")
        .elements()
        .map(|version| version.field("name").text().to_owned())
        .collect();
    for stored in status.field("storedVersions").elements() {
        let name = stored.text();
        if !known.contains(name) {
            errors.push(stored.invalid(format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions \
                 until a storage migration ensures no data remains persisted in {name} and removes {name} from \
                 status.storedVersions"
            )));
        }
    }
}

/// Makes a field of `to` what it is in `from`, absence included.
fn copy_field(from: &Value, to: &mut Value, field: &str) {
    let Some(fields) = to.as_object_mut() else {
        return;
    };
    match from.get(field) {
        Some(value) => {
            fields.insert(field.to_owned(), value.clone());
        }
        None => {
            fields.shift_remove(field);
        }
    }
}
