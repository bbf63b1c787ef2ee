//! What every cluster begins with: namespaces, roles, classes of volumes and of pods, the service of the API itself.

use std::sync::OnceLock;

use access::bootstrap;
use access::roles::{self, Expected};
use object::Value;
use serde_json::json;
use serve::server::Server;

use crate::engine::{Kind, create};

const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// Classes of pods that a cluster cannot do without: name, importance, and what they are for.
const PRIORITIES: [(&str, i64, &str); 2] = [
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
];

/// Where a member's API is said to listen; nodes have other addresses.
const API_ADDRESS: &str = "172.19.0.2";

/// Makes what is missing. The uid of `kube-system` is what tells clusters apart.
pub(crate) async fn found(server: &Server) {
    for name in NAMESPACES {
        make(server, Kind::Namespace, json!({"metadata": {"name": name}})).await;
    }
    bootstrap::ensure(server, expected()).await;
    let class = json!({
        "metadata": {
            "name": "standard",
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": "sim.karavel.io/disk", "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate",
        "allowVolumeExpansion": true,
    });
    make(server, Kind::StorageClass, class).await;
    for (name, value, note) in PRIORITIES {
        let class = json!({"metadata": {"name": name}, "value": value, "description": note});
        make(server, Kind::PriorityClass, class).await;
    }
    for (kind, object) in own_service() {
        make(server, kind, object).await;
    }
}

/// The service of the API, the range its address is from, and where it is found. Upstream: the server itself writes all.
fn own_service() -> [(Kind, Value); 4] {
    let port = json!({"name": "https", "port": 6443, "protocol": "TCP"});
    let metadata =
        |labels: Value| json!({"name": "kubernetes", "namespace": "default", "labels": labels});
    let endpoints = json!({
        "metadata": metadata(json!({"endpointslice.kubernetes.io/skip-mirror": "true"})),
        "subsets": [{"addresses": [{"ip": API_ADDRESS}], "ports": [port]}],
    });
    let slice = json!({
        "metadata": metadata(json!({"kubernetes.io/service-name": "kubernetes"})),
        "addressType": "IPv4", "endpoints": [{"addresses": [API_ADDRESS], "conditions": {"ready": true}}],
        "ports": [port],
    });
    let service = json!({
        "metadata": metadata(json!({"component": "apiserver", "provider": "kubernetes"})),
        "spec": {
            "type": "ClusterIP", "clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1"],
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
        },
    });
    let range = json!({"metadata": {"name": "kubernetes"}, "spec": {"cidrs": ["10.96.0.0/12"]}});
    [
        (Kind::ServiceCIDR, range),
        (Kind::Service, service),
        (Kind::Endpoints, endpoints),
        (Kind::EndpointSlice, slice),
    ]
}

async fn make(server: &Server, kind: Kind, object: Value) {
    let key = {
        let text = |path: &str| {
            let value = object.pointer(path).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        serve::cache::object_key(&text("/metadata/namespace"), &text("/metadata/name"))
    };
    let row = kind.row();
    let collection = server
        .cache()
        .collection(&serve::cache::name_of(row.group, row.plural));
    if collection.find(&key).is_none() {
        create(server, kind, object).await;
    }
}

/// The roles every Kubernetes API has, read once for all members.
fn expected() -> Vec<Expected> {
    static EXPECTED: OnceLock<Vec<Expected>> = OnceLock::new();
    EXPECTED.get_or_init(roles::defaults).clone()
}
