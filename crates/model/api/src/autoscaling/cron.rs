//! CronFederatedHPA: scaling by the clock.

use object::{ObjectMeta, time::Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    kind::{ApiVersion, KindName},
    kubernetes::autoscaling::CrossVersionObjectReference,
    schema::optional,
    wire::{absent, nullable},
};

/// Scales a workload, or moves the bounds of a FederatedHPA, at set times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CronFederatedHPA {
    /// The API version of this object.
    pub api_version: ApiVersion<Self>,
    /// The kind of this object.
    pub kind: KindName<Self>,
    /// Name, labels and other standard data of the object.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub metadata: ObjectMeta,
    /// What is scaled, and when.
    #[serde(deserialize_with = "nullable")]
    pub spec: CronFederatedHPASpec,
    /// What was done so far.
    #[serde(deserialize_with = "nullable")]
    #[schemars(transform = optional)]
    pub status: CronFederatedHPAStatus,
}

/// What is scaled, and when.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CronFederatedHPASpec {
    /// The FederatedHPA whose bounds are moved, or the template that is scaled.
    #[serde(deserialize_with = "nullable")]
    pub scale_target_ref: CrossVersionObjectReference,
    /// The times and what happens then.
    #[serde(deserialize_with = "nullable")]
    pub rules: Vec<CronFederatedHPARule>,
}

/// One time, and what happens then.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CronFederatedHPARule {
    /// Name of the rule, unique within the object.
    #[schemars(length(min = 1, max = 32))]
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// When the rule acts, as a cron expression of five fields, for example `0 8 * * 1-5`, or a shorthand such as
    /// `@daily`.
    #[serde(deserialize_with = "nullable")]
    pub schedule: String,
    /// Replicas to set; required, and not negative, unless the target is a FederatedHPA.
    #[serde(skip_serializing_if = "absent")]
    pub target_replicas: Option<i32>,
    /// Lower bound to set on a FederatedHPA; above 0. At least one of the two bounds is required there.
    #[serde(skip_serializing_if = "absent")]
    pub target_min_replicas: Option<i32>,
    /// Upper bound to set on a FederatedHPA; not below the lower one.
    #[serde(skip_serializing_if = "absent")]
    pub target_max_replicas: Option<i32>,
    /// Whether the rule rests.
    #[schemars(extend("x-karavel-default" = false))]
    #[serde(skip_serializing_if = "absent")]
    pub suspend: Option<bool>,
    /// Name of the time zone the schedule is read in, for example `Europe/Berlin`. Default, and what `Local` means: UTC.
    #[serde(skip_serializing_if = "absent")]
    pub time_zone: Option<String>,
    /// How many successful runs are kept in the status.
    #[schemars(range(min = 1, max = 32))]
    #[schemars(extend("x-karavel-default" = 3))]
    #[serde(skip_serializing_if = "absent")]
    pub successful_history_limit: Option<i32>,
    /// How many failed runs are kept in the status.
    #[schemars(range(min = 0, max = 32))]
    #[schemars(extend("x-karavel-default" = 3))]
    #[serde(skip_serializing_if = "absent")]
    pub failed_history_limit: Option<i32>,
}

/// What was done so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CronFederatedHPAStatus {
    /// One entry for each rule.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub execution_histories: Vec<ExecutionHistory>,
}

/// The runs of one rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ExecutionHistory {
    /// Name of the rule.
    #[serde(deserialize_with = "nullable")]
    pub rule_name: String,
    /// When the rule acts next. Absent for a rule that rests.
    #[serde(skip_serializing_if = "absent")]
    pub next_execution_time: Option<Time>,
    /// Runs that succeeded, the latest first.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub successful_executions: Vec<SuccessfulExecution>,
    /// Runs that failed, the latest first.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub failed_executions: Vec<FailedExecution>,
}

/// One run that succeeded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SuccessfulExecution {
    /// When the rule was to act.
    pub schedule_time: Option<Time>,
    /// When it did.
    pub execution_time: Option<Time>,
    /// Replicas that were set.
    #[serde(skip_serializing_if = "absent")]
    pub applied_replicas: Option<i32>,
    /// Upper bound that was set.
    #[serde(skip_serializing_if = "absent")]
    pub applied_max_replicas: Option<i32>,
    /// Lower bound that was set.
    #[serde(skip_serializing_if = "absent")]
    pub applied_min_replicas: Option<i32>,
}

/// One run that failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FailedExecution {
    /// When the rule was to act.
    pub schedule_time: Option<Time>,
    /// When it tried.
    pub execution_time: Option<Time>,
    /// What went wrong, for people.
    #[serde(deserialize_with = "nullable")]
    pub message: String,
}
