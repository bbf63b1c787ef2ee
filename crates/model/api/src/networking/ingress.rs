//! MultiClusterIngress: one ingress for backends in several clusters.

use object::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    kind::{ApiVersion, KindName},
    kubernetes::ingress::{IngressLoadBalancerStatus, IngressSpec},
    schema::optional,
    wire::{absent, nullable},
};

/// One ingress for backends in several clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MultiClusterIngress {
    /// The API version of this object.
    pub api_version: ApiVersion<Self>,
    /// The kind of this object.
    pub kind: KindName<Self>,
    /// Name, labels and other standard data of the object.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub metadata: ObjectMeta,
    /// What is routed, in the form of a Kubernetes Ingress.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub spec: IngressSpec,
    /// Where the ingress can be reached and where its backends are.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub status: MultiClusterIngressStatus,
}

/// Where an ingress can be reached and where its backends are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MultiClusterIngressStatus {
    /// Points of entry.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub load_balancer: IngressLoadBalancerStatus,
    /// Clusters that get no traffic at present, because a remedy says so.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub traffic_block_clusters: Vec<String>,
    /// The clusters in which each backend service runs.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub service_locations: Vec<ServiceLocation>,
}

/// Where a backend service runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceLocation {
    /// Name of the service.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// The clusters it runs in.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub clusters: Vec<String>,
}
