//! Reasons of events.

/// Events on a Cluster.
pub mod cluster {
    /// The execution space of the cluster was made.
    pub const CREATE_EXECUTION_SPACE_SUCCEED: &str = "CreateExecutionSpaceSucceed";
    /// The opposite of [`CREATE_EXECUTION_SPACE_SUCCEED`].
    pub const CREATE_EXECUTION_SPACE_FAILED: &str = "CreateExecutionSpaceFailed";
    /// The execution space of the cluster was removed.
    pub const REMOVE_EXECUTION_SPACE_SUCCEED: &str = "RemoveExecutionSpaceSucceed";
    /// The opposite of [`REMOVE_EXECUTION_SPACE_SUCCEED`].
    pub const REMOVE_EXECUTION_SPACE_FAILED: &str = "RemoveExecutionSpaceFailed";
    /// Taints of the cluster were changed.
    pub const TAINT_CLUSTER_SUCCEED: &str = "TaintClusterSucceed";
    /// The opposite of [`TAINT_CLUSTER_SUCCEED`].
    pub const TAINT_CLUSTER_FAILED: &str = "TaintClusterFailed";
    /// The rights of the impersonator were brought to the member.
    pub const SYNC_IMPERSONATION_CONFIG_SUCCEED: &str = "SyncImpersonationConfigSucceed";
    /// The opposite of [`SYNC_IMPERSONATION_CONFIG_SUCCEED`].
    pub const SYNC_IMPERSONATION_CONFIG_FAILED: &str = "SyncImpersonationConfigFailed";
}

/// Events on a Work.
pub mod work {
    /// The manifests were applied to the member; also on the object itself.
    pub const SYNC_SUCCEED: &str = "SyncSucceed";
    /// The opposite of [`SYNC_SUCCEED`].
    pub const SYNC_FAILED: &str = "SyncFailed";
    /// The status was read back from the member.
    pub const REFLECT_STATUS_SUCCEED: &str = "ReflectStatusSucceed";
    /// The opposite of [`REFLECT_STATUS_SUCCEED`].
    pub const REFLECT_STATUS_FAILED: &str = "ReflectStatusFailed";
    /// The health was read from the object.
    pub const INTERPRET_HEALTH_SUCCEED: &str = "InterpretHealthSucceed";
    /// The opposite of [`INTERPRET_HEALTH_SUCCEED`].
    pub const INTERPRET_HEALTH_FAILED: &str = "InterpretHealthFailed";
    /// Whether changes are being sent has changed.
    pub const WORK_DISPATCHING: &str = "WorkDispatching";
}

/// Events on a binding, most of them on its template too.
pub mod binding {
    /// The works of the binding were written.
    pub const SYNC_WORK_SUCCEED: &str = "SyncWorkSucceed";
    /// The opposite of [`SYNC_WORK_SUCCEED`].
    pub const SYNC_WORK_FAILED: &str = "SyncWorkFailed";
    /// The statuses of the works were folded into one.
    pub const AGGREGATE_STATUS_SUCCEED: &str = "AggregateStatusSucceed";
    /// The opposite of [`AGGREGATE_STATUS_SUCCEED`].
    pub const AGGREGATE_STATUS_FAILED: &str = "AggregateStatusFailed";
    /// Clusters were chosen.
    pub const SCHEDULE_BINDING_SUCCEED: &str = "ScheduleBindingSucceed";
    /// The opposite of [`SCHEDULE_BINDING_SUCCEED`].
    pub const SCHEDULE_BINDING_FAILED: &str = "ScheduleBindingFailed";
    /// Replicas were taken back from clusters that cannot run them.
    pub const DESCHEDULE_BINDING_SUCCEED: &str = "DescheduleBindingSucceed";
    /// The opposite of [`DESCHEDULE_BINDING_SUCCEED`].
    pub const DESCHEDULE_BINDING_FAILED: &str = "DescheduleBindingFailed";
    /// The workload was withdrawn from a cluster.
    pub const EVICT_WORKLOAD_FROM_CLUSTER_SUCCEED: &str = "EvictWorkloadFromClusterSucceed";
    /// The opposite of [`EVICT_WORKLOAD_FROM_CLUSTER_SUCCEED`].
    pub const EVICT_WORKLOAD_FROM_CLUSTER_FAILED: &str = "EvictWorkloadFromClusterFailed";
    /// The clusters were handed on to what the template refers to.
    pub const SYNC_SCHEDULE_RESULT_TO_DEPENDENCIES_SUCCEED: &str =
        "SyncScheduleResultToDependenciesSucceed";
    /// The opposite of [`SYNC_SCHEDULE_RESULT_TO_DEPENDENCIES_SUCCEED`].
    pub const SYNC_SCHEDULE_RESULT_TO_DEPENDENCIES_FAILED: &str =
        "SyncScheduleResultToDependenciesFailed";
    /// Works that are no longer wanted could not be removed.
    pub const CLEANUP_WORK_FAILED: &str = "CleanupWorkFailed";
    /// Something the template refers to is claimed by a policy that says otherwise.
    pub const DEPENDENCY_POLICY_CONFLICT: &str = "DependencyPolicyConflict";
}

/// Events on a template.
pub mod template {
    /// A policy claimed the template.
    pub const APPLY_POLICY_SUCCEED: &str = "ApplyPolicySucceed";
    /// The opposite of [`APPLY_POLICY_SUCCEED`].
    pub const APPLY_POLICY_FAILED: &str = "ApplyPolicyFailed";
    /// Override policies were applied.
    pub const APPLY_OVERRIDE_POLICY_SUCCEED: &str = "ApplyOverridePolicySucceed";
    /// The opposite of [`APPLY_OVERRIDE_POLICY_SUCCEED`].
    pub const APPLY_OVERRIDE_POLICY_FAILED: &str = "ApplyOverridePolicyFailed";
    /// What the template refers to was found out.
    pub const GET_DEPENDENCIES_SUCCEED: &str = "GetDependenciesSucceed";
    /// The opposite of [`GET_DEPENDENCIES_SUCCEED`].
    pub const GET_DEPENDENCIES_FAILED: &str = "GetDependenciesFailed";
    /// The components of the template were found out.
    pub const GET_COMPONENTS_SUCCEED: &str = "GetComponentsSucceed";
    /// The opposite of [`GET_COMPONENTS_SUCCEED`].
    pub const GET_COMPONENTS_FAILED: &str = "GetComponentsFailed";
    /// The replicas of the template were found out.
    pub const GET_REPLICAS_SUCCEED: &str = "GetReplicasSucceed";
    /// The opposite of [`GET_REPLICAS_SUCCEED`].
    pub const GET_REPLICAS_FAILED: &str = "GetReplicasFailed";
    /// A policy took the template over from another.
    pub const PREEMPT_POLICY_SUCCEED: &str = "PreemptPolicySucceed";
    /// The opposite of [`PREEMPT_POLICY_SUCCEED`].
    pub const PREEMPT_POLICY_FAILED: &str = "PreemptPolicyFailed";
    /// Clusters that have a Job go on with the completions they have.
    pub const COMPLETIONS_KEPT: &str = "CompletionsKept";
    /// Completions of a Job have no cluster left.
    pub const COMPLETIONS_MISSING: &str = "CompletionsMissing";
}

/// Events on a FederatedResourceQuota.
pub mod quota {
    /// The shares of the clusters were written.
    pub const SYNC_WORK_SUCCEED: &str = "SyncWorkSucceed";
    /// The opposite of [`SYNC_WORK_SUCCEED`].
    pub const SYNC_WORK_FAILED: &str = "SyncWorkFailed";
    /// The use of the clusters was folded into one.
    pub const AGGREGATE_STATUS_SUCCEED: &str = "AggregateStatusSucceed";
    /// The opposite of [`AGGREGATE_STATUS_SUCCEED`].
    pub const AGGREGATE_STATUS_FAILED: &str = "AggregateStatusFailed";
    /// The use over all clusters was added up.
    pub const COLLECT_OVERALL_STATUS_SUCCEED: &str = "CollectOverallStatusSucceed";
    /// The opposite of [`COLLECT_OVERALL_STATUS_SUCCEED`].
    pub const COLLECT_OVERALL_STATUS_FAILED: &str = "CollectOverallStatusFailed";
}

/// Events on a ServiceImport.
pub mod service_import {
    /// The service that stands for the imported one was written.
    pub const SYNC_DERIVED_SERVICE_SUCCEED: &str = "SyncDerivedServiceSucceed";
    /// The opposite of [`SYNC_DERIVED_SERVICE_SUCCEED`].
    pub const SYNC_DERIVED_SERVICE_FAILED: &str = "SyncDerivedServiceFailed";
}

/// Events on a MultiClusterService.
pub mod multi_cluster_service {
    /// The service was sent to the clusters.
    pub const SYNC_SERVICE_SUCCEED: &str = "SyncServiceSucceed";
    /// The opposite of [`SYNC_SERVICE_SUCCEED`].
    pub const SYNC_SERVICE_FAILED: &str = "SyncServiceFailed";
    /// Endpoints of providers were handed to consumers.
    pub const DISPATCH_ENDPOINT_SLICE_SUCCEED: &str = "DispatchEndpointSliceSucceed";
    /// The opposite of [`DISPATCH_ENDPOINT_SLICE_SUCCEED`].
    pub const DISPATCH_ENDPOINT_SLICE_FAILED: &str = "DispatchEndpointSliceFailed";
    /// A cluster in the spec does not exist.
    pub const CLUSTER_NOT_FOUND: &str = "ClusterNotFound";
    /// A cluster does not serve EndpointSlices.
    pub const API_INCOMPATIBLE: &str = "APIIncompatible";
}

/// Events on a FederatedHPA.
pub mod federated_hpa {
    /// The number of replicas was changed.
    pub const SUCCESSFUL_RESCALE: &str = "SuccessfulRescale";
    /// The number of replicas could not be changed.
    pub const FAILED_RESCALE: &str = "FailedRescale";
    /// The present number of replicas could not be read.
    pub const FAILED_GET_SCALE: &str = "FailedGetScale";
    /// The binding of the target could not be read.
    pub const FAILED_GET_BINDINGS: &str = "FailedGetBindings";
    /// The status could not be written.
    pub const FAILED_UPDATE_STATUS: &str = "FailedUpdateStatus";
    /// No number of replicas could be computed from the metrics.
    pub const FAILED_COMPUTE_METRICS_REPLICAS: &str = "FailedComputeMetricsReplicas";
    /// The target does not say which pods are its own.
    pub const SELECTOR_REQUIRED: &str = "SelectorRequired";
    /// What the target says about its pods cannot be parsed.
    pub const INVALID_SELECTOR: &str = "InvalidSelector";
    /// Several autoscalers claim the same pods.
    pub const AMBIGUOUS_SELECTOR: &str = "AmbiguousSelector";
}

/// Events on a CronFederatedHPA.
pub mod cron_federated_hpa {
    /// A rule could not scale its target.
    pub const SCALE_FAILED: &str = "ScaleFailed";
    /// The status could not be written.
    pub const UPDATE_STATUS_FAILED: &str = "UpdateStatusFailed";
    /// A rule could not be started.
    pub const START_RULE_FAILED: &str = "StartRuleFailed";
    /// The object could not be taken over after a change.
    pub const UPDATE_CRON_FEDERATED_HPA_FAILED: &str = "UpdateCronFederatedHPAFailed";
}
