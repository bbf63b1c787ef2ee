//! ResourceInterpreterContext: what is sent to an interpreter webhook and what comes back. Never stored.

use object::selector::LabelSelector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    kind::{ApiVersion, KindName, TypeName},
    schema::{bytes, free_form},
    wire::{absent, nullable},
    work::v1alpha2::{AggregatedStatusItem, Component, ReplicaRequirements},
};

/// The only form in which an interpreter may change an object.
pub const JSON_PATCH: &str = "JSONPatch";

/// One question to an interpreter webhook, or its answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceInterpreterContext {
    /// The API version of this object.
    pub api_version: ApiVersion<Self>,
    /// The kind of this object.
    pub kind: KindName<Self>,
    /// The question.
    #[serde(skip_serializing_if = "absent")]
    pub request: Option<ResourceInterpreterRequest>,
    /// The answer.
    #[serde(skip_serializing_if = "absent")]
    pub response: Option<ResourceInterpreterResponse>,
}

impl TypeName for ResourceInterpreterContext {
    const API_VERSION: &'static str = "config.karmada.io/v1alpha1";
    const KIND: &'static str = "ResourceInterpreterContext";
}

/// A question to an interpreter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceInterpreterRequest {
    /// Identity of this question; the answer repeats it.
    #[serde(deserialize_with = "nullable")]
    pub uid: String,
    /// Group, version and kind of the object.
    #[serde(deserialize_with = "nullable")]
    pub kind: RequestKind,
    /// Name of the object.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// Namespace of the object; empty for cluster-wide ones.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub namespace: String,
    /// What is asked, for example `InterpretReplica`.
    #[serde(deserialize_with = "nullable")]
    pub operation: String,
    /// The object the question is about.
    #[schemars(schema_with = "free_form")]
    #[serde(deserialize_with = "nullable")]
    pub object: Value,
    /// The object as it is in the cluster; only for `Retain`.
    #[schemars(schema_with = "free_form")]
    #[serde(skip_serializing_if = "absent")]
    pub observed_object: Option<Value>,
    /// The replicas to set; sent with every operation, and 0 when it means nothing.
    #[serde(rename = "replicas", skip_serializing_if = "absent")]
    pub desired_replicas: Option<i32>,
    /// The statuses of the clusters; only for `AggregateStatus`.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub aggregated_status: Vec<AggregatedStatusItem>,
}

/// Names a kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestKind {
    /// API group; empty for the core group.
    #[serde(deserialize_with = "nullable")]
    pub group: String,
    /// API version, without the group.
    #[serde(deserialize_with = "nullable")]
    pub version: String,
    /// Name of the kind.
    #[serde(deserialize_with = "nullable")]
    pub kind: String,
}

/// An interpreter's answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceInterpreterResponse {
    /// Identity of the question this answers.
    #[serde(deserialize_with = "nullable")]
    pub uid: String,
    /// Whether the question could be answered.
    #[serde(deserialize_with = "nullable")]
    pub successful: bool,
    /// What went wrong; required when `successful` is false.
    #[serde(skip_serializing_if = "absent")]
    pub status: Option<RequestStatus>,
    /// Changes to the object, as a JSON patch in base64. Together with `patchType` or not at all.
    #[schemars(transform = bytes)]
    #[serde(skip_serializing_if = "absent")]
    pub patch: Option<String>,
    /// `JSONPatch`.
    #[serde(skip_serializing_if = "absent")]
    pub patch_type: Option<String>,
    /// What one replica needs; for `InterpretReplica`.
    #[serde(skip_serializing_if = "absent")]
    pub replica_requirements: Option<ReplicaRequirements>,
    /// Replicas the template asks for; required for `InterpretReplica`.
    #[serde(skip_serializing_if = "absent")]
    pub replicas: Option<i32>,
    /// The components of the template; for `InterpretComponent`.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub components: Vec<Component>,
    /// What the object refers to; for `InterpretDependency`.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub dependencies: Vec<DependentObjectReference>,
    /// The status that is carried back; required for `InterpretStatus`.
    #[schemars(schema_with = "free_form")]
    #[serde(skip_serializing_if = "absent")]
    pub raw_status: Option<Value>,
    /// Whether the object is doing well; required for `InterpretHealth`.
    #[serde(skip_serializing_if = "absent")]
    pub healthy: Option<bool>,
}

/// What went wrong with a question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestStatus {
    /// What went wrong, for people.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub message: String,
    /// What went wrong, as an HTTP status code.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub code: i32,
}

/// Points at objects that must follow another one: one by name, or several by labels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DependentObjectReference {
    /// API version of the objects.
    #[serde(deserialize_with = "nullable")]
    pub api_version: String,
    /// Kind of the objects.
    #[serde(deserialize_with = "nullable")]
    pub kind: String,
    /// Namespace of the objects; empty for cluster-wide ones.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub namespace: String,
    /// Name of the one object that is meant.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub name: String,
    /// Labels of the objects that are meant; has no effect when `name` is set.
    #[serde(skip_serializing_if = "absent")]
    pub label_selector: Option<LabelSelector>,
}
