//! The kinds that the chores know by name.

use object::ResourceType;

pub(crate) fn namespaces() -> ResourceType {
    ResourceType::cluster("", "v1", "Namespace", "namespaces")
}

pub(crate) fn secrets() -> ResourceType {
    ResourceType::namespaced("", "v1", "Secret", "secrets")
}

pub(crate) fn definitions() -> ResourceType {
    ResourceType::cluster(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
    )
}

pub(crate) fn cluster_roles() -> ResourceType {
    ResourceType::cluster(
        "rbac.authorization.k8s.io",
        "v1",
        "ClusterRole",
        "clusterroles",
    )
}

pub(crate) fn jobs() -> ResourceType {
    ResourceType::namespaced("batch", "v1", "Job", "jobs")
}

pub(crate) fn certificate_requests() -> ResourceType {
    ResourceType::cluster(
        "certificates.k8s.io",
        "v1",
        "CertificateSigningRequest",
        "certificatesigningrequests",
    )
}
