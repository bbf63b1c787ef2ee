//! What became of a binding.

use object::{condition::Condition, time::Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    schema::free_form_object,
    wire::{absent, nullable},
    work::ResourceHealth,
};

/// What became of a binding.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceBindingStatus {
    /// Generation of the binding that the scheduler last worked on.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub scheduler_observed_generation: i64,
    /// Name of the affinity group, of those in `spec.placement.clusterAffinities`, that the scheduler settled on.
    #[serde(
        rename = "schedulerObservingAffinityName",
        skip_serializing_if = "absent",
        deserialize_with = "nullable"
    )]
    pub scheduler_observed_affinity_name: String,
    /// When the scheduler last chose clusters.
    #[serde(skip_serializing_if = "absent")]
    pub last_scheduled_time: Option<Time>,
    /// What holds of the binding now: `Scheduled`, `FullyApplied`.
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
    /// How the object is doing.
    #[serde(skip_serializing_if = "absent")]
    pub health: Option<ResourceHealth>,
}
