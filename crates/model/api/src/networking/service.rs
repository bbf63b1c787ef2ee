//! MultiClusterService: a service that is reached from other clusters or from outside.

use object::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    kind::{ApiVersion, KindName},
    kubernetes::service::ServiceStatus,
    schema::optional,
    wire::{absent, nullable},
};

/// How a service is opened. The field is open text in the schema; other values are refused on admission.
pub mod exposure_type {
    /// To other member clusters.
    pub const CROSS_CLUSTER: &str = "CrossCluster";
    /// To the outside, by a load balancer.
    pub const LOAD_BALANCER: &str = "LoadBalancer";
}

/// Opens the service of the same name and namespace to other clusters or to the outside.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MultiClusterService {
    /// The API version of this object.
    pub api_version: ApiVersion<Self>,
    /// The kind of this object.
    pub kind: KindName<Self>,
    /// Name, labels and other standard data of the object. The name is that of the service, a DNS-1035 label.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub metadata: ObjectMeta,
    /// How the service is opened, and to whom.
    #[serde(deserialize_with = "nullable")]
    pub spec: MultiClusterServiceSpec,
    /// Where it can be reached.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub status: ServiceStatus,
}

/// How a service is opened, and to whom.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MultiClusterServiceSpec {
    /// `CrossCluster` or `LoadBalancer`; one of them, and it cannot be changed later.
    #[serde(deserialize_with = "nullable")]
    pub types: Vec<String>,
    /// The ports that are opened. Empty means all ports of the service.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub ports: Vec<ExposurePort>,
    /// Earlier form of the cluster lists below; has no effect.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub range: ExposureRange,
    /// Earlier form of `providerClusters`; has no effect.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub service_provision_clusters: Vec<String>,
    /// Earlier form of `consumerClusters`; has no effect.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub service_consumption_clusters: Vec<String>,
    /// The clusters whose pods answer. Empty means all clusters.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub provider_clusters: Vec<ClusterSelector>,
    /// The clusters whose pods may ask. Empty means all clusters.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub consumer_clusters: Vec<ClusterSelector>,
}

/// One port that is opened.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ExposurePort {
    /// Name of the port on the service, unique within the list; a DNS label.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub name: String,
    /// Number of the port on the service, 1 to 65535.
    #[serde(deserialize_with = "nullable")]
    pub port: i32,
}

/// Clusters, in the earlier form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ExposureRange {
    /// Names of the clusters.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub cluster_names: Vec<String>,
}

/// Chooses a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterSelector {
    /// Name of the cluster.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
}
