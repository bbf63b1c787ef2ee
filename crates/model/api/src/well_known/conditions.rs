//! Types of conditions and the reasons they are given.

/// Conditions of a Cluster.
pub mod cluster {
    /// Whether the cluster can take work.
    pub const READY: &str = "Ready";
    /// Reason of `Ready` True: the cluster answers and is healthy.
    pub const CLUSTER_READY: &str = "ClusterReady";
    /// Reason of `Ready` False: the cluster answers that it is unhealthy.
    pub const CLUSTER_NOT_READY: &str = "ClusterNotReady";
    /// Reason of `Ready` False: the cluster does not answer.
    pub const CLUSTER_NOT_REACHABLE: &str = "ClusterNotReachable";
    /// Reason of `Ready` False: the cluster answers, but its state could not be read.
    pub const STATUS_COLLECTION_FAILED: &str = "StatusCollectionFailed";
    /// Reason of `Ready` Unknown: whoever reports for the cluster has fallen silent.
    pub const CLUSTER_STATUS_UNKNOWN: &str = "ClusterStatusUnknown";
    /// Reason of `Ready` Unknown: nobody has reported for the cluster yet.
    pub const CLUSTER_STATUS_NEVER_UPDATED: &str = "ClusterStatusNeverUpdated";

    /// Whether the list of the cluster's API resources is whole.
    pub const COMPLETE_API_ENABLEMENTS: &str = "CompleteAPIEnablements";
    /// Reason of `CompleteAPIEnablements` True.
    pub const COMPLETE: &str = "Complete";
    /// Reason of `CompleteAPIEnablements` False: some groups could not be read.
    pub const PARTIAL: &str = "Partial";
    /// Reason of `CompleteAPIEnablements` False: no group could be read.
    pub const EMPTY: &str = "Empty";

    /// Whether names of services resolve inside the cluster.
    pub const SERVICE_DOMAIN_NAME_RESOLUTION_READY: &str = "ServiceDomainNameResolutionReady";
    /// Reason of `ServiceDomainNameResolutionReady` False. The reason of True is the type itself.
    pub const SERVICE_DOMAIN_NAME_RESOLUTION_FAILED: &str = "ServiceDomainNameResolutionFailed";
}

/// Conditions of a ResourceBinding or ClusterResourceBinding.
pub mod binding {
    /// Whether the scheduler found clusters.
    pub const SCHEDULED: &str = "Scheduled";
    /// Reason of `Scheduled`, `PolicyApplied` and `Rendered` True.
    pub const SUCCESS: &str = "Success";
    /// Reason of `Scheduled` False: clusters fit, but have too little room.
    pub const UNSCHEDULABLE: &str = "Unschedulable";
    /// Reason of `Scheduled` False: no cluster fits the placement.
    pub const NO_CLUSTER_FIT: &str = "NoClusterFit";
    /// Reason of `Scheduled` False: a FederatedResourceQuota is used up.
    pub const QUOTA_EXCEEDED: &str = "QuotaExceeded";
    /// Reason of `Scheduled` False: the scheduler itself failed.
    pub const SCHEDULER_ERROR: &str = "SchedulerError";

    /// Whether the binding says what its template and policy say now. Not there until it once did not.
    ///
    /// Upstream: there is no such condition; an event is all there is.
    pub const POLICY_APPLIED: &str = "PolicyApplied";
    /// Whether the template could be made into a work for every cluster. Not there until it once could not.
    ///
    /// Upstream: there is no such condition; an event is all there is.
    pub const RENDERED: &str = "Rendered";

    /// Whether all works of the binding are applied.
    pub const FULLY_APPLIED: &str = "FullyApplied";
    /// Reason of `FullyApplied` True.
    pub const FULLY_APPLIED_SUCCESS: &str = "FullyAppliedSuccess";
    /// Reason of `FullyApplied` False.
    pub const FULLY_APPLIED_FAILED: &str = "FullyAppliedFailed";
}

/// Conditions of a Work.
pub mod work {
    /// Whether the manifests are in the member as they should be.
    pub const APPLIED: &str = "Applied";
    /// Reason of `Applied` True.
    pub const APPLIED_SUCCESSFUL: &str = "AppliedSuccessful";
    /// Reason of `Applied` True where the member's definition of a kind lacks fields: the rest of the object is there.
    pub const APPLIED_PARTIALLY: &str = "AppliedPartially";
    /// Reason of `Applied` False.
    pub const APPLIED_FAILED: &str = "AppliedFailed";
    /// Reason of `Applied` True after somebody deleted the object in the member.
    pub const RECREATE_SUCCESSFUL: &str = "ReCreateSuccessful";
    /// Reason of `Applied` False after somebody deleted the object in the member.
    pub const RECREATE_FAILED: &str = "ReCreateFailed";

    /// Reason of `Applied` False: the member does not answer, and lacks what changed meanwhile. Not the reference's.
    pub const UNREACHED: &str = "ClusterUnreachable";
    /// Reason of `Applied` False: somebody in the member undoes it again and again. Not the reference's.
    pub const CONTESTED: &str = "Contested";

    /// Whether changes are being sent. The reason of True is the type itself.
    pub const DISPATCHING: &str = "Dispatching";
    /// Reason of `Dispatching` False: it is suspended.
    pub const SUSPEND_DISPATCHING: &str = "SuspendDispatching";

    /// Reserved; never set.
    pub const PROGRESSING: &str = "Progressing";
    /// Reserved; never set.
    pub const AVAILABLE: &str = "Available";
    /// Reserved; never set.
    pub const DEGRADED: &str = "Degraded";
}

/// Conditions of a MultiClusterService.
pub mod multi_cluster_service {
    /// Whether the service is in the clusters that need it.
    pub const SERVICE_APPLIED: &str = "ServiceApplied";
    /// Reason of `ServiceApplied` True.
    pub const SERVICE_APPLIED_SUCCEED: &str = "ServiceAppliedSucceed";
    /// Reason of `ServiceApplied` False.
    pub const SERVICE_APPLIED_FAILED: &str = "ServiceAppliedFailed";

    /// Whether consumers know the endpoints of providers.
    pub const ENDPOINT_SLICE_DISPATCHED: &str = "EndpointSliceDispatched";
    /// Reason of `EndpointSliceDispatched` True.
    pub const ENDPOINT_SLICE_DISPATCHED_SUCCEED: &str = "EndpointSliceDispatchedSucceed";
    /// Reason of `EndpointSliceDispatched` False.
    pub const ENDPOINT_SLICE_DISPATCHED_FAILED: &str = "EndpointSliceDispatchedFailed";
}

/// Conditions of a ServiceExport.
pub mod service_export {
    /// Whether the service can be offered.
    pub const VALID: &str = "Valid";
    /// Whether offers of several clusters contradict each other.
    pub const CONFLICT: &str = "Conflict";
}

/// Conditions of a FederatedHPA, beside those of Kubernetes' own autoscaler.
pub mod federated_hpa {
    /// Whether the target can be scaled.
    pub const ABLE_TO_SCALE: &str = "AbleToScale";
    /// Whether the metrics can be read.
    pub const SCALING_ACTIVE: &str = "ScalingActive";
    /// Whether a bound keeps the number from going where the metrics ask.
    pub const SCALING_LIMITED: &str = "ScalingLimited";
    /// Reason of `AbleToScale` False: the target's reference cannot be read.
    pub const FAILED_GET_SCALE_TARGET_REF: &str = "FailedGetScaleTargetRef";
    /// Reason of `AbleToScale` False: the target has no binding.
    pub const FAILED_GET_BINDING: &str = "FailedGetBinding";
    /// Reason of `AbleToScale` False: the target is in no cluster.
    pub const FAILED_GET_TARGET_CLUSTERS: &str = "FailedGetTargetClusters";
}
