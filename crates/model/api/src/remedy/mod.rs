//! Kinds of `remedy.karmada.io/v1alpha1`: what to do about clusters in a certain state.

use object::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    kind::{ApiVersion, KindName},
    schema::optional,
    wire::{absent, nullable},
};

/// What can be done about a cluster. The field is open text in the schema.
pub mod remedy_action {
    /// Takes the cluster out of the traffic of multi-cluster ingresses.
    pub const TRAFFIC_CONTROL: &str = "TrafficControl";
}

/// Says what to do about clusters in a certain state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Remedy {
    /// The API version of this object.
    pub api_version: ApiVersion<Self>,
    /// The kind of this object.
    pub kind: KindName<Self>,
    /// Name, labels and other standard data of the object.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub metadata: ObjectMeta,
    /// Which clusters, in which state, and what to do.
    #[serde(deserialize_with = "nullable")]
    pub spec: RemedySpec,
}

/// Which clusters, in which state, and what to do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RemedySpec {
    /// The clusters that are watched. Absent means all of them.
    #[serde(skip_serializing_if = "absent")]
    pub cluster_affinity: Option<RemedyClusterAffinity>,
    /// The states that call for the actions; any one is enough. Empty means the actions are taken at once.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub decision_matches: Vec<DecisionMatch>,
    /// What to do, for example `TrafficControl`.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub actions: Vec<String>,
}

/// Chooses clusters by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RemedyClusterAffinity {
    /// Names of the clusters.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub cluster_names: Vec<String>,
}

/// One state that calls for action.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DecisionMatch {
    /// A condition of the cluster.
    #[serde(skip_serializing_if = "absent")]
    pub cluster_condition_match: Option<ClusterConditionRequirement>,
}

/// Asks for the status of one condition of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterConditionRequirement {
    /// Type of the condition, for example `ServiceDomainNameResolutionReady`.
    #[serde(default, deserialize_with = "nullable")]
    pub condition_type: String,
    /// How the status is compared.
    pub operator: ClusterConditionOperator,
    /// The status it is compared with: `True`, `False` or `Unknown`.
    #[serde(default, deserialize_with = "nullable")]
    pub condition_status: String,
}

/// How the status of a condition is compared.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum ClusterConditionOperator {
    /// The status is the one given.
    #[default]
    Equal,
    /// The status is another one.
    NotEqual,
}
