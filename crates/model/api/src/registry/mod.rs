//! Which kinds there are, as data: names, scope, versions, columns.

mod policy;
mod rest;
mod work;

pub use policy::*;
pub use rest::*;
pub use work::*;

use object::{GroupVersionKind, ResourceType};
use serde_json::Value;

/// The category that `kubectl get karmada-io` lists.
pub const CATEGORY: &str = "karmada-io";

/// One resource: a kind in all of its versions.
#[derive(Debug)]
pub struct Resource {
    /// Such as `policy.karmada.io`.
    pub group: &'static str,
    /// Such as `PropagationPolicy`.
    pub kind: &'static str,
    /// The plural, as in URLs.
    pub plural: &'static str,
    /// The singular, as people type it.
    pub singular: &'static str,
    /// Abbreviations that people may type.
    pub short_names: &'static [&'static str],
    /// Groups of kinds that can be listed together.
    pub categories: &'static [&'static str],
    /// Whether objects live in namespaces.
    pub scope: Scope,
    /// How the kind reaches clients in the system whose API this is.
    pub published: Published,
    /// The versions, in the order they are published.
    pub versions: &'static [Version],
}

/// Whether objects of a kind live in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Each object has a namespace.
    Namespaced,
    /// No object has one.
    Cluster,
}

impl Scope {
    /// The word for it in a CustomResourceDefinition.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Namespaced => "Namespaced",
            Self::Cluster => "Cluster",
        }
    }
}

/// How a kind reaches clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// By a CustomResourceDefinition whose list kind is named, as generators do.
    Definition,
    /// By a CustomResourceDefinition written by hand, which leaves the name of the list kind to the server.
    PlainDefinition,
    /// By a server of its own; there is no CustomResourceDefinition.
    Aggregated,
}

/// One version of a resource.
#[derive(Debug)]
pub struct Version {
    /// Such as `v1alpha1`.
    pub name: &'static str,
    /// Whether objects are stored in this version.
    pub storage: bool,
    /// What can be asked for below an object.
    pub subresources: Subresources,
    /// What tables show beside the name. Empty means the server's default.
    pub columns: &'static [Column],
    /// Makes the structural schema of the version.
    pub schema: fn() -> Value,
}

/// What can be asked for below an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subresources {
    /// Nothing.
    None,
    /// Nothing, although the definition has the empty field.
    Empty,
    /// The status, which is then written by its own requests only.
    Status,
    /// The status, and a way through to the API of the cluster.
    StatusAndProxy,
}

impl Subresources {
    /// Whether the status is written by requests of its own.
    #[must_use]
    pub fn has_status(self) -> bool {
        matches!(self, Self::Status | Self::StatusAndProxy)
    }
}

/// A column of the table in which objects are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The heading.
    pub name: &'static str,
    /// The type of the cells, as JSON Schema has it, or `date`.
    pub r#type: &'static str,
    /// Where the cell is found in the object.
    pub json_path: &'static str,
    /// Whether only wide tables show it.
    pub wide: bool,
    /// What the cell shows when there is nothing at the path.
    pub absent: &'static str,
}

impl Resource {
    /// The version in which objects are stored.
    #[must_use]
    pub fn storage_version(&self) -> &'static Version {
        self.versions
            .iter()
            .find(|version| version.storage)
            .expect("invariant: every resource has one stored version, as a test shows")
    }

    /// The version called `name`.
    #[must_use]
    pub fn version(&self, name: &str) -> Option<&'static Version> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// The name of the definition: `propagationpolicies.policy.karmada.io`.
    #[must_use]
    pub fn definition_name(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }
}

/// Where objects of the kind are found, in the version they are stored in.
impl From<&Resource> for ResourceType {
    fn from(resource: &Resource) -> Self {
        let version = resource.storage_version().name;
        Self {
            kind: GroupVersionKind::new(resource.group, version, resource.kind),
            plural: resource.plural.to_owned(),
            namespaced: resource.scope == Scope::Namespaced,
        }
    }
}

/// Every resource, by group and plural.
pub static RESOURCES: &[&Resource] = &[
    &WORKLOAD_REBALANCER,
    &CRON_FEDERATED_HPA,
    &FEDERATED_HPA,
    &CLUSTER,
    &RESOURCE_INTERPRETER_CUSTOMIZATION,
    &RESOURCE_INTERPRETER_WEBHOOK_CONFIGURATION,
    &SERVICE_EXPORT,
    &SERVICE_IMPORT,
    &MULTI_CLUSTER_INGRESS,
    &MULTI_CLUSTER_SERVICE,
    &CLUSTER_OVERRIDE_POLICY,
    &CLUSTER_PROPAGATION_POLICY,
    &CLUSTER_TAINT_POLICY,
    &FEDERATED_RESOURCE_QUOTA,
    &OVERRIDE_POLICY,
    &PROPAGATION_POLICY,
    &REMEDY,
    &RESOURCE_REGISTRY,
    &CLUSTER_RESOURCE_BINDING,
    &RESOURCE_BINDING,
    &WORK,
];

/// A resource that is only ever connected to: nothing of it is stored, so it has no fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectOnly {
    /// Such as `search.karmada.io`.
    pub group: &'static str,
    /// Such as `v1alpha1`.
    pub version: &'static str,
    /// What discovery calls it.
    pub kind: &'static str,
    /// What URLs call it.
    pub plural: &'static str,
}

/// The ways to read across members: what the search cache has, and the proxy that answers from it.
pub static CONNECT_ONLY: &[ConnectOnly] = &[
    ConnectOnly {
        group: "search.karmada.io",
        version: "v1alpha1",
        kind: "Search",
        plural: "search",
    },
    ConnectOnly {
        group: "search.karmada.io",
        version: "v1alpha1",
        kind: "Proxying",
        plural: "proxying",
    },
];

/// The resource of a group and kind.
#[must_use]
pub fn find(group: &str, kind: &str) -> Option<&'static Resource> {
    RESOURCES
        .iter()
        .copied()
        .find(|resource| resource.group == group && resource.kind == kind)
}

/// The age of an object, as most tables show it.
const AGE: Column = text_column("AGE", ".metadata.creationTimestamp").of_type("date");

const fn text_column(name: &'static str, json_path: &'static str) -> Column {
    Column {
        name,
        r#type: "string",
        json_path,
        wide: false,
        absent: "",
    }
}

impl Column {
    const fn of_type(self, r#type: &'static str) -> Self {
        Self { r#type, ..self }
    }

    const fn wide(self) -> Self {
        Self { wide: true, ..self }
    }

    const fn or(self, absent: &'static str) -> Self {
        Self { absent, ..self }
    }
}

/// Ties a type to its resource and version.
macro_rules! kind {
    ($type:ty, $resource:ident, $version:literal, $api_version:literal, $kind:literal) => {
        impl crate::kind::TypeName for $type {
            const API_VERSION: &'static str = $api_version;
            const KIND: &'static str = $kind;
        }

        impl crate::kind::Kind for $type {
            const RESOURCE: &'static super::Resource = &$resource;
            const VERSION: &'static str = $version;

            fn metadata(&self) -> &object::ObjectMeta {
                &self.metadata
            }

            fn metadata_mut(&mut self) -> &mut object::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

use kind;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_resource_has_one_stored_version_and_a_name_of_its_own() {
        let mut names = BTreeSet::new();
        for resource in RESOURCES {
            let stored = resource
                .versions
                .iter()
                .filter(|version| version.storage)
                .count();
            assert_eq!(stored, 1, "{}", resource.kind);
            assert!(
                names.insert(resource.definition_name()),
                "{} twice",
                resource.kind
            );
            assert!(find(resource.group, resource.kind).is_some());
            assert_eq!(resource.singular, resource.kind.to_lowercase());
        }
    }

    #[test]
    fn resources_are_listed_by_group_and_plural() {
        assert!(RESOURCES.is_sorted_by_key(|resource| (resource.group, resource.plural)));
    }

    #[test]
    fn every_kind_of_the_api_is_here() {
        let mut kinds: Vec<&str> = RESOURCES.iter().map(|resource| resource.kind).collect();
        kinds.extend(CONNECT_ONLY.iter().map(|resource| resource.kind));
        kinds.sort_unstable();
        assert_eq!(
            kinds.join(" "),
            "Cluster ClusterOverridePolicy ClusterPropagationPolicy ClusterResourceBinding ClusterTaintPolicy \
             CronFederatedHPA FederatedHPA FederatedResourceQuota MultiClusterIngress MultiClusterService \
             OverridePolicy PropagationPolicy Proxying Remedy ResourceBinding ResourceInterpreterCustomization \
             ResourceInterpreterWebhookConfiguration ResourceRegistry Search ServiceExport ServiceImport Work \
             WorkloadRebalancer"
        );
    }

    #[test]
    fn the_category_lists_policies_and_bindings_but_no_clusters() {
        let listed = |kind: &str| {
            RESOURCES
                .iter()
                .any(|r| r.kind == kind && r.categories.contains(&CATEGORY))
        };
        assert!(listed("PropagationPolicy") && listed("ResourceBinding"));
        assert!(
            !listed("Cluster") && !listed("WorkloadRebalancer") && !listed("ClusterTaintPolicy")
        );
    }
}
