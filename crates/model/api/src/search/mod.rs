//! Kinds of `search.karmada.io/v1alpha1`: which resources of the clusters are cached for searching.

use object::{ObjectMeta, condition::Condition};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    cluster::LocalSecretReference,
    kind::{ApiVersion, KindName},
    policy::ClusterAffinity,
    schema::optional,
    wire::{absent, nullable},
};

/// Says which resources of which clusters are kept in the search cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceRegistry {
    /// The API version of this object.
    pub api_version: ApiVersion<Self>,
    /// The kind of this object.
    pub kind: KindName<Self>,
    /// Name, labels and other standard data of the object.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub metadata: ObjectMeta,
    /// Clusters, resources and where they are kept.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub spec: ResourceRegistrySpec,
    /// What became of it.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub status: ResourceRegistryStatus,
}

/// Clusters, resources and where they are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceRegistrySpec {
    /// The clusters that are cached. Empty means all of them.
    #[serde(deserialize_with = "nullable")]
    pub target_cluster: ClusterAffinity,
    /// The resources that are cached.
    #[serde(deserialize_with = "nullable")]
    pub resource_selectors: Vec<RegistrySelector>,
    /// Where the objects are kept. Absent means in memory.
    #[serde(skip_serializing_if = "absent")]
    pub backend_store: Option<BackendStoreConfig>,
}

/// Chooses the resources of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RegistrySelector {
    /// API version of the resources, for example `apps/v1`.
    #[serde(deserialize_with = "nullable")]
    pub api_version: String,
    /// Kind of the resources.
    #[serde(deserialize_with = "nullable")]
    pub kind: String,
    /// Namespace of the resources. Empty means every namespace.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub namespace: String,
}

/// Where cached objects are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BackendStoreConfig {
    /// In an OpenSearch service.
    #[serde(skip_serializing_if = "absent")]
    pub open_search: Option<OpenSearchConfig>,
}

/// An OpenSearch service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OpenSearchConfig {
    /// URLs of its nodes, `http` or `https`, for example `https://search.example:9200`.
    #[serde(deserialize_with = "nullable")]
    pub addresses: Vec<String>,
    /// Secret with `userName` and `password`.
    #[serde(deserialize_with = "nullable")]
    pub secret_ref: LocalSecretReference,
}

/// What became of a registry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceRegistryStatus {
    /// What holds of the registry now.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub conditions: Vec<Condition>,
}
