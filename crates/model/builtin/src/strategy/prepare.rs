//! What becomes of an object on its way into the store: which parts the request may set, and what the server adds.

use std::collections::BTreeMap;

use object::{GroupVersionKind, Map, Value, quantity::Quantity, time::Time};
use serde_json::json;

use super::{CONTROLLER_UID, JOB_NAME, addresses, config, decisions, resize, retype};
use crate::{
    defaults,
    kinds::{self, Generation, Kind},
};

/// Older names of the labels on a job's pods, still put there.
const OLD_CONTROLLER_UID: &str = "controller-uid";
const OLD_JOB_NAME: &str = "job-name";

/// The finalizer that keeps a namespace until it is empty.
const NAMESPACE_FINALIZER: &str = "kubernetes";

/// Makes a new object ready to be validated and stored: clears what a creation may not set, adds what the server
/// decides, and fills the object up. Its name and uid must be there already.
pub fn prepare_create(gvk: &GroupVersionKind, object: &mut Value, now: Time) {
    let Some(kind) = kinds::kind(gvk) else {
        return;
    };
    defaults::apply_defaults(gvk, object);
    if let Some(fields) = object.as_object_mut() {
        // Upstream: a kubelet registers its node together with what it knows of it.
        let is_node = (kind.group, kind.kind) == ("", "Node");
        if kind.has_subresource("status") && !is_node {
            fields.shift_remove("status");
        }
        if let Some(generation) = &kind.generation {
            set_generation(fields, if generation.later { None } else { Some(1) });
        }
        create_by_kind(kind, fields, now);
        note_stored_version(kind, fields);
    }
    if (kind.group, kind.kind) == ("", "Secret") {
        config::fold_plain_texts(object);
    }
    // Labels that were added above may be defaults of others, and a status that was cleared is shown.
    defaults::apply_defaults(gvk, object);
}

/// Makes a changed object ready to be validated and stored: keeps what an update may not change as it is in `old`, and
/// counts the generation.
pub fn prepare_update(gvk: &GroupVersionKind, old: &Value, object: &mut Value) {
    let Some(kind) = kinds::kind(gvk) else {
        return;
    };
    if (kind.group, kind.kind) == ("", "Secret") {
        config::fold_plain_texts(object);
    }
    if let Some(fields) = object.as_object_mut() {
        if kind.has_subresource("status") {
            keep(old, fields, "status");
        }
        update_by_kind(kind, old, fields);
        note_stored_version(kind, fields);
    }
    defaults::apply_defaults(gvk, object);
    if let (Some(generation), Some(fields)) = (&kind.generation, object.as_object_mut()) {
        count_generation(generation, old, fields);
    }
}

/// The same for an update through a subresource: only what the subresource is for may change, besides metadata.
pub fn prepare_subresource_update(
    gvk: &GroupVersionKind,
    subresource: &str,
    old: &Value,
    object: &mut Value,
) {
    let Some(kind) = kinds::kind(gvk) else {
        return;
    };
    let (Some(fields), Some(old_fields)) = (object.as_object_mut(), old.as_object()) else {
        return;
    };
    let open: &[&str] = match (kind.kind, subresource) {
        ("CertificateSigningRequest", "approval" | "status") | (_, "status") => &["status"],
        ("Namespace", "finalize") | ("Pod", "ephemeralcontainers" | "resize") => &["spec"],
        // Whoever places a pod also says that it was placed.
        ("Pod", "binding") => &["spec", "status"],
        _ => &[],
    };
    let closed: Vec<String> = fields
        .keys()
        .chain(old_fields.keys())
        .filter(|name| {
            !matches!(name.as_str(), "apiVersion" | "kind" | "metadata")
                && !open.contains(&name.as_str())
        })
        .cloned()
        .collect();
    for name in closed {
        keep(old, fields, &name);
    }
    if matches!(
        (kind.kind, subresource),
        ("Pod", "ephemeralcontainers" | "resize")
    ) {
        let is_closed = |name: &str| {
            matches!(
                name,
                "annotations" | "finalizers" | "labels" | "ownerReferences"
            )
        };
        keep_below(old, fields, "metadata", is_closed);
    }
    match (kind.kind, subresource) {
        // The approver decides, the signer issues: neither does the other's part.
        ("CertificateSigningRequest", "approval") => {
            keep_below(old, fields, "status", |name| name != "conditions")
        }
        ("CertificateSigningRequest", "status") => decisions::keep(old, fields),
        ("Deployment", "status") => keep_below(old, fields, "metadata", |name| name == "labels"),
        ("Pod", "status") => keep_below(old, fields, "metadata", |name| name == "ownerReferences"),
        ("Pod", "ephemeralcontainers") => {
            keep_below(old, fields, "spec", |name| name != "ephemeralContainers")
        }
        ("Pod", "resize") => {
            let is_open = |name: &str| matches!(name, "containers" | "initContainers");
            keep_below(old, fields, "spec", |name| !is_open(name));
            resize::keep_the_rest(old, object_below(fields, "spec"));
        }
        ("Pod", "binding") => keep_below(old, fields, "spec", |name| name != "nodeName"),
        ("Namespace", "finalize") => keep_below(old, fields, "spec", |name| name != "finalizers"),
        _ => {}
    }
    defaults::apply_defaults(gvk, object);
    if let (Some(generation), Some(fields)) = (&kind.generation, object.as_object_mut()) {
        count_generation(generation, old, fields);
    }
}

/// Lists the version that objects of a custom kind are stored in among all they were ever stored in.
fn note_stored_version(kind: &Kind<'_>, definition: &mut Map) {
    if kind.kind != "CustomResourceDefinition" {
        return;
    }
    let versions = definition.get("spec").and_then(|spec| spec.get("versions"));
    let mut versions = versions.and_then(Value::as_array).into_iter().flatten();
    let stored = versions.find(|version| version.get("storage") == Some(&Value::Bool(true)));
    let Some(name) = stored.and_then(|version| version.get("name")).cloned() else {
        return;
    };
    let status = definition.entry("status").or_insert_with(|| json!({}));
    let Some(status) = status.as_object_mut() else {
        return;
    };
    let listed = status.entry("storedVersions").or_insert_with(|| json!([]));
    if let Some(listed) = listed
        .as_array_mut()
        .filter(|listed| !listed.contains(&name))
    {
        listed.push(name);
    }
}

/// Fields that requests through `subresource` (empty for the object itself) cannot own, because what they say there is
/// not stored. Server-side apply leaves them out of the manager's set.
#[must_use]
pub fn reset_fields(gvk: &GroupVersionKind, subresource: &str) -> &'static [&'static str] {
    let Some(kind) = kinds::kind(gvk) else {
        return &[];
    };
    match (kind.kind, subresource) {
        ("CertificateSigningRequest", "") => &["spec", "status"],
        ("CertificateSigningRequest", "status") => &["spec", "status.conditions"],
        ("CertificateSigningRequest", "approval") => &["spec", "status.certificate"],
        ("Deployment", "status") => &["spec", "metadata.labels"],
        ("Pod", "status") => &[
            "spec",
            "metadata.deletionTimestamp",
            "metadata.ownerReferences",
        ],
        (_, "status") => &["spec"],
        (_, "") if kind.has_subresource("status") => &["status"],
        _ => &[],
    }
}

fn create_by_kind(kind: &Kind<'_>, fields: &mut Map, now: Time) {
    match (kind.group, kind.kind) {
        ("", "Namespace") => {
            let finalizers = entry(object_below(fields, "spec"), "finalizers", || json!([]));
            if let Some(list) = finalizers.as_array_mut()
                && !list.iter().any(|name| name == NAMESPACE_FINALIZER)
            {
                list.push(Value::from(NAMESPACE_FINALIZER));
            }
        }
        ("", "Pod") => {
            fields.insert(
                "status".to_owned(),
                json!({"phase": "Pending", "qosClass": quality(fields)}),
            );
        }
        ("", "PersistentVolume") => {
            let status = json!({"phase": "Pending", "lastPhaseTransitionTime": now.to_string()});
            fields.insert("status".to_owned(), status);
        }
        ("", "Service") => addresses::agree(None, object_below(fields, "spec")),
        ("batch", "Job") => generate_selector(fields),
        // The server says who asks; a request that claims to be another's would be trusted by signers.
        ("certificates.k8s.io", "CertificateSigningRequest") => {
            let spec = object_below(fields, "spec");
            for field in ["username", "uid", "groups", "extra"] {
                spec.shift_remove(field);
            }
        }
        _ => {}
    }
}

fn update_by_kind(kind: &Kind<'_>, old: &Value, fields: &mut Map) {
    match (kind.group, kind.kind) {
        ("", "Namespace") => keep_below(old, fields, "spec", |name| name == "finalizers"),
        ("", "Service") => {
            keep_allocations(old, fields);
            if let Some(before) = old.get("spec") {
                let spec = object_below(fields, "spec");
                retype::drop_unused(before, spec);
                addresses::agree(Some(before), spec);
            }
        }
        ("certificates.k8s.io", "CertificateSigningRequest") => keep(old, fields, "spec"),
        _ => {}
    }
}

/// What the server allocated for a service stays with it when the author does not mention it.
fn keep_allocations(old: &Value, fields: &mut Map) {
    let Some(before) = old.get("spec") else {
        return;
    };
    let text = |spec: &Value, field: &str| {
        spec.get(field)
            .and_then(Value::as_str)
            .unwrap_or("")
            .to_owned()
    };
    let spec = object_below(fields, "spec");
    let after = Value::Object(spec.clone());
    let needs_address = |spec: &Value| text(spec, "type") != "ExternalName";
    if needs_address(before) && needs_address(&after) {
        if text(&after, "clusterIP").is_empty() && !text(before, "clusterIP").is_empty() {
            copy(before, spec, "clusterIP");
        }
        for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            if after.get(field).is_none_or(Value::is_null) {
                copy(before, spec, field);
            }
        }
    }
    let is_zero =
        |port: &Value, field: &str| port.get(field).and_then(Value::as_i64).unwrap_or(0) == 0;
    let is_probed = |spec: &Value| {
        text(spec, "type") == "LoadBalancer" && text(spec, "externalTrafficPolicy") == "Local"
    };
    if is_probed(before) && is_probed(&after) && is_zero(&after, "healthCheckNodePort") {
        copy(before, spec, "healthCheckNodePort");
    }
    let needs_ports = |spec: &Value| match text(spec, "type").as_str() {
        "NodePort" => true,
        "LoadBalancer" => spec.get("allocateLoadBalancerNodePorts") != Some(&json!(false)),
        _ => false,
    };
    if needs_ports(before) && needs_ports(&after) {
        keep_node_ports(before, &after, spec);
    }
}

/// Ports keep what they have on the nodes by their names, whatever else of them changes, unless another port asks for it.
fn keep_node_ports(before: &Value, after: &Value, spec: &mut Map) {
    let on_nodes = |port: &Value| port.get("nodePort").and_then(Value::as_i64);
    let name = |port: &Value| {
        let name = port.get("name").and_then(Value::as_str);
        name.unwrap_or_default().to_owned()
    };
    let ports = |spec: &Value| -> Vec<Value> {
        let ports = spec.get("ports").and_then(Value::as_array);
        ports.cloned().unwrap_or_default()
    };
    let asked: Vec<i64> = ports(after).iter().filter_map(on_nodes).collect();
    let known: BTreeMap<String, i64> = ports(before)
        .iter()
        .filter_map(|port| Some((name(port), on_nodes(port)?)))
        .filter(|(_, number)| *number != 0 && !asked.contains(number))
        .collect();
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten() {
        let is_given = on_nodes(port).is_some_and(|number| number != 0);
        let kept = known.get(&name(port)).filter(|_| !is_given);
        if let (Some(number), Some(port)) = (kept, port.as_object_mut()) {
            port.insert("nodePort".to_owned(), json!(number));
        }
    }
}

/// A job finds its pods by a label with its uid, unless the author takes care of that.
fn generate_selector(fields: &mut Map) {
    let text = |name: &str| {
        let value = fields
            .get("metadata")
            .and_then(|metadata| metadata.get(name));
        value.and_then(Value::as_str).unwrap_or("").to_owned()
    };
    let (name, uid) = (text("name"), text("uid"));
    let spec = object_below(fields, "spec");
    if spec.get("manualSelector") == Some(&Value::Bool(true)) {
        return;
    }
    let template = object_below(spec, "template");
    let labels = object_below(object_below(template, "metadata"), "labels");
    for (key, value) in [
        (OLD_JOB_NAME, &name),
        (JOB_NAME, &name),
        (OLD_CONTROLLER_UID, &uid),
        (CONTROLLER_UID, &uid),
    ] {
        labels
            .entry(key)
            .or_insert_with(|| Value::from(value.as_str()));
    }
    let chosen = object_below(object_below(spec, "selector"), "matchLabels");
    chosen
        .entry(CONTROLLER_UID)
        .or_insert_with(|| Value::from(uid));
}

/// The quality of service that requests and limits of a pod amount to.
pub(super) fn quality(pod: &Map) -> &'static str {
    let spec = pod.get("spec").unwrap_or(&Value::Null);
    let amounts = |container: &Value, list: &str, resource: &str| -> Option<Quantity> {
        let amount = match container.get("resources")?.get(list)?.get(resource)? {
            Value::String(text) => text.parse().ok()?,
            other => other.to_string().parse::<Quantity>().ok()?,
        };
        (!amount.is_zero()).then_some(amount)
    };
    let containers = ["containers", "initContainers"]
        .into_iter()
        .filter_map(|list| spec.get(list)?.as_array());
    let (mut any, mut all) = (false, true);
    for container in containers.flatten() {
        for resource in ["cpu", "memory"] {
            let request = amounts(container, "requests", resource);
            let limit = amounts(container, "limits", resource);
            any |= request.is_some() || limit.is_some();
            all &= limit.is_some() && request == limit;
        }
    }
    match (any, all) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

fn count_generation(generation: &Generation<'_>, old: &Value, fields: &mut Map) {
    let metadata = |object: &Value, field: &str| {
        object
            .get("metadata")
            .and_then(|metadata| metadata.get(field))
            .cloned()
    };
    let after = |field: &str| {
        fields
            .get("metadata")
            .and_then(|metadata| metadata.get(field))
            .cloned()
    };
    let changed = generation
        .fields
        .iter()
        .any(|field| old.get(field) != fields.get(*field))
        || generation.labels && metadata(old, "labels") != after("labels")
        || generation.annotations && metadata(old, "annotations") != after("annotations");
    let before = metadata(old, "generation").as_ref().and_then(Value::as_i64);
    let next = if changed {
        Some(before.unwrap_or(0).saturating_add(1))
    } else {
        before
    };
    set_generation(fields, next);
}

fn set_generation(fields: &mut Map, generation: Option<i64>) {
    let metadata = object_below(fields, "metadata");
    match generation {
        Some(number) => {
            metadata.insert("generation".to_owned(), Value::from(number));
        }
        None => {
            metadata.shift_remove("generation");
        }
    }
}

/// Makes a field what it is in `old`, absence included.
fn keep(old: &Value, fields: &mut Map, name: &str) {
    match old.get(name) {
        Some(value) => {
            fields.insert(name.to_owned(), value.clone());
        }
        None => {
            fields.shift_remove(name);
        }
    }
}

/// The same for those fields of an object below that `chosen` picks.
fn keep_below(old: &Value, fields: &mut Map, name: &str, chosen: impl Fn(&str) -> bool) {
    let before = old.get(name).cloned().unwrap_or(Value::Null);
    let below = object_below(fields, name);
    below.retain(|field, _| !chosen(field));
    if let Value::Object(before) = before {
        below.extend(before.into_iter().filter(|(field, _)| chosen(field)));
    }
}

fn copy(from: &Value, to: &mut Map, field: &str) {
    if let Some(value) = from.get(field) {
        to.insert(field.to_owned(), value.clone());
    }
}

fn entry<'a>(fields: &'a mut Map, name: &str, value: impl FnOnce() -> Value) -> &'a mut Value {
    fields.entry(name).or_insert_with(value)
}

/// The object below a field, made where there is none.
fn object_below<'a>(fields: &'a mut Map, name: &str) -> &'a mut Map {
    let value = fields.entry(name).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    value
        .as_object_mut()
        .expect("invariant: it was made an object above")
}
