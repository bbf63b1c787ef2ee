//! The older view of bindings.

use object::{ObjectMeta, condition::Condition};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    kind::{ApiVersion, KindName},
    kubernetes::ResourceList,
    schema::{free_form_object, optional},
    wire::{absent, nullable},
};

/// Ties a namespaced template to the clusters it goes to. Older view: writing through it loses what only v1alpha2
/// knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceBinding {
    /// The API version of this object.
    pub api_version: ApiVersion<Self>,
    /// The kind of this object.
    pub kind: KindName<Self>,
    /// Name, labels and other standard data of the object.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub metadata: ObjectMeta,
    /// The template and its clusters.
    #[serde(deserialize_with = "nullable")]
    pub spec: ResourceBindingSpec,
    /// What became of it.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub status: ResourceBindingStatus,
}

/// Ties a template without namespace to the clusters it goes to. Older view: writing through it loses what only
/// v1alpha2 knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterResourceBinding {
    /// The API version of this object.
    pub api_version: ApiVersion<Self>,
    /// The kind of this object.
    pub kind: KindName<Self>,
    /// Name, labels and other standard data of the object.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub metadata: ObjectMeta,
    /// The template and its clusters.
    #[serde(deserialize_with = "nullable")]
    pub spec: ResourceBindingSpec,
    /// What became of it.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub status: ResourceBindingStatus,
}

/// A template and its clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceBindingSpec {
    /// The template.
    #[serde(deserialize_with = "nullable")]
    pub resource: ObjectReference,
    /// The clusters it goes to.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub clusters: Vec<TargetCluster>,
}

/// Names a template and says what it needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectReference {
    /// API version of the template.
    #[serde(deserialize_with = "nullable")]
    pub api_version: String,
    /// Kind of the template.
    #[serde(deserialize_with = "nullable")]
    pub kind: String,
    /// Namespace of the template; empty for cluster-wide ones.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub namespace: String,
    /// Name of the template.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// Version of the template that was last seen; opaque.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub resource_version: String,
    /// What one replica needs, by resource name. An empty map is not the same as none: it says that the template has
    /// replicas of which nothing is known.
    #[serde(skip_serializing_if = "absent")]
    pub resource_per_replicas: Option<ResourceList>,
    /// Replicas the template asks for.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub replicas: i32,
}

/// A cluster and its share of the replicas.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TargetCluster {
    /// Name of the cluster.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// Replicas that go there.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub replicas: i32,
}

/// What became of a binding.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceBindingStatus {
    /// What holds of the binding now, for example `Scheduled`.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub conditions: Vec<Condition>,
    /// The state in each cluster.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub aggregated_status: Vec<AggregatedStatusItem>,
}

/// The state of a template in one cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AggregatedStatusItem {
    /// Name of the cluster.
    #[serde(deserialize_with = "nullable")]
    pub cluster_name: String,
    /// The object's status as reflected from the cluster, whatever its shape.
    #[schemars(schema_with = "free_form_object")]
    #[serde(skip_serializing_if = "absent")]
    pub status: Option<Value>,
    /// Whether the object was applied to the cluster.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub applied: bool,
    /// Why it was not applied, for people.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub applied_message: String,
}
