//! OverridePolicy and ClusterOverridePolicy: how templates differ from cluster to cluster.

use object::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ClusterAffinity, Overriders, ResourceSelector};
use crate::{
    kind::{ApiVersion, KindName},
    schema::optional,
    wire::{absent, nullable},
};

/// Changes templates of its own namespace on their way to clusters. Acts after the ClusterOverridePolicies, so that
/// it has the last word.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OverridePolicy {
    /// The API version of this object.
    pub api_version: ApiVersion<Self>,
    /// The kind of this object.
    pub kind: KindName<Self>,
    /// Name, labels and other standard data of the object.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub metadata: ObjectMeta,
    /// Which templates are changed, for which clusters, and how.
    #[serde(deserialize_with = "nullable")]
    pub spec: OverrideSpec,
}

/// Changes templates of any namespace, and templates without one, on their way to clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterOverridePolicy {
    /// The API version of this object.
    pub api_version: ApiVersion<Self>,
    /// The kind of this object.
    pub kind: KindName<Self>,
    /// Name, labels and other standard data of the object.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub metadata: ObjectMeta,
    /// Which templates are changed, for which clusters, and how.
    #[serde(deserialize_with = "nullable")]
    pub spec: OverrideSpec,
}

/// Which templates are changed, for which clusters, and how.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OverrideSpec {
    /// The templates that are changed. Absent means all that the policy can see.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub resource_selectors: Vec<ResourceSelector>,
    /// The changes, each with the clusters it is for. They are applied in this order.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub override_rules: Vec<RuleWithCluster>,
    /// Earlier form: the clusters that `overriders` is for. Not together with `overrideRules`.
    #[serde(skip_serializing_if = "absent")]
    pub target_cluster: Option<ClusterAffinity>,
    /// Earlier form: changes for the clusters in `targetCluster`. Not together with `overrideRules`.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub overriders: Overriders,
}

/// Changes for a group of clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RuleWithCluster {
    /// The clusters the changes are for. Absent means all of them.
    #[serde(skip_serializing_if = "absent")]
    pub target_cluster: Option<ClusterAffinity>,
    /// The changes.
    #[serde(deserialize_with = "nullable")]
    pub overriders: Overriders,
}
