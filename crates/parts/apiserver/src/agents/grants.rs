//! What an agent may do: the roles of each, and how long they stand.
//!
//! Writes: for each agent four roles and their bindings: everywhere, beside the clusters' secrets, where agents elect one of
//!         themselves, and where its works are.
//! Keeps:  the ClusterRole is made first and goes last, so whatever stands of them can be told by it. Who was given them is
//!         noted on it until the agent registers its cluster; then they belong to the cluster and go with it.

use std::sync::Arc;

use access::following::write;
use access::names::RBAC_GROUP;
use api::names::{CLUSTER_NAMESPACE, SYSTEM_NAMESPACE, execution_space, impersonation_secret};
use http::Method;
use object::Value;
use serde_json::json;
use serve::cache;
use serve::record::Record;
use serve::server::Server;

use super::{AGENT_PREFIX, GROUP, RESOURCE, election};

/// Who was given the roles of an agent that has not registered its cluster yet.
const GIVEN_TO: &str = "karavel.io/given-to";

/// The ClusterRole of a cluster's agent, as long as anything of its roles stands.
pub(super) fn standing(server: &Server, cluster: &str) -> Option<Arc<Record>> {
    let roles = cache::name_of(RBAC_GROUP, "clusterroles");
    server.cache().collection(&roles).find(&name(cluster))
}

/// Whether roles wait for an agent that somebody else asked for. Those that belong to a cluster went to its agent.
pub(super) fn wait_for_another(role: &Record, user: &str) -> bool {
    let note = role.value()["metadata"]["annotations"][GIVEN_TO].clone();
    role.head().owners.is_empty() && note != user
}

/// Gives a cluster's agent its roles, because this user asked for them: its own cluster, its own works, its own secrets and
/// leases.
pub(super) async fn give(server: &Server, cluster: &str, user: &str) {
    // What is left of an earlier cluster of that name goes with that one.
    withdraw(server, cluster).await;
    let works = execution_space(cluster);
    let namespace = json!({"metadata": {"name": works, "labels": {"karmada.io/system": "true"}}});
    write(server, Method::POST, "/api/v1/namespaces", &namespace).await;
    let note = json!({"annotations": {GIVEN_TO: user}});
    for object in objects(cluster, &note) {
        write(server, Method::POST, &object.collection, &object.value).await;
    }
}

/// Lets the roles of an agent go with the cluster it has registered.
pub(super) async fn hand_over(server: &Server, cluster: &str, uid: &str) {
    let owner = json!({"ownerReferences": [{
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "name": cluster, "uid": uid,
    }]});
    for object in objects(cluster, &owner).iter().rev() {
        write(server, Method::PUT, &object.path(), &object.value).await;
    }
}

/// Takes the roles of an agent away.
pub(super) async fn withdraw(server: &Server, cluster: &str) {
    for object in objects(cluster, &json!({})).iter().rev() {
        write(server, Method::DELETE, &object.path(), &json!({})).await;
    }
}

/// The name of an agent's ClusterRole.
fn name(cluster: &str) -> String {
    format!("system:karmada:{cluster}:agent")
}

/// A role or a binding, and where it is.
struct Written {
    collection: String,
    value: Value,
}

impl Written {
    fn path(&self) -> String {
        let name = self.value["metadata"]["name"].as_str().unwrap_or_default();
        format!("{}/{name}", self.collection)
    }
}

/// The roles of an agent and their bindings, the ClusterRole first, with further metadata.
fn objects(cluster: &str, metadata: &Value) -> Vec<Written> {
    let works = execution_space(cluster);
    let mut all = Vec::new();
    for Grant {
        namespace,
        name,
        rules,
    } in grants(cluster, &works)
    {
        let base = format!("/apis/{RBAC_GROUP}/v1");
        let (kind, base, roles, bindings) = match namespace {
            "" => ("ClusterRole", base, "clusterroles", "clusterrolebindings"),
            namespace => (
                "Role",
                format!("{base}/namespaces/{namespace}"),
                "roles",
                "rolebindings",
            ),
        };
        let mut metadata = metadata.clone();
        metadata["name"] = json!(name);
        let role = json!({"metadata": metadata, "rules": rules});
        let binding = json!({
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC_GROUP, "kind": kind, "name": name},
            "subjects": [{
                "kind": "User", "apiGroup": RBAC_GROUP, "name": format!("{AGENT_PREFIX}{cluster}"),
            }],
        });
        for (plural, value) in [(roles, role), (bindings, binding)] {
            all.push(Written {
                collection: format!("{base}/{plural}"),
                value,
            });
        }
    }
    all
}

/// Rules in a namespace, or everywhere if that is empty.
struct Grant<'a> {
    namespace: &'a str,
    name: String,
    rules: Value,
}

/// Upstream: the same, but that leases are an agent's own and not everybody's.
fn grants<'a>(cluster: &str, works: &'a str) -> [Grant<'a>; 4] {
    let rule = |group: &str, resources: &[&str], verbs: &[&str], names: &[&str]| {
        let mut rule = json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
        if !names.is_empty() {
            rule["resourceNames"] = json!(names);
        }
        rule
    };
    let read = ["get", "list", "watch"];
    let impersonator = impersonation_secret(cluster);
    let election = election(cluster);
    [
        Grant {
            namespace: "",
            name: name(cluster),
            rules: json!([
                rule(
                    "cluster.karmada.io",
                    &["clusters"],
                    &["get", "delete"],
                    &[cluster]
                ),
                rule(
                    "cluster.karmada.io",
                    &["clusters"],
                    &["create", "list", "watch"],
                    &[]
                ),
                rule(
                    "cluster.karmada.io",
                    &["clusters/status"],
                    &["update"],
                    &[cluster]
                ),
                rule(
                    "config.karmada.io",
                    &[
                        "resourceinterpreterwebhookconfigurations",
                        "resourceinterpretercustomizations"
                    ],
                    &read,
                    &[],
                ),
                rule("", &["namespaces"], &["get"], &[]),
                rule(GROUP, &[RESOURCE], &["get", "create"], &[]),
                rule("", &["services"], &["list", "watch"], &[]),
                rule("", &["events"], &["create", "patch", "update"], &[]),
            ]),
        },
        Grant {
            namespace: CLUSTER_NAMESPACE,
            name: format!("system:karmada:{cluster}:agent-secret"),
            rules: json!([
                rule(
                    "",
                    &["secrets"],
                    &["get", "patch"],
                    &[cluster, &impersonator]
                ),
                rule("", &["secrets"], &["create"], &[]),
                rule(
                    "coordination.k8s.io",
                    &["leases"],
                    &["get", "update"],
                    &[cluster]
                ),
                rule("coordination.k8s.io", &["leases"], &["create"], &[]),
            ]),
        },
        Grant {
            namespace: SYSTEM_NAMESPACE,
            name: format!("system:karmada:{cluster}:agent-election"),
            rules: json!([
                rule(
                    "coordination.k8s.io",
                    &["leases"],
                    &["get", "update"],
                    &[&election]
                ),
                rule("coordination.k8s.io", &["leases"], &["create"], &[]),
            ]),
        },
        Grant {
            namespace: works,
            name: format!("system:karmada:{cluster}:agent-work"),
            rules: json!([
                rule(
                    "work.karmada.io",
                    &["works"],
                    &["get", "create", "list", "watch", "update", "delete"],
                    &[],
                ),
                rule(
                    "work.karmada.io",
                    &["works/status"],
                    &["patch", "update"],
                    &[]
                ),
            ]),
        },
    ]
}
