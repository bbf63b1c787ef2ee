//! What every cluster begins with: namespaces, roles, the class of volumes, the service of the API itself.

use std::sync::OnceLock;

use access::bootstrap;
use access::roles::{self, Expected};
use object::Value;
use serde_json::json;
use serve::server::Server;

use crate::engine::{Kind, create};

const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

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
    });
    make(server, Kind::StorageClass, class).await;
    let service = json!({
        "metadata": {
            "name": "kubernetes", "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "type": "ClusterIP", "clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1"],
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
        },
    });
    make(server, Kind::Service, service).await;
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
