//! FederatedResourceQuota: how much a namespace may use over all clusters together.

use object::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    kind::{ApiVersion, KindName},
    kubernetes::ResourceList,
    schema::optional,
    wire::{absent, nullable},
};

/// Limits how much a namespace may use over all clusters together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FederatedResourceQuota {
    /// The API version of this object.
    pub api_version: ApiVersion<Self>,
    /// The kind of this object.
    pub kind: KindName<Self>,
    /// Name, labels and other standard data of the object. The name is at most 63 characters long.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub metadata: ObjectMeta,
    /// The limits.
    #[serde(deserialize_with = "nullable")]
    pub spec: FederatedResourceQuotaSpec,
    /// The limits in force and what is used of them.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub status: FederatedResourceQuotaStatus,
}

/// The limits of a namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FederatedResourceQuotaSpec {
    /// Limit by resource name over all clusters together, for example `cpu: "100"`.
    #[serde(deserialize_with = "nullable")]
    pub overall: ResourceList,
    /// Shares that are fixed for single clusters and become a ResourceQuota there. Together they may not exceed
    /// `overall`, and may only name resources that it names.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub static_assignments: Vec<StaticClusterAssignment>,
}

/// The fixed share of one cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct StaticClusterAssignment {
    /// Name of the cluster.
    #[serde(deserialize_with = "nullable")]
    pub cluster_name: String,
    /// Limit by resource name within the cluster.
    #[serde(deserialize_with = "nullable")]
    pub hard: ResourceList,
}

/// The limits in force and what is used of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FederatedResourceQuotaStatus {
    /// The limits in force, as in the spec.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub overall: ResourceList,
    /// What is used of them over all clusters together.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub overall_used: ResourceList,
    /// Limits and use in single clusters.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub aggregated_status: Vec<ClusterQuotaStatus>,
}

/// Limits and use in one cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterQuotaStatus {
    /// Name of the cluster.
    #[serde(deserialize_with = "nullable")]
    pub cluster_name: String,
    /// The limits that the cluster enforces.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub hard: ResourceList,
    /// What is used of them in the cluster.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub used: ResourceList,
}
