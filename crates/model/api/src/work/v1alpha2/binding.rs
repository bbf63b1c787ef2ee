//! ResourceBinding and ClusterResourceBinding: a template, what it needs, and the clusters it was given.

use object::{ObjectMeta, time::Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Component, GracefulEvictionTask, ReplicaRequirements, ResourceBindingStatus};
use crate::{
    kind::{ApiVersion, KindName},
    policy::{self, ConflictResolution, FailoverBehavior, Placement},
    schema::optional,
    wire::{absent, nullable, read_with_inline},
};

/// Ties a namespaced template to the clusters it goes to. Made by the control plane for every template that a policy
/// claims.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceBinding {
    /// The API version of this object.
    pub api_version: ApiVersion<Self>,
    /// The kind of this object.
    pub kind: KindName<Self>,
    /// Name, labels and other standard data of the object.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub metadata: ObjectMeta,
    /// The template, what it needs, and its clusters.
    #[serde(deserialize_with = "nullable")]
    pub spec: ResourceBindingSpec,
    /// What became of it.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub status: ResourceBindingStatus,
}

/// Ties a template without namespace to the clusters it goes to. Made by the control plane for every template that a
/// policy claims.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterResourceBinding {
    /// The API version of this object.
    pub api_version: ApiVersion<Self>,
    /// The kind of this object.
    pub kind: KindName<Self>,
    /// Name, labels and other standard data of the object.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub metadata: ObjectMeta,
    /// The template, what it needs, and its clusters.
    #[serde(deserialize_with = "nullable")]
    pub spec: ResourceBindingSpec,
    /// What became of it.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub status: ResourceBindingStatus,
}

/// A template, what it needs, and the clusters it was given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceBindingSpec {
    /// The template.
    #[serde(deserialize_with = "nullable")]
    pub resource: ObjectReference,
    /// Whether what the template refers to follows it; copied from the policy.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub propagate_deps: bool,
    /// What one replica needs. Absent for templates whose replicas need nothing that is known.
    #[serde(skip_serializing_if = "absent")]
    pub replica_requirements: Option<ReplicaRequirements>,
    /// Replicas the template asks for; 0 for kinds without replicas.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub replicas: i32,
    /// The parts of a template that has several kinds of pod, each with its own replicas. Needs the feature gate
    /// `MultiplePodTemplatesScheduling`.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub components: Vec<Component>,
    /// The clusters the scheduler chose, with their share of the replicas.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub clusters: Vec<TargetCluster>,
    /// Where the template may go; copied from the policy.
    #[serde(skip_serializing_if = "absent")]
    pub placement: Option<Placement>,
    /// Copies that are being withdrawn from clusters, each waiting for its replacement to become healthy.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub graceful_eviction_tasks: Vec<GracefulEvictionTask>,
    /// The bindings that need this one on their clusters, because their templates refer to this template.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub required_by: Vec<BindingSnapshot>,
    /// The scheduler that is responsible; copied from the policy.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub scheduler_name: String,
    /// When and how the workload is moved away from trouble; copied from the policy.
    #[serde(skip_serializing_if = "absent")]
    pub failover: Option<FailoverBehavior>,
    /// What to do about an object that is already in a cluster; copied from the policy.
    #[schemars(extend("x-karavel-default" = "Abort"))]
    #[serde(skip_serializing_if = "absent")]
    pub conflict_resolution: Option<ConflictResolution>,
    /// When somebody last asked for a fresh decision. Later than `status.lastScheduledTime` makes the scheduler
    /// forget the present clusters and choose anew.
    #[serde(skip_serializing_if = "absent")]
    pub reschedule_triggered_at: Option<Time>,
    /// What is held back.
    #[serde(skip_serializing_if = "absent")]
    pub suspension: Option<Suspension>,
    /// Whether copies in clusters stay when the template is deleted; copied from the policy.
    #[serde(skip_serializing_if = "absent")]
    pub preserve_resources_on_deletion: Option<bool>,
    /// How urgently the scheduler should treat the binding, looked up from the policy's priority class.
    #[serde(skip_serializing_if = "absent")]
    pub schedule_priority: Option<SchedulePriority>,
    /// The groups of workloads this one stays with, or apart from.
    #[serde(skip_serializing_if = "absent")]
    pub workload_affinity_groups: Option<WorkloadAffinityGroups>,
}

impl ResourceBindingSpec {
    /// Whether the template runs something: it has replicas, requirements or components.
    pub fn is_workload(&self) -> bool {
        self.replicas > 0 || self.replica_requirements.is_some() || !self.components.is_empty()
    }

    /// The share of the cluster called `name`, if the scheduler chose it.
    pub fn target(&self, name: &str) -> Option<&TargetCluster> {
        self.clusters.iter().find(|target| target.name == name)
    }
}

/// Names a template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectReference {
    /// API version of the template.
    #[serde(deserialize_with = "nullable")]
    pub api_version: String,
    /// Kind of the template.
    #[serde(deserialize_with = "nullable")]
    pub kind: String,
    /// Namespace of the template; empty for cluster-wide ones.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub namespace: String,
    /// Name of the template.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// UID of the template; tells it from a later one of the same name.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub uid: String,
    /// Version of the template that was last seen; opaque.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub resource_version: String,
}

/// A cluster and its share of the replicas.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TargetCluster {
    /// Name of the cluster.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// Replicas that go there; 0 for kinds without replicas.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub replicas: i32,
}

/// A binding that needs another one on its clusters, as it was last seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BindingSnapshot {
    /// Namespace of the binding; empty for cluster-wide ones.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub namespace: String,
    /// Name of the binding.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// The clusters of the binding.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub clusters: Vec<TargetCluster>,
}

/// What is held back of a binding.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Suspension {
    /// What the policy holds back.
    #[serde(flatten)]
    pub policy: policy::Suspension,
    /// Keeps the scheduler from choosing clusters. For outside admission queues, which release the binding when there
    /// is room for it.
    #[serde(skip_serializing_if = "absent")]
    pub scheduling: Option<bool>,
}

read_with_inline!(Suspension { "scheduling" => scheduling; policy });

/// How urgently the scheduler should treat a binding.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SchedulePriority {
    /// The priority as a number; the greater goes first.
    #[schemars(extend("x-karavel-default" = 0))]
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub priority: i32,
}

/// The groups a workload belongs to, each written as `<label key>=<label value>`. Never set on cluster-wide bindings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadAffinityGroups {
    /// The group whose clusters this workload seeks.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub affinity_group: String,
    /// The group whose clusters this workload avoids.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub anti_affinity_group: String,
}
