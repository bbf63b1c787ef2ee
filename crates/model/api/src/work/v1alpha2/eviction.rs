//! Copies on their way out of a cluster.

use std::collections::BTreeMap;

use object::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    policy::PurgeMode,
    wire::{absent, nullable},
};

/// Why a copy is evicted. The field is open text of a fixed shape.
pub mod eviction_reason {
    /// The cluster has a taint that the workload does not tolerate.
    pub const TAINT_UNTOLERATED: &str = "TaintUntolerated";
    /// The application was unhealthy for longer than its policy allows.
    pub const APPLICATION_FAILURE: &str = "ApplicationFailure";
}

/// Who evicts a copy. The field is open text.
pub mod eviction_producer {
    /// Evicts from clusters with `NoExecute` taints.
    pub const TAINT_MANAGER: &str = "TaintManager";
    /// Moves unhealthy namespaced applications.
    pub const RESOURCE_BINDING_APPLICATION_FAILOVER: &str =
        "resource-binding-application-failover-controller";
    /// Moves unhealthy cluster-wide applications.
    pub const CLUSTER_RESOURCE_BINDING_APPLICATION_FAILOVER: &str =
        "cluster-resource-binding-application-failover-controller";
}

/// Withdraws the copy in one cluster, once its replacement is healthy or time is up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GracefulEvictionTask {
    /// The cluster the copy leaves. At most one task for each cluster.
    #[serde(deserialize_with = "nullable")]
    pub from_cluster: String,
    /// What becomes of the copy.
    #[schemars(extend("enum" = ["Immediately", "Directly", "Graciously", "Gracefully", "Never"]))]
    #[serde(skip_serializing_if = "absent")]
    pub purge_mode: Option<PurgeMode>,
    /// Replicas the copy had. Absent for kinds without replicas.
    #[serde(skip_serializing_if = "absent")]
    pub replicas: Option<i32>,
    /// Why the copy leaves, in one CamelCase word.
    #[schemars(length(min = 1, max = 32))]
    #[schemars(extend("pattern" = crate::schema::REASON_PATTERN))]
    #[serde(deserialize_with = "nullable")]
    pub reason: String,
    /// Why the copy leaves, for people.
    #[schemars(length(max = 1024))]
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub message: String,
    /// Who decided it.
    #[serde(deserialize_with = "nullable")]
    pub producer: String,
    /// Longest time, in seconds, to wait for the replacement. Absent leaves it to the controller's setting. Not
    /// together with `suppressDeletion`.
    #[serde(skip_serializing_if = "absent")]
    pub grace_period_seconds: Option<i32>,
    /// Keeps the copy until somebody sets this to false: `true` waits, `false` removes at once. Not together with
    /// `gracePeriodSeconds`.
    #[serde(skip_serializing_if = "absent")]
    pub suppress_deletion: Option<bool>,
    /// State of the copy that its replacement gets as labels.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub preserved_label_state: BTreeMap<String, String>,
    /// When the task was first seen by the eviction controller, which fills it in; waiting counts from here.
    #[serde(skip_serializing_if = "absent")]
    pub creation_timestamp: Option<Time>,
    /// The clusters of the binding before the move, to tell a replacement from a copy that was there before.
    #[serde(skip_serializing_if = "absent", deserialize_with = "nullable")]
    pub clusters_before_failover: Vec<String>,
}
