//! What one object uses of what quotas name.

use std::slice;

use object::Value;
use object::quantity::Quantity;
use object::time::Time;

use crate::amounts::{self, Amounts, pieces};
use crate::pod;

use super::scopes::Traits;

/// An object as quotas see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// What it uses, under every name a quota may have for it.
    pub amounts: Amounts,
    /// What the scopes of quotas ask about.
    pub(crate) traits: Traits,
    /// When it uses less without being changed: a pod that should be gone by then.
    pub(crate) fades: Option<Time>,
}

/// Measures an object of a resource.
#[must_use]
pub fn measure(group: &str, resource: &str, object: &Value, now: Time) -> Measured {
    let mut amounts = count(group, resource);
    let mut measured = Measured::default();
    match (group, resource) {
        ("", "pods") => {
            measured.traits = Traits::of_pod(object);
            let fades = end_of_grace(object);
            // Upstream: a pod that has ended, or should have, uses nothing but its place among objects.
            if !has_ended(object) && fades.is_none_or(|fades| now <= fades) {
                add_pod(&mut amounts, object);
                measured.fades = fades;
            }
        }
        ("", "services") => add_service(&mut amounts, object),
        ("", "persistentvolumeclaims") => {
            measured.traits = Traits::of_claim(object);
            add_claim(&mut amounts, object);
        }
        DEVICE_CLAIMS => add_device_claim(&mut amounts, object),
        _ => {}
    }
    Measured {
        amounts,
        ..measured
    }
}

/// What the mere existence of an object of a resource uses.
fn count(group: &str, resource: &str) -> Amounts {
    let mut amounts = Amounts::new();
    let name = match group {
        "" => format!("count/{resource}"),
        group => format!("count/{resource}.{group}"),
    };
    amounts.insert(name, pieces(1));
    // Upstream: these have a shorter name, from before there was one for every kind.
    let is_old = group.is_empty()
        && matches!(
            resource,
            "configmaps"
                | "persistentvolumeclaims"
                | "replicationcontrollers"
                | "resourcequotas"
                | "secrets"
                | "services"
        );
    if is_old {
        amounts.insert(resource.to_owned(), pieces(1));
    }
    amounts
}

/// Whether more than its existence counts of an object of a resource.
pub(super) fn is_weighed(group: &str, resource: &str) -> bool {
    let is_native = matches!(resource, "pods" | "services" | "persistentvolumeclaims");
    (group.is_empty() && is_native) || (group, resource) == DEVICE_CLAIMS
}

/// The resource whose objects use what a quota names: its group and plural.
#[must_use]
pub fn resource_of(name: &str) -> Option<(&str, &str)> {
    if let Some(counted) = name.strip_prefix("count/") {
        return Some(match counted.split_once('.') {
            Some((resource, group)) => (group, resource),
            None => ("", counted),
        });
    }
    if name.ends_with(DEVICE_CLASS) {
        return Some(DEVICE_CLAIMS);
    }
    let resource = match name {
        "requests.storage" | "persistentvolumeclaims" => "persistentvolumeclaims",
        "services" | "services.loadbalancers" | "services.nodeports" => "services",
        "configmaps" => "configmaps",
        "replicationcontrollers" => "replicationcontrollers",
        "resourcequotas" => "resourcequotas",
        "secrets" => "secrets",
        "pods" | "cpu" | "memory" | "ephemeral-storage" => "pods",
        _ if name.contains(CLASS) => "persistentvolumeclaims",
        _ if name.starts_with("requests.")
            || name.starts_with("limits.")
            || name.starts_with("hugepages-") =>
        {
            "pods"
        }
        _ => return None,
    };
    Some(("", resource))
}

/// Between the name of a storage class and what is counted of it.
const CLASS: &str = ".storageclass.storage.k8s.io/";
/// The claims of devices: their group and plural.
const DEVICE_CLAIMS: (&str, &str) = ("resource.k8s.io", "resourceclaims");
/// Behind the name of a class of devices: how many of it are claimed.
const DEVICE_CLASS: &str = ".deviceclass.resource.k8s.io/devices";
/// How many devices a claim has at most: that many count where all there are is asked for.
const MOST_DEVICES: u64 = 32;
/// What containers have to name if a quota does. Upstream: these and no others.
const DEMANDED: [&str; 6] = [
    "cpu",
    "limits.cpu",
    "limits.memory",
    "memory",
    "requests.cpu",
    "requests.memory",
];

/// What a pod's containers must name because a quota counts it, and do not; `None` if nothing is missing.
pub(crate) fn unspecified(pod: &Value, hard: &Amounts) -> Option<String> {
    let mut missing = Vec::new();
    for name in DEMANDED.into_iter().filter(|name| hard.contains_key(*name)) {
        let (list, resource) = name.split_once('.').unwrap_or(("requests", name));
        let mut lacking: Vec<&str> = pod::all_containers(pod)
            .filter(|container| {
                let resources = container.get("resources");
                let list = resources.and_then(|resources| resources.get(list));
                list.and_then(|list| list.get(resource)).is_none()
            })
            .filter_map(|container| container.get("name")?.as_str())
            .collect();
        lacking.sort_unstable();
        lacking.dedup();
        if !lacking.is_empty() {
            missing.push(format!("{name} for: {}", lacking.join(",")));
        }
    }
    (!missing.is_empty()).then(|| format!("must specify {}", missing.join("; ")))
}

fn add_pod(amounts: &mut Amounts, pod: &Value) {
    amounts.insert("pods".to_owned(), pieces(1));
    let whole = pod::whole(pod);
    for (resource, amount) in whole.requests {
        let is_native = matches!(&*resource, "cpu" | "memory" | "ephemeral-storage")
            || resource.starts_with("hugepages-");
        // Upstream: what nodes offer beyond the usual is named with its prefix only.
        if !is_native && !resource.contains('/') {
            continue;
        }
        amounts.insert(format!("requests.{resource}"), amount);
        if is_native {
            amounts.insert(resource, amount);
        }
    }
    for (resource, amount) in whole.limits {
        if matches!(&*resource, "cpu" | "memory" | "ephemeral-storage") {
            amounts.insert(format!("limits.{resource}"), amount);
        }
    }
}

fn add_service(amounts: &mut Amounts, service: &Value) {
    let spec = service.get("spec");
    let text = |field: &str| spec.and_then(|spec| spec.get(field)?.as_str());
    let ports = spec.and_then(|spec| spec.get("ports")?.as_array());
    let ports = ports.map_or(&[][..], Vec::as_slice);
    let allocates = spec
        .and_then(|spec| spec.get("allocateLoadBalancerNodePorts")?.as_bool())
        .unwrap_or(true);
    let named = || {
        let has_port = |port: &&Value| port.get("nodePort").and_then(Value::as_i64) > Some(0);
        ports.iter().filter(has_port).count()
    };
    let (balancers, node_ports) = match text("type") {
        Some("NodePort") => (0, ports.len()),
        Some("LoadBalancer") if allocates => (1, ports.len()),
        Some("LoadBalancer") => (1, named()),
        _ => (0, 0),
    };
    amounts.insert("services.loadbalancers".to_owned(), pieces(balancers));
    amounts.insert("services.nodeports".to_owned(), pieces(node_ports));
}

fn add_claim(amounts: &mut Amounts, claim: &Value) {
    let storage = |path: &str| -> Option<Quantity> {
        let list = amounts::read(claim.pointer(path));
        list.get("storage").copied()
    };
    // A claim that shrinks again before it has grown still has the larger volume.
    let asked = storage("/spec/resources/requests").max(storage("/status/allocatedResources"));
    let class = claim
        .pointer("/spec/storageClassName")
        .or_else(|| claim.pointer("/metadata/annotations/volume.beta.kubernetes.io~1storage-class"))
        .and_then(Value::as_str)
        .filter(|class| !class.is_empty());
    if let Some(class) = class {
        amounts.insert(format!("{class}{CLASS}persistentvolumeclaims"), pieces(1));
    }
    let Some(asked) = asked else { return };
    amounts.insert("requests.storage".to_owned(), asked);
    if let Some(class) = class {
        amounts.insert(format!("{class}{CLASS}requests.storage"), asked);
    }
}

/// Upstream: of alternatives, the one that asks for most of a class counts for it, whichever will be chosen.
fn add_device_claim(amounts: &mut Amounts, claim: &Value) {
    let requests = claim.pointer("/spec/devices/requests");
    let requests = requests.and_then(Value::as_array).into_iter().flatten();
    for request in requests {
        let alternatives = request.get("firstAvailable").and_then(Value::as_array);
        let alternatives = match alternatives.filter(|list| !list.is_empty()) {
            Some(list) => list.as_slice(),
            None => request.get("exactly").map_or(&[][..], slice::from_ref),
        };
        let mut most = Amounts::new();
        for asked in alternatives {
            let text = |field: &str| asked.get(field).and_then(Value::as_str);
            let count = match text("allocationMode") {
                Some("ExactCount") => asked.get("count").and_then(Value::as_u64),
                Some("All") => Some(MOST_DEVICES),
                // A mode of the future counts for nothing.
                _ => None,
            };
            let count = usize::try_from(count.unwrap_or_default()).unwrap_or(usize::MAX);
            let class = text("deviceClassName").unwrap_or_default();
            let asked = Amounts::from([(format!("{class}{DEVICE_CLASS}"), pieces(count))]);
            amounts::raise(&mut most, &asked);
        }
        amounts::add(amounts, &most);
    }
}

fn has_ended(pod: &Value) -> bool {
    let phase = pod.pointer("/status/phase").and_then(Value::as_str);
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// When a pod that is being deleted should be gone.
fn end_of_grace(pod: &Value) -> Option<Time> {
    let metadata = pod.get("metadata")?;
    let deleted: Time = metadata.get("deletionTimestamp")?.as_str()?.parse().ok()?;
    let grace = metadata.get("deletionGracePeriodSeconds")?.as_i64()?;
    Some(deleted.plus_seconds(grace))
}
