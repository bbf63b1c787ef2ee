//! What was found in a cluster.

use object::condition::{Condition, ConditionStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    kubernetes::ResourceList,
    well_known::conditions::cluster::COMPLETE_API_ENABLEMENTS,
    wire::{absent, nullable},
};

/// What was found in a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterStatus {
    /// Version of the cluster's API server, for example `v1.35.2`.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub kubernetes_version: String,
    /// The API resources the cluster serves.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub api_enablements: Vec<ApiEnablement>,
    /// What holds of the cluster now, for example `Ready`.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub conditions: Vec<Condition>,
    /// How many nodes there are.
    #[serde(skip_serializing_if = "absent")]
    pub node_summary: Option<NodeSummary>,
    /// How much room there is.
    #[serde(skip_serializing_if = "absent")]
    pub resource_summary: Option<ResourceSummary>,
    /// Remedies in force for the cluster, for example `TrafficControl`.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub remedy_actions: Vec<String>,
}

/// The resources of one group and version.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiEnablement {
    /// Group and version, for example `apps/v1`; `v1` for the core group.
    #[serde(deserialize_with = "nullable")]
    pub group_version: String,
    /// The resources, sorted by name.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub resources: Vec<ApiResource>,
}

/// One resource that a cluster serves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiResource {
    /// Plural name, as in URLs.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// Kind of its objects.
    #[serde(deserialize_with = "nullable")]
    pub kind: String,
}

/// How many nodes a cluster has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSummary {
    /// All nodes.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub total_num: i32,
    /// Nodes that are ready.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub ready_num: i32,
}

/// How much room a cluster has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceSummary {
    /// What the ready nodes offer to pods, added up by resource.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub allocatable: ResourceList,
    /// What pods request that have no node yet.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub allocating: ResourceList,
    /// What pods request that have a node.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub allocated: ResourceList,
    /// How many nodes fall into each grade of `spec.resourceModels`.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub allocatable_modelings: Vec<AllocatableModeling>,
}

/// How many nodes fall into one grade.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AllocatableModeling {
    /// Number of the grade.
    #[serde(deserialize_with = "nullable")]
    pub grade: u32,
    /// Nodes whose free resources lie in the grade's ranges.
    #[serde(deserialize_with = "nullable")]
    pub count: i32,
}

/// Whether a cluster serves a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiSupport {
    /// It does.
    Enabled,
    /// It does not: the list of its resources is complete and lacks the kind.
    Disabled,
    /// Nobody can say: the list lacks the kind, but is not known to be complete.
    Unknown,
}

impl ClusterStatus {
    /// Whether the cluster serves `kind` of `group_version`.
    pub fn supports(&self, group_version: &str, kind: &str) -> ApiSupport {
        let served = self
            .api_enablements
            .iter()
            .filter(|enablement| enablement.group_version == group_version)
            .any(|enablement| {
                enablement
                    .resources
                    .iter()
                    .any(|resource| resource.kind == kind)
            });
        if served {
            return ApiSupport::Enabled;
        }
        let complete = self.conditions.iter().any(|condition| {
            condition.r#type == COMPLETE_API_ENABLEMENTS
                && condition.status == ConditionStatus::True
        });
        if complete {
            ApiSupport::Disabled
        } else {
            ApiSupport::Unknown
        }
    }
}
