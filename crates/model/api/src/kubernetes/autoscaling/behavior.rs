//! How fast and how far scaling may go in each direction.

use object::quantity::Quantity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::{absent, nullable};

/// Which of several policies counts. The field is open text in the schemas.
pub mod scaling_policy_select {
    /// The policy that allows the greatest change.
    pub const MAX: &str = "Max";
    /// The policy that allows the smallest change.
    pub const MIN: &str = "Min";
    /// No scaling in this direction.
    pub const DISABLED: &str = "Disabled";
}

/// What a policy's value counts. The field is open text in the schemas.
pub mod scaling_policy_type {
    /// A number of pods.
    pub const PODS: &str = "Pods";
    /// A percentage of the present replicas.
    pub const PERCENT: &str = "Percent";
}

/// Limits on how quickly the number of replicas moves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HorizontalPodAutoscalerBehavior {
    /// Limits for adding replicas. Default: no waiting, and every 15 seconds the larger of 4 pods or a doubling.
    #[serde(skip_serializing_if = "absent")]
    pub scale_up: Option<HpaScalingRules>,
    /// Limits for taking replicas away. Default: down to the minimum, using the highest recommendation of the last
    /// 300 seconds.
    #[serde(skip_serializing_if = "absent")]
    pub scale_down: Option<HpaScalingRules>,
}

/// Limits in one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HpaScalingRules {
    /// How many seconds of past recommendations are weighed so that the number does not flap; 0 to 3600. Default: 0
    /// when scaling up, the controller's setting (300) when scaling down.
    #[serde(skip_serializing_if = "absent")]
    pub stabilization_window_seconds: Option<i32>,
    /// Which policy counts when there are several: `Max` (default), `Min` or `Disabled`.
    #[serde(skip_serializing_if = "absent")]
    pub select_policy: Option<String>,
    /// The limits themselves; at least one, otherwise the rules are rejected.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub policies: Vec<HpaScalingPolicy>,
    /// Relative difference between metric and target that is put up with before anything is scaled, for example
    /// `0.05` for five per cent.
    #[serde(skip_serializing_if = "absent")]
    pub tolerance: Option<Quantity>,
}

/// One limit: so much change within so many seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HpaScalingPolicy {
    /// What `value` counts: `Pods` or `Percent`.
    #[serde(deserialize_with = "nullable")]
    pub r#type: String,
    /// Greatest change that is allowed; above 0.
    #[serde(deserialize_with = "nullable")]
    pub value: i32,
    /// Time span the limit holds for, in seconds; 1 to 1800.
    #[serde(deserialize_with = "nullable")]
    pub period_seconds: i32,
}
