//! FederatedHPA: scaling by metrics.

use object::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    kind::{ApiVersion, KindName},
    kubernetes::autoscaling::{
        CrossVersionObjectReference, HorizontalPodAutoscalerBehavior,
        HorizontalPodAutoscalerStatus, MetricSpec,
    },
    schema::optional,
    wire::{absent, nullable},
};

/// Scales a workload by metrics taken over all of its clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FederatedHPA {
    /// The API version of this object.
    pub api_version: ApiVersion<Self>,
    /// The kind of this object.
    pub kind: KindName<Self>,
    /// Name, labels and other standard data of the object.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub metadata: ObjectMeta,
    /// What is scaled, between which bounds, by which metrics.
    #[serde(deserialize_with = "nullable")]
    pub spec: FederatedHPASpec,
    /// What was last seen and done.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub status: HorizontalPodAutoscalerStatus,
}

/// What is scaled, between which bounds, by which metrics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FederatedHPASpec {
    /// The template that is scaled; it must have a scale subresource.
    #[serde(deserialize_with = "nullable")]
    pub scale_target_ref: CrossVersionObjectReference,
    /// Fewest replicas over all clusters together; at least 1. Default: 1.
    #[serde(skip_serializing_if = "absent")]
    pub min_replicas: Option<i32>,
    /// Most replicas over all clusters together; not below `minReplicas`.
    #[serde(deserialize_with = "nullable")]
    pub max_replicas: i32,
    /// The metrics. The one that asks for the most replicas decides. Default: 80 per cent of requested cpu.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub metrics: Vec<MetricSpec>,
    /// Limits on how quickly the number of replicas moves.
    #[serde(skip_serializing_if = "absent")]
    pub behavior: Option<HorizontalPodAutoscalerBehavior>,
}
