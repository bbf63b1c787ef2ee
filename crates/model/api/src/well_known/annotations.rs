//! Keys and values of annotations.

/// On a claimed template and its binding: the namespace of the PropagationPolicy.
pub const PROPAGATION_POLICY_NAMESPACE: &str = "propagationpolicy.karmada.io/namespace";

/// On a claimed template and its binding: the name of the PropagationPolicy.
pub const PROPAGATION_POLICY_NAME: &str = "propagationpolicy.karmada.io/name";

/// On a claimed template and its binding: the name of the ClusterPropagationPolicy.
pub const CLUSTER_PROPAGATION_POLICY_NAME: &str = "clusterpropagationpolicy.karmada.io/name";

/// On a claimed service and its binding: the namespace of the MultiClusterService.
pub const MULTI_CLUSTER_SERVICE_NAMESPACE: &str = "multiclusterservice.karmada.io/namespace";

/// On a claimed service and its binding: the name of the MultiClusterService.
pub const MULTI_CLUSTER_SERVICE_NAME: &str = "multiclusterservice.karmada.io/name";

/// On a work and its manifest: the namespace of the ResourceBinding.
pub const RESOURCE_BINDING_NAMESPACE: &str = "resourcebinding.karmada.io/namespace";

/// On a work and its manifest: the name of the ResourceBinding.
pub const RESOURCE_BINDING_NAME: &str = "resourcebinding.karmada.io/name";

/// On a work and its manifest: the name of the ClusterResourceBinding.
pub const CLUSTER_RESOURCE_BINDING_NAME: &str = "clusterresourcebinding.karmada.io/name";

/// On a manifest: the namespace of its work.
pub const WORK_NAMESPACE: &str = "work.karmada.io/namespace";

/// On a manifest: the name of its work.
pub const WORK_NAME: &str = "work.karmada.io/name";

/// On a template, work and manifest: [`CONFLICT_OVERWRITE`] or [`CONFLICT_ABORT`]. What the author of the template
/// says goes before what the policy says.
pub const CONFLICT_RESOLUTION: &str = "work.karmada.io/conflict-resolution";

/// Value of [`CONFLICT_RESOLUTION`]: take over an object that is already in the member.
pub const CONFLICT_OVERWRITE: &str = "overwrite";

/// Value of [`CONFLICT_RESOLUTION`]: leave an object alone that is already in the member.
pub const CONFLICT_ABORT: &str = "abort";

/// On a manifest: the uid of its template.
pub const TEMPLATE_UID: &str = "resourcetemplate.karmada.io/uid";

/// On a manifest: the generation of its template; absent while that is 0.
pub const TEMPLATE_GENERATION: &str = "resourcetemplate.karmada.io/generation";

/// On a manifest: the keys of the annotations that are managed from here, sorted and joined by commas. This key and
/// [`MANAGED_LABELS`] are among them.
pub const MANAGED_ANNOTATIONS: &str = "resourcetemplate.karmada.io/managed-annotations";

/// On a manifest: the keys of the labels that are managed from here, sorted and joined by commas.
pub const MANAGED_LABELS: &str = "resourcetemplate.karmada.io/managed-labels";

/// On a binding: the placement that was last scheduled, as JSON.
pub const APPLIED_PLACEMENT: &str = "policy.karmada.io/applied-placement";

/// On a work: the OverridePolicies that changed it, as a JSON list of name and overriders by name. Absent when none
/// did.
pub const APPLIED_OVERRIDES: &str = "policy.karmada.io/applied-overrides";

/// On a work: the ClusterOverridePolicies that changed it, in the same form.
pub const APPLIED_CLUSTER_OVERRIDES: &str = "policy.karmada.io/applied-cluster-overrides";

/// On a binding whose template refers to others: those references, as a JSON list.
pub const DEPENDENCIES: &str = "resourcebinding.karmada.io/dependencies";

/// On a dispatched EndpointSlice and its work: the cluster whose pods are behind it.
pub const ENDPOINT_SLICE_PROVISION_CLUSTER: &str = "endpointslice.karmada.io/provision-cluster";

/// On an object from the search cache: the cluster it is in.
pub const CACHED_FROM_CLUSTER: &str = "resource.karmada.io/cached-from-cluster";

/// On an answer of the metrics adapter: the cluster it came from.
pub const QUERY_FROM_CLUSTER: &str = "resource.karmada.io/query-from-cluster";

/// On a template that a lazy policy has claimed without refreshing its binding, and on the binding of a template: the
/// fingerprint of the author's part at that time. Ours alone; the reference has nothing like it.
pub const ACTIVATION_FINGERPRINT: &str = "resourcetemplate.karmada.io/activation-fingerprint";
