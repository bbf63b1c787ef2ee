//! How the replicas of a workload are shared among its clusters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ClusterAffinity;
use crate::wire::{absent, nullable};

/// How the replicas of a workload are shared among its clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplicaSchedulingStrategy {
    /// `Duplicated` gives every cluster all replicas, `Divided` shares them out.
    #[schemars(extend("x-karavel-default" = "Divided"))]
    #[serde(skip_serializing_if = "absent")]
    pub replica_scheduling_type: Option<ReplicaSchedulingType>,
    /// How replicas are divided; only read with `Divided`, where absent becomes `Weighted`.
    #[serde(skip_serializing_if = "absent")]
    pub replica_division_preference: Option<ReplicaDivisionPreference>,
    /// The weights for `Weighted`. Absent weighs all clusters alike.
    #[serde(skip_serializing_if = "absent")]
    pub weight_preference: Option<ClusterPreferences>,
}

/// Whether replicas are copied to every cluster or shared out.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum ReplicaSchedulingType {
    /// Every cluster gets the template's full number of replicas.
    Duplicated,
    /// The template's number of replicas is shared among the clusters.
    Divided,
}

/// How divided replicas are shared.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum ReplicaDivisionPreference {
    /// As few clusters as have room for all replicas.
    Aggregated,
    /// In proportion to weights.
    Weighted,
}

/// The weights that divided replicas follow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterPreferences {
    /// Fixed weights by cluster.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub static_weight_list: Vec<StaticClusterWeight>,
    /// Weights computed at each scheduling. Takes the place of the fixed ones when set.
    #[serde(skip_serializing_if = "absent")]
    pub dynamic_weight: Option<DynamicWeightFactor>,
}

/// One weight for a group of clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct StaticClusterWeight {
    /// The clusters that get this weight.
    #[serde(deserialize_with = "nullable")]
    pub target_cluster: ClusterAffinity,
    /// The weight of each of these clusters; a cluster that matches several entries has the greatest of their
    /// weights.
    #[schemars(range(min = 1))]
    #[serde(deserialize_with = "nullable")]
    pub weight: i64,
}

/// What dynamic weights are computed from.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum DynamicWeightFactor {
    /// The number of replicas that still fit into each cluster.
    AvailableReplicas,
}
