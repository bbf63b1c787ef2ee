//! Kinds of `multicluster.x-k8s.io/v1alpha1`: the Kubernetes multi-cluster services API.

use object::{ObjectMeta, condition::Condition};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    kind::{ApiVersion, KindName},
    schema::{optional, required},
    wire::{absent, nullable},
};

/// Offers the service of the same name and namespace to other clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceExport {
    /// The API version of this object.
    pub api_version: ApiVersion<Self>,
    /// The kind of this object.
    pub kind: KindName<Self>,
    /// Name, labels and other standard data of the object.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub metadata: ObjectMeta,
    /// Whether the offer stands.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub status: ServiceExportStatus,
}

/// Whether an offer stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceExportStatus {
    /// What holds of the offer now, `Valid` or `Conflict`; at most one entry for each type.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub conditions: Vec<Condition>,
}

/// Makes a service that other clusters offer available here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceImport {
    /// The API version of this object.
    pub api_version: ApiVersion<Self>,
    /// The kind of this object.
    pub kind: KindName<Self>,
    /// Name, labels and other standard data of the object.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub metadata: ObjectMeta,
    /// What the service looks like here.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub spec: ServiceImportSpec,
    /// The clusters it comes from.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub status: ServiceImportStatus,
}

/// What an imported service looks like.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceImportSpec {
    /// The ports of the service.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(deserialize_with = "nullable")]
    pub ports: Vec<ServicePort>,
    /// The address of the service within the set of clusters; only for `ClusterSetIP`.
    #[schemars(length(max = 1))]
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub ips: Vec<String>,
    /// Whether the service has one address or none. Absent only in an object without a spec.
    #[serde(skip_serializing_if = "absent")]
    #[schemars(transform = required)]
    pub r#type: Option<ServiceImportType>,
    /// Whether a client stays with one backend: `ClientIP` or `None`.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub session_affinity: String,
    /// Details of the affinity.
    #[serde(skip_serializing_if = "absent")]
    pub session_affinity_config: Option<SessionAffinityConfig>,
}

/// Whether an imported service has an address of its own.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum ServiceImportType {
    /// One address for all of its backends.
    #[serde(rename = "ClusterSetIP")]
    ClusterSetIp,
    /// No address; names lead to the backends themselves.
    Headless,
}

/// One port of an imported service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ServicePort {
    /// Name of the port; a DNS label. May be empty when there is only one.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub name: String,
    /// `TCP`, `UDP` or `SCTP`. Default: `TCP`.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub protocol: String,
    /// Protocol of the application, for example `http` or `example.com/own`.
    #[serde(skip_serializing_if = "absent")]
    pub app_protocol: Option<String>,
    /// Number of the port.
    #[serde(deserialize_with = "nullable")]
    pub port: i32,
}

/// Details of session affinity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionAffinityConfig {
    /// Details for affinity by client address.
    #[serde(rename = "clientIP", skip_serializing_if = "absent")]
    pub client_ip: Option<ClientIpConfig>,
}

/// Details for affinity by client address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientIpConfig {
    /// How long a client stays with its backend, in seconds: 1 to 86400. Default: 10800.
    #[serde(skip_serializing_if = "absent")]
    pub timeout_seconds: Option<i32>,
}

/// The clusters a service comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceImportStatus {
    /// One entry for each cluster.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["cluster"]))]
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub clusters: Vec<SourceCluster>,
}

/// One cluster that a service comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SourceCluster {
    /// Name of the cluster.
    #[serde(deserialize_with = "nullable")]
    pub cluster: String,
}
