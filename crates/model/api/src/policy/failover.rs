//! What happens to a workload whose application, or whose cluster, is in trouble.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::{absent, nullable};

/// When and how a workload is moved away from trouble.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FailoverBehavior {
    /// Moves the workload when it is unhealthy although its cluster is fine. Absent means it stays. Needs
    /// `propagateDeps`, because a workload is of no use without what it refers to.
    #[serde(skip_serializing_if = "absent")]
    pub application: Option<ApplicationFailoverBehavior>,
    /// How the workload leaves a cluster that failed. Absent leaves the way of purging to the controller's setting.
    #[serde(skip_serializing_if = "absent")]
    pub cluster: Option<ClusterFailoverBehavior>,
}

/// When and how an unhealthy application is moved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ApplicationFailoverBehavior {
    /// What must be so before the application is moved.
    #[serde(deserialize_with = "nullable")]
    pub decision_conditions: DecisionConditions,
    /// What becomes of the copy on the old cluster.
    #[schemars(extend("x-karavel-default" = "Gracefully"))]
    #[schemars(extend("enum" = ["Directly", "Gracefully", "Never", "Immediately", "Graciously"]))]
    #[serde(skip_serializing_if = "absent")]
    pub purge_mode: Option<PurgeMode>,
    /// Longest time, in seconds, that the old copy is kept while the new one comes up. Above 0, and only with
    /// `Gracefully`, where absent becomes 600.
    #[serde(skip_serializing_if = "absent")]
    pub grace_period_seconds: Option<i32>,
    /// State of the old copy that is handed to the new one as labels. Needs the feature gate
    /// `StatefulFailoverInjection`.
    #[serde(skip_serializing_if = "absent")]
    pub state_preservation: Option<StatePreservation>,
}

/// How a workload leaves a cluster that failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterFailoverBehavior {
    /// What becomes of the copy on the failed cluster.
    #[schemars(extend("x-karavel-default" = "Gracefully"))]
    #[schemars(extend("enum" = ["Directly", "Gracefully"]))]
    #[serde(skip_serializing_if = "absent")]
    pub purge_mode: Option<PurgeMode>,
    /// State of the old copy that is handed to the new one as labels. Needs the feature gate
    /// `StatefulFailoverInjection`.
    #[serde(skip_serializing_if = "absent")]
    pub state_preservation: Option<StatePreservation>,
}

/// What must be so before an application is moved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DecisionConditions {
    /// For how many seconds the application must have been unhealthy; not negative.
    #[schemars(extend("x-karavel-default" = 300))]
    #[serde(skip_serializing_if = "absent")]
    pub toleration_seconds: Option<i32>,
}

/// State that outlives a move.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct StatePreservation {
    /// One rule for each value that is kept.
    #[serde(deserialize_with = "nullable")]
    pub rules: Vec<StatePreservationRule>,
}

/// Carries one value of the old copy's status over to a label of the new copy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct StatePreservationRule {
    /// Key of the label that the new copy gets.
    #[serde(deserialize_with = "nullable")]
    pub alias_label_name: String,
    /// Where the value is found, as a JSONPath that starts at `.status`, for example
    /// `{.jobStatus.jobID}`.
    #[serde(deserialize_with = "nullable")]
    pub json_path: String,
}

/// What becomes of a copy that a workload leaves behind.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum PurgeMode {
    /// Older name for `Directly`.
    Immediately,
    /// Removed at once, before the new copy is up. For applications of which two copies must never run.
    Directly,
    /// Older name for `Gracefully`.
    Graciously,
    /// Removed when the new copy is healthy or the grace period is over.
    Gracefully,
    /// Left for somebody to remove by hand.
    Never,
}

impl PurgeMode {
    /// The mode under its present name, for code that should not know the older ones.
    pub fn current(self) -> Self {
        match self {
            Self::Immediately | Self::Directly => Self::Directly,
            Self::Graciously | Self::Gracefully => Self::Gracefully,
            Self::Never => Self::Never,
        }
    }
}
