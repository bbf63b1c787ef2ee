//! Which clusters are meant.

use object::selector::LabelSelector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    kubernetes::scheduling::NodeSelectorRequirement,
    wire::{absent, inline_group, nullable, read_with_inline},
};

/// Keys that a [`FieldSelector`] may ask for.
pub mod cluster_field {
    /// `spec.provider` of the cluster.
    pub const PROVIDER: &str = "provider";
    /// `spec.region` of the cluster.
    pub const REGION: &str = "region";
    /// `spec.zones` of the cluster.
    pub const ZONE: &str = "zone";
}

/// Chooses clusters. All parts that are given must hold together; an empty affinity chooses every cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterAffinity {
    /// Labels the cluster must carry.
    #[serde(skip_serializing_if = "absent")]
    pub label_selector: Option<LabelSelector>,
    /// Conditions on the provider, region and zones of the cluster.
    #[serde(skip_serializing_if = "absent")]
    pub field_selector: Option<FieldSelector>,
    /// Names of the clusters that are meant. Empty means any name.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub cluster_names: Vec<String>,
    /// Names of clusters that are left out, whatever else holds.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub exclude: Vec<String>,
}

inline_group!(ClusterAffinity {
    "labelSelector" => label_selector,
    "fieldSelector" => field_selector,
    "clusterNames" => cluster_names,
    "exclude" => exclude,
});

/// Chooses clusters by their fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FieldSelector {
    /// Requirements that must all hold. Keys are `provider`, `region` and `zone`, operators `In` and `NotIn`.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub match_expressions: Vec<NodeSelectorRequirement>,
}

/// One of several groups of clusters, tried in the order they are written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterAffinityTerm {
    /// Name of the group, unique within the placement, shaped like a label key. The binding's status says by this
    /// name which group was used.
    #[schemars(length(min = 1, max = 32))]
    pub affinity_name: String,
    /// The clusters of the group.
    #[serde(flatten)]
    pub affinity: ClusterAffinity,
    /// Further clusters, tier by tier, that take replicas once the clusters above are full. Needs a non-empty
    /// affinity above, and division of replicas by `Aggregated` or by a dynamic weight.
    #[serde(skip_serializing_if = "absent")]
    pub overflow_affinities: Vec<OverflowClusterAffinity>,
}

read_with_inline!(ClusterAffinityTerm {
    "affinityName" => affinity_name,
    "overflowAffinities" => overflow_affinities;
    affinity
});

/// A further tier of clusters for replicas that found no room before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OverflowClusterAffinity {
    /// Name of the tier, unique within the group and different from the group's own name.
    #[schemars(length(min = 1, max = 32))]
    pub affinity_name: String,
    /// The clusters of the tier.
    #[serde(flatten)]
    pub affinity: ClusterAffinity,
}

read_with_inline!(OverflowClusterAffinity {
    "affinityName" => affinity_name;
    affinity
});

impl ClusterAffinity {
    /// Whether nothing is asked for, so that every cluster is meant.
    pub fn is_empty(&self) -> bool {
        absent(self)
    }
}
