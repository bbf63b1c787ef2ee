//! What the replicas of a template need from a cluster.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    kubernetes::{
        ResourceList,
        scheduling::{NodeSelector, Toleration},
    },
    wire::{absent, nullable},
};

/// What one replica needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplicaRequirements {
    /// Which nodes it can run on.
    #[serde(skip_serializing_if = "absent")]
    pub node_claim: Option<NodeClaim>,
    /// The resources it requests, by name.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub resource_request: ResourceList,
    /// Namespace it runs in, for estimates that heed quotas. Needs the feature gate `ResourceQuotaEstimate`.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub namespace: String,
    /// Its priority class, for estimates that heed quotas. Needs the feature gate `ResourceQuotaEstimate`.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub priority_class_name: String,
}

/// One kind of pod within a template, with its own replicas.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Component {
    /// Name of the component, unique within the binding and not empty.
    #[schemars(length(max = 32))]
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// Replicas of this component.
    #[serde(deserialize_with = "nullable")]
    pub replicas: i32,
    /// What one of its replicas needs.
    #[serde(skip_serializing_if = "absent")]
    pub replica_requirements: Option<ComponentReplicaRequirements>,
}

/// What one replica of a component needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ComponentReplicaRequirements {
    /// Which nodes it can run on.
    #[serde(skip_serializing_if = "absent")]
    pub node_claim: Option<NodeClaim>,
    /// The resources it requests, by name.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub resource_request: ResourceList,
    /// Its priority class.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub priority_class_name: String,
}

/// Which nodes a replica can run on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeClaim {
    /// The required node affinity of the pod; preferences are not carried over.
    #[serde(skip_serializing_if = "absent")]
    pub hard_node_affinity: Option<NodeSelector>,
    /// Labels a node must carry.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub node_selector: BTreeMap<String, String>,
    /// Taints of nodes that the pod puts up with.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub tolerations: Vec<Toleration>,
}
