//! Kinds of `apps.karmada.io/v1alpha1`: operations on workloads.

use object::{ObjectMeta, time::Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    kind::{ApiVersion, KindName},
    schema::optional,
    wire::{absent, nullable},
};

/// How a workload fared. The field is open text in the schema.
pub mod rebalance_result {
    /// A fresh decision was asked for.
    pub const SUCCESSFUL: &str = "Successful";
    /// It could not be asked for.
    pub const FAILED: &str = "Failed";
}

/// Why a workload failed. The field is open text in the schema.
pub mod rebalance_failure {
    /// There is no binding for it.
    pub const REFERENCED_BINDING_NOT_FOUND: &str = "ReferencedBindingNotFound";
}

/// Asks the scheduler to choose clusters anew for some workloads, once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadRebalancer {
    /// The API version of this object.
    pub api_version: ApiVersion<Self>,
    /// The kind of this object.
    pub kind: KindName<Self>,
    /// Name, labels and other standard data of the object.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub metadata: ObjectMeta,
    /// The workloads.
    #[serde(deserialize_with = "nullable")]
    pub spec: WorkloadRebalancerSpec,
    /// How they fared.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub status: WorkloadRebalancerStatus,
}

/// The workloads that are placed anew.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadRebalancerSpec {
    /// The workloads.
    #[schemars(length(min = 1))]
    #[serde(deserialize_with = "nullable")]
    pub workloads: Vec<ObjectReference>,
    /// How many seconds after its end this object is deleted; 0 means at once. Absent means it stays.
    #[serde(skip_serializing_if = "absent")]
    pub ttl_seconds_after_finished: Option<i32>,
}

/// Names a workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectReference {
    /// API version of the workload.
    #[serde(deserialize_with = "nullable")]
    pub api_version: String,
    /// Kind of the workload.
    #[serde(deserialize_with = "nullable")]
    pub kind: String,
    /// Name of the workload.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// Namespace of the workload; empty for cluster-wide ones.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub namespace: String,
}

/// How the workloads fared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadRebalancerStatus {
    /// One entry for each workload.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub observed_workloads: Vec<ObservedWorkload>,
    /// Generation of the spec that this status belongs to.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub observed_generation: i64,
    /// When the last workload was dealt with.
    #[serde(skip_serializing_if = "absent")]
    pub finish_time: Option<Time>,
}

/// How one workload fared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ObservedWorkload {
    /// The workload.
    #[serde(deserialize_with = "nullable")]
    pub workload: ObjectReference,
    /// `Successful` or `Failed`; empty while it is being worked on.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub result: String,
    /// Why it failed, in one CamelCase word.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub reason: String,
}
