//! What a node says of itself.

use object::time::Time;
use object::{Object, Value};
use serde_json::json;

use crate::config::Shape;
use crate::read;

/// Nodes are spread over so many zones.
const ZONES: usize = 3;
/// The disk of every node.
const DISK: &str = "100Gi";
/// The most subnets of 256 addresses below one second byte.
const SUBNETS: usize = 250;

/// A new node.
pub(crate) fn node(shape: &Shape, name: &str, place: usize) -> Value {
    let zone = format!("zone-{}", place % ZONES + 1);
    let [a, b, c] = subnet(shape, place);
    let subnet = format!("{a}.{b}.{c}.0/24");
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": "simulated",
                "topology.kubernetes.io/region": "sim", "topology.kubernetes.io/zone": zone,
            },
        },
        "spec": {"podCIDR": subnet, "podCIDRs": [subnet], "providerID": format!("sim://{}/{name}", shape.name)},
    })
}

/// The status of a node that is well.
pub(crate) fn status(shape: &Shape, node: &Object, is_full: bool, now: Time) -> Value {
    let mut conditions = read::conditions(node);
    let well = [
        (
            "MemoryPressure",
            "False",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available",
        ),
        (
            "DiskPressure",
            "False",
            "KubeletHasNoDiskPressure",
            "kubelet has no disk pressure",
        ),
        (
            "PIDPressure",
            "False",
            "KubeletHasSufficientPID",
            "kubelet has sufficient PID available",
        ),
        (
            "Ready",
            "True",
            "KubeletReady",
            "kubelet is posting ready status",
        ),
    ];
    for (kind, state, reason, message) in well {
        let condition = json!({
            "type": kind, "status": state, "reason": reason, "message": message, "lastHeartbeatTime": now.to_string(),
        });
        read::put_condition(&mut conditions, condition, now);
    }
    let capacity = json!({
        "cpu": shape.cpu.to_string(), "memory": shape.memory.to_string(), "pods": shape.pods.to_string(),
        "ephemeral-storage": DISK, "hugepages-1Gi": "0", "hugepages-2Mi": "0",
    });
    let allocatable = if is_full {
        json!({
            "cpu": "0", "memory": "0", "pods": "0", "ephemeral-storage": "0", "hugepages-1Gi": "0", "hugepages-2Mi": "0",
        })
    } else {
        capacity.clone()
    };
    json!({
        "capacity": capacity, "allocatable": allocatable, "conditions": conditions,
        "addresses": [
            {"type": "InternalIP", "address": address_of(node)},
            {"type": "Hostname", "address": node.name()},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "machineID": node.uid(), "systemUUID": node.uid(), "bootID": node.uid(),
            "kernelVersion": "6.1.0", "osImage": "Simulated Linux", "containerRuntimeVersion": "containerd://2.0.0",
            "kubeletVersion": shape.version, "kubeProxyVersion": shape.version,
            "operatingSystem": "linux", "architecture": "amd64",
        },
    })
}

/// Whether two statuses differ in more than the times of their heartbeats.
pub(crate) fn differs(wanted: &Value, node: &Object) -> bool {
    let Some(present) = node.at(&["status"]) else {
        return true;
    };
    let states = |status: &Value| -> Vec<(String, String)> {
        read::items(status, "conditions")
            .iter()
            .map(|condition| {
                (
                    read::text(condition, "type").to_owned(),
                    read::text(condition, "status").to_owned(),
                )
            })
            .collect()
    };
    ["capacity", "allocatable", "addresses", "nodeInfo"]
        .iter()
        .any(|field| wanted.get(field) != present.get(field))
        || states(wanted) != states(present)
}

/// The address of a node: in a network of its own for nodes, at the place of the subnet of its pods.
pub(crate) fn address_of(node: &Object) -> String {
    let [_, b, c] = subnet_of(node).unwrap_or_default();
    format!("172.18.{b}.{c}")
}

/// The first three bytes of the addresses of a node's pods.
pub(crate) fn subnet_of(node: &Object) -> Option<[u8; 3]> {
    let text = node.text_at(&["spec", "podCIDR"])?;
    let address: std::net::Ipv4Addr = text.split('/').next()?.parse().ok()?;
    let [a, b, c, _] = address.octets();
    Some([a, b, c])
}

/// Members have their pods in different networks, as far as there are enough.
fn subnet(shape: &Shape, place: usize) -> [u8; 3] {
    let member = shape
        .name
        .bytes()
        .fold(7_usize, |sum, byte| (sum * 31 + usize::from(byte)) % 64);
    let byte = |number: usize| u8::try_from(number % 256).unwrap_or_default();
    [
        10,
        byte(128 + member + place / SUBNETS),
        byte(place % SUBNETS + 1),
    ]
}
