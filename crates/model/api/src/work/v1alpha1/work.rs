//! Work: what is sent to one cluster.

use object::{ObjectMeta, condition::Condition};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    kind::{ApiVersion, KindName},
    schema::{free_form_list, free_form_object, optional, plain_integer},
    wire::{absent, nullable},
    work::ResourceHealth,
};

/// Manifests for one cluster. The cluster is given by the namespace, `karmada-es-<cluster>`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Work {
    /// The API version of this object.
    pub api_version: ApiVersion<Self>,
    /// The kind of this object.
    pub kind: KindName<Self>,
    /// Name, labels and other standard data of the object.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub metadata: ObjectMeta,
    /// What is sent to the cluster.
    #[serde(deserialize_with = "nullable")]
    pub spec: WorkSpec,
    /// What became of it there.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub status: WorkStatus,
}

/// What is sent to the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkSpec {
    /// The objects that should exist in the cluster.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub workload: WorkloadTemplate,
    /// Stops changes from being applied to the cluster. The status is still collected.
    #[serde(skip_serializing_if = "absent")]
    pub suspend_dispatching: Option<bool>,
    /// Whether the objects stay in the cluster when the work is deleted.
    #[serde(skip_serializing_if = "absent")]
    pub preserve_resources_on_deletion: Option<bool>,
}

/// The objects that should exist in the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadTemplate {
    /// Whole objects of any kind, with every field as its author wrote it.
    #[schemars(schema_with = "free_form_list")]
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub manifests: Vec<Value>,
}

/// What became of a work in its cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkStatus {
    /// What holds of the work now, for example `Applied`.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub conditions: Vec<Condition>,
    /// The state of each object in the cluster.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub manifest_statuses: Vec<ManifestStatus>,
}

/// The state of one object in the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ManifestStatus {
    /// Which object it is.
    #[serde(deserialize_with = "nullable")]
    pub identifier: ResourceIdentifier,
    /// The object's status as reflected from the cluster, whatever its shape.
    #[schemars(schema_with = "free_form_object")]
    #[serde(skip_serializing_if = "absent")]
    pub status: Option<Value>,
    /// How the object is doing.
    #[serde(skip_serializing_if = "absent")]
    pub health: Option<ResourceHealth>,
}

/// Names one object of a work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceIdentifier {
    /// Place of the object in the list of manifests, from 0; tells objects apart that could not be parsed.
    #[schemars(transform = plain_integer)]
    #[serde(deserialize_with = "nullable")]
    pub ordinal: i64,
    /// API group of the object; empty for the core group.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub group: String,
    /// API version of the object, without the group.
    #[serde(deserialize_with = "nullable")]
    pub version: String,
    /// Kind of the object.
    #[serde(deserialize_with = "nullable")]
    pub kind: String,
    /// Plural name of the kind, as in URLs.
    #[serde(deserialize_with = "nullable")]
    pub resource: String,
    /// Namespace of the object; empty for cluster-wide objects.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub namespace: String,
    /// Name of the object.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
}
