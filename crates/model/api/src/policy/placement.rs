//! Where the scheduler may put a workload.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ClusterAffinity, ClusterAffinityTerm, ReplicaSchedulingStrategy};
use crate::{
    kubernetes::scheduling::Toleration,
    schema::plain_integer,
    wire::{absent, nullable},
};

/// Where the scheduler may put a workload, and how its replicas are shared out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Placement {
    /// Which clusters may be used. Not together with `clusterAffinities`. Both absent means every cluster.
    #[serde(skip_serializing_if = "absent")]
    pub cluster_affinity: Option<ClusterAffinity>,
    /// Groups of clusters, tried in this order until one of them satisfies the placement. Not together with
    /// `clusterAffinity`.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub cluster_affinities: Vec<ClusterAffinityTerm>,
    /// Taints of clusters that the workload puts up with.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub cluster_tolerations: Vec<Toleration>,
    /// How the workload is spread over failure domains. With any constraint by field there must also be one by
    /// `cluster`.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub spread_constraints: Vec<SpreadConstraint>,
    /// How replicas are shared out. Absent means `Duplicated`: every cluster gets all of them.
    #[serde(skip_serializing_if = "absent")]
    pub replica_scheduling: Option<ReplicaSchedulingStrategy>,
    /// Keeps workloads of one group together, or apart. Needs the feature gate `WorkloadAffinity`.
    #[serde(skip_serializing_if = "absent")]
    pub workload_affinity: Option<WorkloadAffinity>,
}

/// Spreads a workload over groups of clusters that share a field or a label.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SpreadConstraint {
    /// The field that clusters are grouped by. Not together with `spreadByLabel`. When both are empty, `cluster` is
    /// filled in.
    #[serde(skip_serializing_if = "absent")]
    pub spread_by_field: Option<SpreadField>,
    /// The label that clusters are grouped by. Not together with `spreadByField`.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub spread_by_label: String,
    /// Most groups to use. Must not be below `minGroups`. There is no value for "no limit": 0, which is also what an
    /// absent field means, lets nothing be chosen.
    #[schemars(transform = plain_integer)]
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub max_groups: i64,
    /// Fewest groups to use. 0 is turned into 1.
    #[schemars(transform = plain_integer)]
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub min_groups: i64,
}

/// A field of a cluster that workloads can be spread over.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum SpreadField {
    /// Each cluster by itself.
    Cluster,
    /// Clusters of one region together.
    Region,
    /// Clusters of one zone together.
    Zone,
    /// Clusters of one provider together.
    Provider,
}

/// Relations between workloads that share the value of a label.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadAffinity {
    /// Puts workloads of the group on the clusters where the group already runs.
    #[serde(skip_serializing_if = "absent")]
    pub affinity: Option<WorkloadAffinityTerm>,
    /// Puts workloads of the group on different clusters.
    #[serde(skip_serializing_if = "absent")]
    pub anti_affinity: Option<WorkloadAffinityTerm>,
}

/// Says which workloads form a group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadAffinityTerm {
    /// Key of the label on the template whose value names the group, for example `app.group`. A template without the
    /// label belongs to no group. Affinity and anti-affinity must use different keys.
    #[serde(deserialize_with = "nullable")]
    pub group_by_label_key: String,
}
