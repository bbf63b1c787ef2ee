//! How members are watched and what becomes of workloads when one is in trouble.

use clap::{ArgAction, Args, ValueEnum};

/// How members are watched and what becomes of workloads in trouble, by the names the reference has for it.
#[derive(Args, Debug)]
#[command(next_help_heading = "Members")]
pub(crate) struct Care {
    /// How often members are asked whether they are well.
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub(crate) cluster_status_update_frequency: String,
    /// How long a member must be well before it counts as ready again.
    #[arg(long, value_name = "DURATION", default_value = "30s")]
    pub(crate) cluster_success_threshold: String,
    /// How long a member must be unwell before it no longer counts as ready.
    #[arg(long, value_name = "DURATION", default_value = "30s")]
    pub(crate) cluster_failure_threshold: String,
    /// How often members in pull mode are looked for; taken for compatibility, silence is noticed when its time is up.
    #[arg(long, value_name = "DURATION", default_value = "5s", hide = true)]
    pub(crate) cluster_monitor_period: String,
    /// How long such a member may give no sign of life.
    #[arg(long, value_name = "DURATION", default_value = "40s")]
    pub(crate) cluster_monitor_grace_period: String,
    /// The same, for one that has not given any yet.
    #[arg(long, value_name = "DURATION", default_value = "60s")]
    pub(crate) cluster_startup_grace_period: String,
    /// Count the nodes and pods of members.
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true")]
    pub(crate) enable_cluster_resource_modeling: bool,
    /// How many works of one member are brought to it at once.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) concurrent_work_syncs: u16,
    /// Namespaces that stay in the control plane with all that is in them: regular expressions of whole names.
    #[arg(
        long,
        value_name = "EXPRESSIONS",
        value_delimiter = ',',
        default_value = "kube-.*"
    )]
    pub(crate) skipped_propagating_namespaces: Vec<String>,
    /// Kinds that are never templates: groups, group/version, or group/version/Kind,Kind, separated by semicolons.
    #[arg(long, value_name = "APIS", default_value = "")]
    pub(crate) skipped_propagating_apis: String,
    #[command(flatten)]
    pub(crate) eviction: Eviction,
}

/// How workloads leave members.
#[derive(Args, Debug)]
pub(crate) struct Eviction {
    /// Let taints with the effect NoExecute be looked at. Needs the feature gate Failover.
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true")]
    pub(crate) enable_taint_manager: bool,
    /// Let taints with the effect NoExecute drive workloads away. Needs the feature gate Failover.
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) enable_no_execute_taint_eviction: bool,
    /// How workloads leave a tainted member if their policy does not say.
    #[arg(long, value_name = "MODE", default_value = "Gracefully")]
    pub(crate) no_execute_taint_eviction_purge_mode: PurgeMode,
    /// Let ClusterTaintPolicies put taints with the effect NoExecute on clusters.
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) allow_no_execute_taint_policy: bool,
    /// How many workloads a second each worker takes off tainted members; 0 takes off next to none.
    #[arg(long, value_name = "RATE", default_value_t = 0.5)]
    pub(crate) resource_eviction_rate: f64,
    /// How long a copy stays on a member it leaves while its replacement is not healthy.
    #[arg(long, value_name = "DURATION", default_value = "10m")]
    pub(crate) graceful_eviction_timeout: String,
}

/// How workloads leave a tainted member.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "verbatim")]
pub(crate) enum PurgeMode {
    /// Once the replacement is healthy.
    Gracefully,
    /// At once.
    Directly,
}
