//! PropagationPolicy and ClusterPropagationPolicy: which templates go to which clusters.

use object::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FailoverBehavior, Placement, ResourceSelector};
use crate::{
    kind::{ApiVersion, KindName},
    schema::optional,
    wire::{absent, nullable},
};

/// Sends templates of its own namespace to clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PropagationPolicy {
    /// The API version of this object.
    pub api_version: ApiVersion<Self>,
    /// The kind of this object.
    pub kind: KindName<Self>,
    /// Name, labels and other standard data of the object.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub metadata: ObjectMeta,
    /// Which templates are meant, and where they should go.
    #[serde(deserialize_with = "nullable")]
    pub spec: PropagationSpec,
}

/// Sends templates of any namespace, and templates without one, to clusters. For a template that both kinds of
/// policy choose, the PropagationPolicy wins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterPropagationPolicy {
    /// The API version of this object.
    pub api_version: ApiVersion<Self>,
    /// The kind of this object.
    pub kind: KindName<Self>,
    /// Name, labels and other standard data of the object.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub metadata: ObjectMeta,
    /// Which templates are meant, and where they should go.
    #[serde(deserialize_with = "nullable")]
    pub spec: PropagationSpec,
}

/// Which templates are meant, and where they should go.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PropagationSpec {
    /// The templates this policy claims. A template belongs to the policy when any one of the selectors fits.
    #[schemars(length(min = 1))]
    #[serde(deserialize_with = "nullable")]
    pub resource_selectors: Vec<ResourceSelector>,
    /// Earlier form of `propagateDeps`; has no effect.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub association: bool,
    /// Whether what the templates refer to (ConfigMaps, Secrets, ServiceAccounts and so on) follows them to their
    /// clusters without being selected. Set automatically when a ServiceImport is selected.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub propagate_deps: bool,
    /// Where the templates should go. Empty means every cluster, with all replicas in each.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub placement: Placement,
    /// Decides between policies of the same scope that choose the same template: the greater number wins; among
    /// equals the more exact selector, then the name that sorts first.
    #[schemars(extend("x-karavel-default" = 0))]
    #[serde(skip_serializing_if = "absent")]
    pub priority: Option<i32>,
    /// Whether the policy may take over templates that a policy of lower priority has already claimed. `Always` needs
    /// a name in every selector, and the feature gate `PropagationPolicyPreemption`.
    #[schemars(extend("x-karavel-default" = "Never"))]
    #[serde(skip_serializing_if = "absent")]
    pub preemption: Option<PreemptionBehavior>,
    /// Names of override policies that must exist before the policy acts: OverridePolicies of the same namespace for
    /// a PropagationPolicy, ClusterOverridePolicies for a ClusterPropagationPolicy. Spares templates a first rollout
    /// without their overrides.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub dependent_overrides: Vec<String>,
    /// The scheduler that is responsible. Cannot be changed later.
    #[schemars(extend("x-karavel-default" = "default-scheduler"))]
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub scheduler_name: String,
    /// When and how a workload is moved away from trouble. Absent means it is not moved for its own failures.
    #[serde(skip_serializing_if = "absent")]
    pub failover: Option<FailoverBehavior>,
    /// What to do when the target cluster already has an object of that name that is not managed from here.
    #[schemars(extend("x-karavel-default" = "Abort"))]
    #[serde(skip_serializing_if = "absent")]
    pub conflict_resolution: Option<ConflictResolution>,
    /// When a change of this policy reaches templates that it already claims. Absent means at once.
    #[serde(skip_serializing_if = "absent")]
    pub activation_preference: Option<ActivationPreference>,
    /// Holds back what would otherwise be sent to clusters. Absent holds nothing back.
    #[serde(skip_serializing_if = "absent")]
    pub suspension: Option<Suspension>,
    /// Whether copies in clusters stay when the template is deleted. Deleting the policy never removes copies.
    #[serde(skip_serializing_if = "absent")]
    pub preserve_resources_on_deletion: Option<bool>,
    /// How urgently the scheduler should treat the templates. Needs the feature gate `PriorityBasedScheduling`.
    #[serde(skip_serializing_if = "absent")]
    pub schedule_priority: Option<SchedulePriority>,
}

/// Whether a policy may take templates over from another one.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum PreemptionBehavior {
    /// Takes over from policies of lower priority.
    Always,
    /// Leaves claimed templates alone.
    Never,
}

/// What to do about an object that is already in the cluster.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum ConflictResolution {
    /// Leave the object alone and report the conflict.
    Abort,
    /// Take the object over and write the template onto it.
    Overwrite,
}

/// When a change of policy takes effect.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum ActivationPreference {
    /// Only once the template itself changes.
    Lazy,
}

/// What is held back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Suspension {
    /// Holds back everything for all clusters. Not together with a list of clusters.
    #[serde(skip_serializing_if = "absent")]
    pub dispatching: Option<bool>,
    /// Holds back everything for the clusters named here.
    #[serde(skip_serializing_if = "absent")]
    pub dispatching_on_clusters: Option<SuspendClusters>,
}

crate::wire::inline_group!(Suspension {
    "dispatching" => dispatching,
    "dispatchingOnClusters" => dispatching_on_clusters,
});

/// The clusters for which dispatching is held back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SuspendClusters {
    /// Names of the clusters.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub cluster_names: Vec<String>,
}

/// Where the urgency of a workload is taken from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulePriority {
    /// The kind of priority class that is looked up.
    pub priority_class_source: PriorityClassSource,
    /// Name of the priority class. A class that does not exist keeps the workload from being scheduled.
    #[serde(default, deserialize_with = "nullable")]
    pub priority_class_name: String,
}

/// The kinds of priority class.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum PriorityClassSource {
    /// A PriorityClass of `scheduling.k8s.io/v1` in the control plane.
    #[default]
    KubePriorityClass,
}
