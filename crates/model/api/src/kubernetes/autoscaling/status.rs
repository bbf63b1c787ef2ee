//! What an autoscaler last saw and did.

use object::{quantity::Quantity, time::Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CrossVersionObjectReference, MetricIdentifier};
use crate::{
    schema::optional,
    wire::{absent, null_when_empty, nullable},
};

/// What an autoscaler last saw and did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HorizontalPodAutoscalerStatus {
    /// Generation of the autoscaler that this status belongs to.
    #[serde(skip_serializing_if = "absent")]
    pub observed_generation: Option<i64>,
    /// When the number of replicas was last changed.
    #[serde(skip_serializing_if = "absent")]
    pub last_scale_time: Option<Time>,
    /// Replicas that were found at the last look.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub current_replicas: i32,
    /// Replicas that were last asked for.
    #[serde(deserialize_with = "nullable")]
    pub desired_replicas: i32,
    /// Metrics as last read, in the order of the spec.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(deserialize_with = "nullable", serialize_with = "null_when_empty")]
    #[schemars(transform = optional)]
    pub current_metrics: Vec<MetricStatus>,
    /// What holds of the autoscaler now; at most one entry for each type.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub conditions: Vec<HorizontalPodAutoscalerCondition>,
}

/// One thing that holds, or does not hold, of an autoscaler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HorizontalPodAutoscalerCondition {
    /// What the condition is about: `AbleToScale`, `ScalingActive` or `ScalingLimited`.
    #[serde(deserialize_with = "nullable")]
    pub r#type: String,
    /// `True`, `False` or `Unknown`.
    #[serde(deserialize_with = "nullable")]
    pub status: String,
    /// When the status last changed.
    #[serde(skip_serializing_if = "absent")]
    pub last_transition_time: Option<Time>,
    /// Why it changed, in one CamelCase word.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub reason: String,
    /// Why it changed, for people.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub message: String,
}

/// The last reading of one metric; exactly the source that `type` names is set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MetricStatus {
    /// Which of the sources below is set: `Object`, `Pods`, `Resource`, `ContainerResource` or `External`.
    #[serde(deserialize_with = "nullable")]
    pub r#type: String,
    /// Reading of a metric that describes one object.
    #[serde(skip_serializing_if = "absent")]
    pub object: Option<ObjectMetricStatus>,
    /// Reading of a metric that describes each pod, averaged.
    #[serde(skip_serializing_if = "absent")]
    pub pods: Option<PodsMetricStatus>,
    /// Reading of a resource of whole pods.
    #[serde(skip_serializing_if = "absent")]
    pub resource: Option<ResourceMetricStatus>,
    /// Reading of a resource of one container in each pod.
    #[serde(skip_serializing_if = "absent")]
    pub container_resource: Option<ContainerResourceMetricStatus>,
    /// Reading of a metric from outside the clusters.
    #[serde(skip_serializing_if = "absent")]
    pub external: Option<ExternalMetricStatus>,
}

/// Reading of a metric that describes one object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectMetricStatus {
    /// Which metric it is.
    #[serde(deserialize_with = "nullable")]
    pub metric: MetricIdentifier,
    /// What was read.
    #[serde(deserialize_with = "nullable")]
    pub current: MetricValueStatus,
    /// The object that the metric describes.
    #[serde(deserialize_with = "nullable")]
    pub described_object: CrossVersionObjectReference,
}

/// Reading of a metric that describes each pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PodsMetricStatus {
    /// Which metric it is.
    #[serde(deserialize_with = "nullable")]
    pub metric: MetricIdentifier,
    /// What was read.
    #[serde(deserialize_with = "nullable")]
    pub current: MetricValueStatus,
}

/// Reading of a resource of whole pods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceMetricStatus {
    /// Name of the resource, for example `cpu`.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// What was read.
    #[serde(deserialize_with = "nullable")]
    pub current: MetricValueStatus,
}

/// Reading of a resource of one container in each pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerResourceMetricStatus {
    /// Name of the resource, for example `cpu`.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// What was read.
    #[serde(deserialize_with = "nullable")]
    pub current: MetricValueStatus,
    /// Name of the container.
    #[serde(deserialize_with = "nullable")]
    pub container: String,
}

/// Reading of a metric from outside the clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ExternalMetricStatus {
    /// Which metric it is.
    #[serde(deserialize_with = "nullable")]
    pub metric: MetricIdentifier,
    /// What was read.
    #[serde(deserialize_with = "nullable")]
    pub current: MetricValueStatus,
}

/// A value that was read, in the forms the metric has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MetricValueStatus {
    /// The metric's value as it is.
    #[serde(skip_serializing_if = "absent")]
    pub value: Option<Quantity>,
    /// The metric's value divided by the number of pods.
    #[serde(skip_serializing_if = "absent")]
    pub average_value: Option<Quantity>,
    /// Percentage of what the pods request, averaged.
    #[serde(skip_serializing_if = "absent")]
    pub average_utilization: Option<i32>,
}
