//! What drives a scaling decision: metric sources and their targets.

use object::{quantity::Quantity, selector::LabelSelector};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::{absent, nullable};

/// Where a metric comes from. The field is open text in the schemas.
pub mod metric_source_type {
    /// A metric of one Kubernetes object.
    pub const OBJECT: &str = "Object";
    /// A metric of every pod of the target, averaged.
    pub const PODS: &str = "Pods";
    /// A resource that containers request, over whole pods.
    pub const RESOURCE: &str = "Resource";
    /// A resource that one container of each pod requests.
    pub const CONTAINER_RESOURCE: &str = "ContainerResource";
    /// A metric from outside Kubernetes. Known to autoscaling/v2; a FederatedHPA does not accept it.
    pub const EXTERNAL: &str = "External";
}

/// What a metric target is given as. The field is open text in the schemas.
pub mod metric_target_type {
    /// Percentage of what is requested.
    pub const UTILIZATION: &str = "Utilization";
    /// The metric's value as it is.
    pub const VALUE: &str = "Value";
    /// The metric's value divided by the number of pods.
    pub const AVERAGE_VALUE: &str = "AverageValue";
}

/// Points at an object by kind and name, whichever version serves it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CrossVersionObjectReference {
    /// Kind of the object, for example `Deployment`.
    #[serde(deserialize_with = "nullable")]
    pub kind: String,
    /// Name of the object.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// API version of the object, for example `apps/v1`.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub api_version: String,
}

/// One metric to scale by; exactly the source that `type` names is set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MetricSpec {
    /// Which of the sources below is set: `Object`, `Pods`, `Resource`, `ContainerResource` or `External`.
    #[serde(deserialize_with = "nullable")]
    pub r#type: String,
    /// A metric that describes one Kubernetes object, for example requests a second of an Ingress.
    #[serde(skip_serializing_if = "absent")]
    pub object: Option<ObjectMetricSource>,
    /// A metric that describes each pod of the target; the values are averaged before they are compared.
    #[serde(skip_serializing_if = "absent")]
    pub pods: Option<PodsMetricSource>,
    /// A resource from requests and limits (cpu, memory), summed over the containers of each pod.
    #[serde(skip_serializing_if = "absent")]
    pub resource: Option<ResourceMetricSource>,
    /// A resource from requests and limits of one container in each pod.
    #[serde(skip_serializing_if = "absent")]
    pub container_resource: Option<ContainerResourceMetricSource>,
    /// A metric that belongs to no Kubernetes object, for example the length of a queue elsewhere.
    #[serde(skip_serializing_if = "absent")]
    pub external: Option<ExternalMetricSource>,
}

/// A metric of one object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectMetricSource {
    /// The object that the metric describes.
    #[serde(deserialize_with = "nullable")]
    pub described_object: CrossVersionObjectReference,
    /// The value to steer towards.
    #[serde(deserialize_with = "nullable")]
    pub target: MetricTarget,
    /// Which metric it is.
    #[serde(deserialize_with = "nullable")]
    pub metric: MetricIdentifier,
}

/// A metric of every pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PodsMetricSource {
    /// Which metric it is.
    #[serde(deserialize_with = "nullable")]
    pub metric: MetricIdentifier,
    /// The value to steer towards; only `averageValue` makes sense here.
    #[serde(deserialize_with = "nullable")]
    pub target: MetricTarget,
}

/// A resource of whole pods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceMetricSource {
    /// Name of the resource, for example `cpu`.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// The value to steer towards, as a utilisation or as an average.
    #[serde(deserialize_with = "nullable")]
    pub target: MetricTarget,
}

/// A resource of one container in each pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerResourceMetricSource {
    /// Name of the resource, for example `cpu`.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// The value to steer towards, as a utilisation or as an average.
    #[serde(deserialize_with = "nullable")]
    pub target: MetricTarget,
    /// Name of the container.
    #[serde(deserialize_with = "nullable")]
    pub container: String,
}

/// A metric from outside the clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ExternalMetricSource {
    /// Which metric it is.
    #[serde(deserialize_with = "nullable")]
    pub metric: MetricIdentifier,
    /// The value to steer towards.
    #[serde(deserialize_with = "nullable")]
    pub target: MetricTarget,
}

/// Names a metric and narrows it by labels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MetricIdentifier {
    /// Name of the metric.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// Labels the metric must carry; passed on to the metrics server as it stands. Absent takes the name alone.
    #[serde(skip_serializing_if = "absent")]
    pub selector: Option<LabelSelector>,
}

/// The value a metric is steered towards; exactly the form that `type` names is set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MetricTarget {
    /// Which form is used: `Utilization`, `Value` or `AverageValue`.
    #[serde(deserialize_with = "nullable")]
    pub r#type: String,
    /// The metric's value as it is.
    #[serde(skip_serializing_if = "absent")]
    pub value: Option<Quantity>,
    /// The metric's value divided by the number of pods.
    #[serde(skip_serializing_if = "absent")]
    pub average_value: Option<Quantity>,
    /// Percentage of what the pods request, averaged. Only for `Resource` and `ContainerResource` metrics.
    #[serde(skip_serializing_if = "absent")]
    pub average_utilization: Option<i32>,
}
