//! ClusterTaintPolicy: which conditions of a cluster put taints on it or take them off.

use object::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ClusterAffinity;
use crate::{
    kind::{ApiVersion, KindName},
    schema::optional,
    wire::{absent, nullable},
};

/// How a [`MatchCondition`] compares a status. The field is open text in the schema.
pub mod match_operator {
    /// The status is one of those listed.
    pub const IN: &str = "In";
    /// The status is none of those listed.
    pub const NOT_IN: &str = "NotIn";
}

/// Puts taints on clusters, and takes them off, as the conditions of the clusters change. Taints stay when the policy
/// is deleted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterTaintPolicy {
    /// The API version of this object.
    pub api_version: ApiVersion<Self>,
    /// The kind of this object.
    pub kind: KindName<Self>,
    /// Name, labels and other standard data of the object.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub metadata: ObjectMeta,
    /// Which clusters, which conditions, which taints.
    #[serde(deserialize_with = "nullable")]
    pub spec: ClusterTaintPolicySpec,
}

/// Which clusters, which conditions, which taints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterTaintPolicySpec {
    /// The clusters the policy is for. Absent means all of them.
    #[serde(skip_serializing_if = "absent")]
    pub target_clusters: Option<ClusterAffinity>,
    /// When all of these hold, the taints are put on. Empty means they are never put on.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub add_on_conditions: Vec<MatchCondition>,
    /// When all of these hold, the taints are taken off. Empty means they are never taken off.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub remove_on_conditions: Vec<MatchCondition>,
    /// The taints. `NoExecute` is refused unless the server allows it. Each key and effect may occur once.
    #[schemars(length(min = 1))]
    #[serde(deserialize_with = "nullable")]
    pub taints: Vec<PolicyTaint>,
}

/// Asks for the status of one condition of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MatchCondition {
    /// Type of the condition, for example `Ready`.
    #[serde(deserialize_with = "nullable")]
    pub condition_type: String,
    /// `In` or `NotIn`.
    #[serde(deserialize_with = "nullable")]
    pub operator: String,
    /// The statuses it is compared with: `True`, `False`, `Unknown`.
    #[serde(deserialize_with = "nullable")]
    pub status_values: Vec<String>,
}

/// A taint as a policy writes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicyTaint {
    /// Key of the taint.
    #[serde(deserialize_with = "nullable")]
    pub key: String,
    /// Effect of the taint: `NoSchedule` or `NoExecute`.
    #[serde(deserialize_with = "nullable")]
    pub effect: String,
    /// Value of the taint; may be empty.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub value: String,
}
