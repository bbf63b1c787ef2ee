//! Kinds of `cluster.karmada.io/v1alpha1`: the member clusters.

mod spec;
mod status;

pub use spec::*;
pub use status::*;

use object::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    kind::{ApiVersion, KindName},
    schema::optional,
    wire::{absent, nullable},
};

/// A member: a Kubernetes cluster that workloads can be sent to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Cluster {
    /// The API version of this object.
    pub api_version: ApiVersion<Self>,
    /// The kind of this object.
    pub kind: KindName<Self>,
    /// Name, labels and other standard data of the object. The name is a DNS label of at most 48 characters.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub metadata: ObjectMeta,
    /// How the cluster is reached, and what is known of it beforehand.
    #[serde(deserialize_with = "nullable")]
    pub spec: ClusterSpec,
    /// What was found there.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub status: ClusterStatus,
}

/// What a caller of `clusters/<name>/proxy` asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterProxyOptions {
    /// Path of the request within the cluster, for example `api/v1/nodes`.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub path: String,
}
