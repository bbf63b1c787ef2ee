//! Where the kinds that this crate reads and writes are found.

use api::{Kind, registry::Scope};
use object::ResourceType;

/// Where objects of a multi-cluster kind are found.
#[must_use]
pub fn of<K: Kind>() -> ResourceType {
    let resource = K::RESOURCE;
    let place = match resource.scope {
        Scope::Namespaced => ResourceType::namespaced,
        Scope::Cluster => ResourceType::cluster,
    };
    place(resource.group, K::VERSION, resource.kind, resource.plural)
}

/// `v1` Namespace.
#[must_use]
pub fn namespaces() -> ResourceType {
    ResourceType::cluster("", "v1", "Namespace", "namespaces")
}

/// `v1` Secret.
#[must_use]
pub fn secrets() -> ResourceType {
    ResourceType::namespaced("", "v1", "Secret", "secrets")
}

/// `v1` ServiceAccount.
#[must_use]
pub fn service_accounts() -> ResourceType {
    ResourceType::namespaced("", "v1", "ServiceAccount", "serviceaccounts")
}

/// `v1` Node.
#[must_use]
pub fn nodes() -> ResourceType {
    ResourceType::cluster("", "v1", "Node", "nodes")
}

/// `v1` Pod.
#[must_use]
pub fn pods() -> ResourceType {
    ResourceType::namespaced("", "v1", "Pod", "pods")
}

/// `coordination.k8s.io/v1` Lease.
#[must_use]
pub fn leases() -> ResourceType {
    ResourceType::namespaced("coordination.k8s.io", "v1", "Lease", "leases")
}

/// `rbac.authorization.k8s.io/v1` ClusterRole.
#[must_use]
pub fn cluster_roles() -> ResourceType {
    ResourceType::cluster(RBAC, "v1", "ClusterRole", "clusterroles")
}

/// `rbac.authorization.k8s.io/v1` ClusterRoleBinding.
#[must_use]
pub fn cluster_role_bindings() -> ResourceType {
    ResourceType::cluster(RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings")
}

/// `rbac.authorization.k8s.io/v1` Role.
#[must_use]
pub fn roles() -> ResourceType {
    ResourceType::namespaced(RBAC, "v1", "Role", "roles")
}

/// `rbac.authorization.k8s.io/v1` RoleBinding.
#[must_use]
pub fn role_bindings() -> ResourceType {
    ResourceType::namespaced(RBAC, "v1", "RoleBinding", "rolebindings")
}

/// The API group of roles and bindings.
pub const RBAC: &str = "rbac.authorization.k8s.io";

/// Definitions of kinds.
#[must_use]
pub fn definitions() -> ResourceType {
    ResourceType::cluster(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
    )
}

/// Servers that stand in for groups of kinds.
#[must_use]
pub fn api_services() -> ResourceType {
    ResourceType::cluster("apiregistration.k8s.io", "v1", "APIService", "apiservices")
}
