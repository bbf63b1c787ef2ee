//! The names of everything that is counted or measured, with what Prometheus is told about each.

/// Everything that can be counted or measured. Names that Kubernetes has are Kubernetes'.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Requests answered.
    ApiserverRequestTotal,
    /// How long answers took.
    ApiserverRequestDurationSeconds,
    /// Requests being answered now, watches apart.
    ApiserverCurrentInflightRequests,
    /// Watches and other requests without an end of their own that are open now.
    ApiserverLongrunningRequests,
    /// Objects kept, by resource.
    ApiserverStorageObjects,
    /// Reconciliations finished, by controller and result.
    ControllerReconcileTotal,
    /// Reconciliations that failed, by controller.
    ControllerReconcileErrorsTotal,
    /// Reconciliations that will not be tried again until something changes, by controller.
    ControllerTerminalErrorsTotal,
    /// Reconciliations that panicked, by controller.
    ControllerReconcilePanicsTotal,
    /// How long reconciliations took, by controller.
    ControllerReconcileTimeSeconds,
    /// How many keys a controller looks at at once.
    ControllerMaxConcurrentReconciles,
    /// How many keys a controller looks at now.
    ControllerActiveWorkers,
    /// Keys that wait, by controller.
    WorkqueueDepth,
    /// Keys put into queues, by controller.
    WorkqueueAddsTotal,
    /// Keys put into queues because they had failed, by controller.
    WorkqueueRetriesTotal,
    /// How long keys waited for a worker, by controller.
    WorkqueueQueueDurationSeconds,
    /// How long workers had keys in hand, by controller.
    WorkqueueWorkDurationSeconds,
    /// Whether this process is the one of several that acts, by Lease.
    LeaderElectionMasterStatus,
    /// Whether a member is ready.
    ClusterReadyState,
    /// Nodes of a member.
    ClusterNodeNumber,
    /// Ready nodes of a member.
    ClusterReadyNodeNumber,
    /// What the nodes of a member offer.
    ClusterMemoryAllocatableBytes,
    /// What the nodes of a member offer.
    ClusterCpuAllocatableNumber,
    /// What the nodes of a member offer.
    ClusterPodAllocatableNumber,
    /// What the pods of a member have asked for and got.
    ClusterMemoryAllocatedBytes,
    /// What the pods of a member have asked for and got.
    ClusterCpuAllocatedNumber,
    /// Pods of a member that have a node.
    ClusterPodAllocatedNumber,
    /// How long a look at a member took.
    ClusterSyncStatusDurationSeconds,
    /// How long it took to find the policy of a template.
    ResourceMatchPolicyDurationSeconds,
    /// How long it took to do what a template's policy says.
    ResourceApplyPolicyDurationSeconds,
    /// How often a policy was brought to bear on a template.
    PolicyApplyAttemptsTotal,
    /// How often a policy took a template over from another.
    PolicyPreemptionTotal,
    /// How long the works of a binding took.
    BindingSyncWorkDurationSeconds,
    /// How long it took to bring a work to its member.
    WorkSyncWorkloadDurationSeconds,
    /// Objects made in members.
    CreateResourceToCluster,
    /// Objects changed in members.
    UpdateResourceToCluster,
    /// Objects deleted from members.
    DeleteResourceFromCluster,
    /// Bindings that wait to leave a tainted cluster.
    EvictionQueueDepth,
    /// The same by cluster and kind of binding.
    EvictionKindTotal,
    /// How long it took to take a binding off a cluster.
    EvictionProcessingLatencySeconds,
    /// How often a binding was looked at to be taken off a cluster.
    EvictionProcessingTotal,
    /// Machines that were taken to run a script, by where they came from.
    PoolGetOperationTotal,
    /// Machines that were given back, by where they went.
    PoolPutOperationTotal,
    /// What is running: always 1, the rest is in the labels.
    KarmadaBuildInfo,
    /// Writes that plans asked for, by action and result.
    ControlActionsTotal,
    /// Scheduling attempts, by result.
    SchedulerAttemptsTotal,
    /// How long scheduling took from the queue to the decision.
    SchedulerDurationSeconds,
    /// Time the process has computed.
    ProcessCpuSecondsTotal,
    /// Memory the process holds.
    ProcessResidentMemoryBytes,
    /// Memory the process has reserved.
    ProcessVirtualMemoryBytes,
    /// Files and connections the process has open.
    ProcessOpenFds,
    /// How many it may have open.
    ProcessMaxFds,
    /// When the process was started, in seconds since 1970.
    ProcessStartTimeSeconds,
}

/// How figures of a metric behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts how often a figure was below each of a list of bounds.
    Histogram,
}

/// Kubernetes' bounds for the time a request takes, in seconds.
const BOUNDS: [f64; 23] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0,
    10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
];

/// From a millisecond on, each twice the one before: what the reference has for what it does itself.
const DOUBLING: [f64; 15] = [
    0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096,
    8.192, 16.384,
];

/// The same, for what should not take that long.
const DOUBLING_SHORT: [f64; 12] = [
    0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048,
];

/// From ten nanoseconds to a thousand seconds, each ten times the one before: what queues are measured by everywhere.
const TENFOLD: [f64; 12] = [
    1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0,
];

/// The bounds that Prometheus' libraries have for want of better ones.
const USUAL: [f64; 11] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// The label that names a member.
pub const MEMBER: &str = "member_cluster";

const REQUEST_LABELS: &[&str] = &[
    "component",
    "dry_run",
    "group",
    "resource",
    "scope",
    "subresource",
    "verb",
    "version",
];

impl Metric {
    /// The name Prometheus knows it by.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ApiserverRequestTotal => "apiserver_request_total",
            Self::ApiserverRequestDurationSeconds => "apiserver_request_duration_seconds",
            Self::ApiserverCurrentInflightRequests => "apiserver_current_inflight_requests",
            Self::ApiserverLongrunningRequests => "apiserver_longrunning_requests",
            Self::ApiserverStorageObjects => "apiserver_storage_objects",
            Self::ControllerReconcileTotal => "controller_runtime_reconcile_total",
            Self::ControllerReconcileErrorsTotal => "controller_runtime_reconcile_errors_total",
            Self::ControllerTerminalErrorsTotal => {
                "controller_runtime_terminal_reconcile_errors_total"
            }
            Self::ControllerReconcilePanicsTotal => "controller_runtime_reconcile_panics_total",
            Self::ControllerReconcileTimeSeconds => "controller_runtime_reconcile_time_seconds",
            Self::ControllerMaxConcurrentReconciles => {
                "controller_runtime_max_concurrent_reconciles"
            }
            Self::ControllerActiveWorkers => "controller_runtime_active_workers",
            Self::WorkqueueDepth => "workqueue_depth",
            Self::WorkqueueAddsTotal => "workqueue_adds_total",
            Self::WorkqueueRetriesTotal => "workqueue_retries_total",
            Self::WorkqueueQueueDurationSeconds => "workqueue_queue_duration_seconds",
            Self::WorkqueueWorkDurationSeconds => "workqueue_work_duration_seconds",
            Self::LeaderElectionMasterStatus => "leader_election_master_status",
            Self::ClusterReadyState => "cluster_ready_state",
            Self::ClusterNodeNumber => "cluster_node_number",
            Self::ClusterReadyNodeNumber => "cluster_ready_node_number",
            Self::ClusterMemoryAllocatableBytes => "cluster_memory_allocatable_bytes",
            Self::ClusterCpuAllocatableNumber => "cluster_cpu_allocatable_number",
            Self::ClusterPodAllocatableNumber => "cluster_pod_allocatable_number",
            Self::ClusterMemoryAllocatedBytes => "cluster_memory_allocated_bytes",
            Self::ClusterCpuAllocatedNumber => "cluster_cpu_allocated_number",
            Self::ClusterPodAllocatedNumber => "cluster_pod_allocated_number",
            Self::ClusterSyncStatusDurationSeconds => "cluster_sync_status_duration_seconds",
            Self::ResourceMatchPolicyDurationSeconds => "resource_match_policy_duration_seconds",
            Self::ResourceApplyPolicyDurationSeconds => "resource_apply_policy_duration_seconds",
            Self::PolicyApplyAttemptsTotal => "policy_apply_attempts_total",
            Self::PolicyPreemptionTotal => "policy_preemption_total",
            Self::BindingSyncWorkDurationSeconds => "binding_sync_work_duration_seconds",
            Self::WorkSyncWorkloadDurationSeconds => "work_sync_workload_duration_seconds",
            Self::CreateResourceToCluster => "create_resource_to_cluster",
            Self::UpdateResourceToCluster => "update_resource_to_cluster",
            Self::DeleteResourceFromCluster => "delete_resource_from_cluster",
            Self::EvictionQueueDepth => "eviction_queue_depth",
            Self::EvictionKindTotal => "eviction_kind_total",
            Self::EvictionProcessingLatencySeconds => "eviction_processing_latency_seconds",
            Self::EvictionProcessingTotal => "eviction_processing_total",
            Self::PoolGetOperationTotal => "pool_get_operation_total",
            Self::PoolPutOperationTotal => "pool_put_operation_total",
            Self::KarmadaBuildInfo => "karmada_build_info",
            Self::ControlActionsTotal => "control_actions_total",
            Self::SchedulerAttemptsTotal => "scheduler_attempts_total",
            Self::SchedulerDurationSeconds => "scheduler_duration_seconds",
            Self::ProcessCpuSecondsTotal => "process_cpu_seconds_total",
            Self::ProcessResidentMemoryBytes => "process_resident_memory_bytes",
            Self::ProcessVirtualMemoryBytes => "process_virtual_memory_bytes",
            Self::ProcessOpenFds => "process_open_fds",
            Self::ProcessMaxFds => "process_max_fds",
            Self::ProcessStartTimeSeconds => "process_start_time_seconds",
        }
    }

    /// What it says, in a sentence.
    #[must_use]
    pub fn help(self) -> &'static str {
        match self {
            Self::ApiserverRequestTotal => "Requests answered.",
            Self::ApiserverRequestDurationSeconds => "Seconds until requests were answered.",
            Self::ApiserverCurrentInflightRequests => "Requests being answered, watches apart.",
            Self::ApiserverLongrunningRequests => {
                "Watches and other lasting requests that are open."
            }
            Self::ApiserverStorageObjects => "Objects kept.",
            Self::ControllerReconcileTotal => "Reconciliations finished.",
            Self::ControllerReconcileErrorsTotal => "Reconciliations that failed.",
            Self::ControllerTerminalErrorsTotal => {
                "Reconciliations that are not tried again until something changes."
            }
            Self::ControllerReconcilePanicsTotal => "Reconciliations that panicked.",
            Self::ControllerReconcileTimeSeconds => "Seconds reconciliations took.",
            Self::ControllerMaxConcurrentReconciles => "Keys that may be looked at at once.",
            Self::ControllerActiveWorkers => "Keys that are being looked at.",
            Self::WorkqueueDepth => "Keys that wait.",
            Self::WorkqueueAddsTotal => "Keys put into the queue.",
            Self::WorkqueueRetriesTotal => "Keys put into the queue because they had failed.",
            Self::WorkqueueQueueDurationSeconds => "Seconds keys waited for a worker.",
            Self::WorkqueueWorkDurationSeconds => "Seconds workers had keys in hand.",
            Self::LeaderElectionMasterStatus => {
                "Whether this process is the one that acts: 1 if so, 0 if it waits."
            }
            Self::ClusterReadyState => "Whether the member is ready: 1 if so, else 0.",
            Self::ClusterNodeNumber => "Nodes of the member.",
            Self::ClusterReadyNodeNumber => "Nodes of the member that are ready.",
            Self::ClusterMemoryAllocatableBytes => "Bytes of memory that the member's nodes offer.",
            Self::ClusterCpuAllocatableNumber => "Processors that the member's nodes offer.",
            Self::ClusterPodAllocatableNumber => "Pods that the member's nodes have room for.",
            Self::ClusterMemoryAllocatedBytes => {
                "Bytes of memory that pods on the member's nodes have asked for."
            }
            Self::ClusterCpuAllocatedNumber => {
                "Processors that pods on the member's nodes have asked for."
            }
            Self::ClusterPodAllocatedNumber => "Pods on the member's nodes.",
            Self::ClusterSyncStatusDurationSeconds => "Seconds a look at the member took.",
            Self::ResourceMatchPolicyDurationSeconds => {
                "Seconds it took to find the policy of a template."
            }
            Self::ResourceApplyPolicyDurationSeconds => {
                "Seconds it took to do what a template's policy says."
            }
            Self::PolicyApplyAttemptsTotal => "Attempts to do what a template's policy says.",
            Self::PolicyPreemptionTotal => "Templates that a policy took over from another.",
            Self::BindingSyncWorkDurationSeconds => {
                "Seconds it took to bring the works of a binding up to date."
            }
            Self::WorkSyncWorkloadDurationSeconds => {
                "Seconds it took to bring a work to its member."
            }
            Self::CreateResourceToCluster => "Objects made in members.",
            Self::UpdateResourceToCluster => "Objects changed in members.",
            Self::DeleteResourceFromCluster => "Objects deleted from members.",
            Self::EvictionQueueDepth => "Bindings that wait to leave a tainted cluster.",
            Self::EvictionKindTotal => {
                "Bindings that wait to leave a tainted cluster, by cluster and kind."
            }
            Self::EvictionProcessingLatencySeconds => {
                "Seconds it took to take a binding off a tainted cluster."
            }
            Self::EvictionProcessingTotal => "Bindings looked at to leave a tainted cluster.",
            Self::PoolGetOperationTotal => "Machines taken to run a script.",
            Self::PoolPutOperationTotal => "Machines given back after a script.",
            Self::KarmadaBuildInfo => "What is running.",
            Self::ControlActionsTotal => "Writes that plans asked for.",
            Self::SchedulerAttemptsTotal => "Scheduling attempts.",
            Self::SchedulerDurationSeconds => "Seconds scheduling took.",
            Self::ProcessCpuSecondsTotal => "Seconds of processor time used.",
            Self::ProcessResidentMemoryBytes => "Bytes of memory held.",
            Self::ProcessVirtualMemoryBytes => "Bytes of memory reserved.",
            Self::ProcessOpenFds => "Files and connections open.",
            Self::ProcessMaxFds => "Files and connections that may be open.",
            Self::ProcessStartTimeSeconds => "When the process started, in seconds since 1970.",
        }
    }

    /// How its figures behave.
    #[must_use]
    pub fn sort(self) -> Sort {
        match self {
            Self::ApiserverRequestDurationSeconds
            | Self::ControllerReconcileTimeSeconds
            | Self::WorkqueueQueueDurationSeconds
            | Self::WorkqueueWorkDurationSeconds
            | Self::ClusterSyncStatusDurationSeconds
            | Self::ResourceMatchPolicyDurationSeconds
            | Self::ResourceApplyPolicyDurationSeconds
            | Self::BindingSyncWorkDurationSeconds
            | Self::WorkSyncWorkloadDurationSeconds
            | Self::EvictionProcessingLatencySeconds
            | Self::SchedulerDurationSeconds => Sort::Histogram,
            Self::ApiserverCurrentInflightRequests
            | Self::ApiserverLongrunningRequests
            | Self::ApiserverStorageObjects
            | Self::ControllerMaxConcurrentReconciles
            | Self::ControllerActiveWorkers
            | Self::WorkqueueDepth
            | Self::LeaderElectionMasterStatus
            | Self::ClusterReadyState
            | Self::ClusterNodeNumber
            | Self::ClusterReadyNodeNumber
            | Self::ClusterMemoryAllocatableBytes
            | Self::ClusterCpuAllocatableNumber
            | Self::ClusterPodAllocatableNumber
            | Self::ClusterMemoryAllocatedBytes
            | Self::ClusterCpuAllocatedNumber
            | Self::ClusterPodAllocatedNumber
            | Self::EvictionQueueDepth
            | Self::EvictionKindTotal
            | Self::KarmadaBuildInfo
            | Self::ProcessResidentMemoryBytes
            | Self::ProcessVirtualMemoryBytes
            | Self::ProcessOpenFds
            | Self::ProcessMaxFds
            | Self::ProcessStartTimeSeconds => Sort::Gauge,
            _ => Sort::Counter,
        }
    }

    /// The names of its labels, in the order their values are given.
    #[must_use]
    pub fn labels(self) -> &'static [&'static str] {
        match self {
            Self::ApiserverRequestTotal => &[
                "component",
                "dry_run",
                "group",
                "resource",
                "scope",
                "subresource",
                "verb",
                "version",
                "code",
            ],
            Self::ApiserverRequestDurationSeconds | Self::ApiserverLongrunningRequests => {
                REQUEST_LABELS
            }
            Self::ApiserverCurrentInflightRequests => &["request_kind"],
            Self::ApiserverStorageObjects => &["resource"],
            Self::ControllerReconcileTotal => &["controller", "result"],
            Self::ControllerReconcileErrorsTotal
            | Self::ControllerTerminalErrorsTotal
            | Self::ControllerReconcilePanicsTotal
            | Self::ControllerReconcileTimeSeconds
            | Self::ControllerMaxConcurrentReconciles
            | Self::ControllerActiveWorkers => &["controller"],
            Self::WorkqueueDepth
            | Self::WorkqueueAddsTotal
            | Self::WorkqueueRetriesTotal
            | Self::WorkqueueQueueDurationSeconds
            | Self::WorkqueueWorkDurationSeconds => &["name", "controller"],
            Self::ClusterReadyState
            | Self::ClusterNodeNumber
            | Self::ClusterReadyNodeNumber
            | Self::ClusterMemoryAllocatableBytes
            | Self::ClusterCpuAllocatableNumber
            | Self::ClusterPodAllocatableNumber
            | Self::ClusterMemoryAllocatedBytes
            | Self::ClusterCpuAllocatedNumber
            | Self::ClusterPodAllocatedNumber
            | Self::ClusterSyncStatusDurationSeconds => &[MEMBER],
            Self::ResourceApplyPolicyDurationSeconds
            | Self::PolicyApplyAttemptsTotal
            | Self::PolicyPreemptionTotal
            | Self::BindingSyncWorkDurationSeconds
            | Self::WorkSyncWorkloadDurationSeconds => &["result"],
            Self::CreateResourceToCluster => &["result", "apiversion", "kind", MEMBER, "recreate"],
            Self::UpdateResourceToCluster => {
                &["result", "apiversion", "kind", MEMBER, "operationResult"]
            }
            Self::DeleteResourceFromCluster => &["result", "apiversion", "kind", MEMBER],
            Self::LeaderElectionMasterStatus
            | Self::EvictionQueueDepth
            | Self::EvictionProcessingLatencySeconds => &["name"],
            Self::EvictionProcessingTotal => &["name", "result"],
            Self::EvictionKindTotal => &[MEMBER, "resource_kind"],
            Self::PoolGetOperationTotal => &["name", "from"],
            Self::PoolPutOperationTotal => &["name", "to"],
            Self::KarmadaBuildInfo => &[
                "git_version",
                "git_commit",
                "git_short_commit",
                "git_tree_state",
                "build_date",
                "go_version",
                "compiler",
                "platform",
            ],
            Self::ControlActionsTotal => &["action", "result"],
            Self::SchedulerAttemptsTotal => &["result"],
            _ => &[],
        }
    }

    /// The bounds of a histogram, in seconds.
    pub(super) fn bounds(self) -> &'static [f64] {
        match self {
            Self::ResourceMatchPolicyDurationSeconds
            | Self::ResourceApplyPolicyDurationSeconds
            | Self::BindingSyncWorkDurationSeconds
            | Self::WorkSyncWorkloadDurationSeconds => &DOUBLING_SHORT,
            Self::EvictionProcessingLatencySeconds => &DOUBLING,
            Self::ClusterSyncStatusDurationSeconds => &USUAL,
            Self::WorkqueueQueueDurationSeconds | Self::WorkqueueWorkDurationSeconds => &TENFOLD,
            _ => &BOUNDS,
        }
    }

    /// Whether its figures are those of the moment, added up anew from everybody who has one whenever they are read.
    pub(super) fn is_tallied(self) -> bool {
        matches!(
            self,
            Self::WorkqueueDepth
                | Self::WorkqueueAddsTotal
                | Self::WorkqueueRetriesTotal
                | Self::ControllerActiveWorkers
                | Self::ControllerMaxConcurrentReconciles
                | Self::EvictionQueueDepth
                | Self::EvictionKindTotal
                | Self::PoolGetOperationTotal
                | Self::PoolPutOperationTotal
        )
    }
}
