//! Finalizers: who must finish before an object goes.

/// On a Cluster, until its execution space and what it left behind are gone.
pub const CLUSTER: &str = "karmada.io/cluster-controller";

/// On a Work, until its objects are gone from the member.
pub const EXECUTION: &str = "karmada.io/execution-controller";

/// On a ResourceBinding, until its works are gone.
pub const BINDING: &str = "karmada.io/binding-controller";

/// On a ClusterResourceBinding, until its works are gone.
pub const CLUSTER_RESOURCE_BINDING: &str = "karmada.io/cluster-resource-binding-controller";

/// On a binding whose template refers to others, until those no longer know it.
pub const DEPENDENCIES_DISTRIBUTOR: &str = "karmada.io/binding-dependencies-distributor";

/// On a PropagationPolicy, until it has let go of its templates. Put on at creation.
pub const PROPAGATION_POLICY: &str = "karmada.io/propagation-policy-controller";

/// On a ClusterPropagationPolicy, until it has let go of its templates. Put on at creation.
pub const CLUSTER_PROPAGATION_POLICY: &str = "karmada.io/cluster-propagation-policy-controller";

/// On a MultiClusterService, until its works are gone.
pub const MULTI_CLUSTER_SERVICE: &str = "karmada.io/multiclusterservice-controller";

/// On the work of an EndpointSlice that a ServiceExport brought in.
pub const ENDPOINT_SLICE: &str = "karmada.io/endpointslice-controller";

/// On the work of an EndpointSlice that a MultiClusterService brought in.
pub const ENDPOINT_SLICE_DISPATCH: &str = "karmada.io/mcs-endpointslice-dispatch-controller";

/// Reserved for collecting EndpointSlices; nothing puts it on.
pub const ENDPOINT_SLICE_COLLECT: &str = "karmada.io/mcs-endpointslice-collect-controller";
