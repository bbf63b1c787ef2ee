//! Defaults of pods that look at more than one field.

use std::collections::BTreeMap;

use object::{Map, Value, quantity::Quantity};
use serde_json::json;

use super::rules::{below, set_default, text};

/// An image is fetched again and again where its tag can move: `latest`, which is also meant by no tag at all.
pub(super) fn container(fields: &mut Map) {
    let policy = pull_policy(text(fields, "image"));
    set_default(fields, "imagePullPolicy", policy);
}

/// A volume without a source is an empty directory.
pub(super) fn volume(fields: &mut Map) {
    if fields
        .iter()
        .all(|(name, value)| name == "name" || value.is_null())
    {
        fields.insert("emptyDir".to_owned(), json!({}));
    }
    if let Some(image) = below(fields, "image") {
        let policy = pull_policy(text(image, "reference"));
        set_default(image, "pullPolicy", policy);
    }
}

/// Defaults of pods themselves, which pod templates do not get.
pub(super) fn pod(fields: &mut Map) {
    let Some(spec) = below(fields, "spec") else {
        return;
    };
    let host_network = spec.get("hostNetwork") == Some(&Value::Bool(true));
    for list in ["containers", "initContainers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        for container in containers
            .into_iter()
            .flatten()
            .filter_map(Value::as_object_mut)
        {
            request_limits(container);
            if host_network {
                open_host_ports(container);
            }
        }
    }
    request_for_pod(spec);
    spec.entry("enableServiceLinks")
        .or_insert(Value::Bool(true));
}

fn pull_policy(image: &str) -> &'static str {
    // The last part may have a tag; a colon further left belongs to the registry's port.
    let last = image.rsplit('/').next().unwrap_or(image);
    let (name, has_digest) = last
        .split_once('@')
        .map_or((last, false), |(name, _)| (name, true));
    let tag = match name.split_once(':') {
        Some((_, tag)) => tag,
        None if has_digest => "",
        None => "latest",
    };
    if tag == "latest" {
        "Always"
    } else {
        "IfNotPresent"
    }
}

/// What is limited and not requested is requested as much as it is limited.
fn request_limits(container: &mut Map) {
    let Some(resources) = below(container, "resources") else {
        return;
    };
    let Some(limits) = resources.get("limits").and_then(Value::as_object).cloned() else {
        return;
    };
    if let Some(requests) = resources
        .entry("requests")
        .or_insert_with(|| json!({}))
        .as_object_mut()
    {
        for (resource, amount) in limits {
            requests.entry(resource).or_insert(amount);
        }
    }
}

/// On the node's network a container's ports are the node's.
fn open_host_ports(container: &mut Map) {
    let ports = container.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        if let Some(number) = port.get("containerPort").cloned() {
            set_default(port, "hostPort", number);
        }
    }
}

/// Resources of the pod as a whole: what its containers request, or else its own limit, is requested for it.
fn request_for_pod(spec: &mut Map) {
    let has = |spec: &Map, list: &str| {
        let resources = spec
            .get("resources")
            .and_then(|resources| resources.get(list));
        resources
            .and_then(Value::as_object)
            .is_some_and(|amounts| !amounts.is_empty())
    };
    if has(spec, "limits") || has(spec, "requests") {
        limit_huge_pages(spec);
    }
    if !has(spec, "limits") {
        return;
    }
    let containers = total(spec, "requests");
    let Some(resources) = below(spec, "resources") else {
        return;
    };
    let limits = resources
        .get("limits")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let mut requests = resources
        .get("requests")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    for (resource, amount) in containers {
        if is_pod_resource(&resource) && !is_huge_page(&resource) {
            requests
                .entry(resource)
                .or_insert_with(|| Value::String(amount.to_string()));
        }
    }
    for (resource, amount) in limits {
        if is_pod_resource(&resource) {
            requests.entry(resource).or_insert(amount);
        }
    }
    if !requests.is_empty() {
        resources.insert("requests".to_owned(), Value::Object(requests));
    }
}

/// Huge pages cannot be overcommitted: what the containers are limited to is the pod's limit, unless it requests them.
fn limit_huge_pages(spec: &mut Map) {
    let containers = total(spec, "limits");
    let Some(resources) = below(spec, "resources") else {
        return;
    };
    let requested = resources
        .get("requests")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let mut limits = resources
        .get("limits")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    for (resource, amount) in containers {
        if is_huge_page(&resource) && !requested.contains_key(&resource) {
            limits
                .entry(resource)
                .or_insert_with(|| Value::String(amount.to_string()));
        }
    }
    if !limits.is_empty() {
        resources.insert("limits".to_owned(), Value::Object(limits));
    }
}

type Amounts = BTreeMap<String, Quantity>;

/// What all containers together have of `list`: the main containers and sidecars at once, or the largest init
/// container with the sidecars started before it.
fn total(spec: &Map, list: &str) -> Amounts {
    let containers = |name: &str| {
        spec.get(name)
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice)
    };
    let mut sum = Amounts::new();
    for container in containers("containers") {
        add(&mut sum, &amounts(container, list));
    }
    let (mut sidecars, mut largest) = (Amounts::new(), Amounts::new());
    for container in containers("initContainers") {
        let own = amounts(container, list);
        let mut at_once = sidecars.clone();
        add(&mut at_once, &own);
        if container.get("restartPolicy").and_then(Value::as_str) == Some("Always") {
            add(&mut sum, &own);
            sidecars.clone_from(&at_once);
        }
        raise(&mut largest, &at_once);
    }
    raise(&mut sum, &largest);
    sum
}

fn amounts(container: &Value, list: &str) -> Amounts {
    let map = container
        .get("resources")
        .and_then(|resources| resources.get(list))
        .and_then(Value::as_object);
    map.into_iter()
        .flatten()
        .filter_map(|(resource, amount)| Some((resource.clone(), amount.as_str()?.parse().ok()?)))
        .collect()
}

fn add(to: &mut Amounts, more: &Amounts) {
    for (resource, amount) in more {
        let total = to.entry(resource.clone()).or_insert(Quantity::ZERO);
        // A sum beyond what a quantity can hold stays at what it was; such a pod fits nowhere either way.
        *total = if total.is_zero() {
            *amount
        } else {
            total.checked_add(*amount).unwrap_or(*total)
        };
    }
}

fn raise(to: &mut Amounts, other: &Amounts) {
    for (resource, amount) in other {
        let most = to.entry(resource.clone()).or_insert(*amount);
        *most = (*most).max(*amount);
    }
}

fn is_pod_resource(resource: &str) -> bool {
    matches!(resource, "cpu" | "memory") || is_huge_page(resource)
}

fn is_huge_page(resource: &str) -> bool {
    resource.starts_with("hugepages-")
}
