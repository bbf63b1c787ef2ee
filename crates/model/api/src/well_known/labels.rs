//! Keys and values of labels.

/// Identities that stay with an object and all that is made from it, so that it can be found across namespaces and
/// after being restored.
pub mod permanent_id {
    /// On a PropagationPolicy, the templates it claims and their bindings. Given anew whenever a policy is created.
    pub const PROPAGATION_POLICY: &str = "propagationpolicy.karmada.io/permanent-id";
    /// On a ClusterPropagationPolicy, the templates it claims and their bindings. Given anew whenever a policy is
    /// created.
    pub const CLUSTER_PROPAGATION_POLICY: &str = "clusterpropagationpolicy.karmada.io/permanent-id";
    /// On a ResourceBinding, its works and their manifests. Given at creation unless it is there already.
    pub const RESOURCE_BINDING: &str = "resourcebinding.karmada.io/permanent-id";
    /// On a ClusterResourceBinding, its works and their manifests. Given at creation unless it is there already.
    pub const CLUSTER_RESOURCE_BINDING: &str = "clusterresourcebinding.karmada.io/permanent-id";
    /// On a Work and each of its manifests. Given at any write unless it is there already.
    pub const WORK: &str = "work.karmada.io/permanent-id";
    /// On a MultiClusterService, its service, binding and works. Given at any write unless it is there already.
    pub const MULTI_CLUSTER_SERVICE: &str = "multiclusterservice.karmada.io/permanent-id";
}

/// On an object in a member that is managed from here: [`TRUE`].
pub const MANAGED: &str = "karmada.io/managed";

/// On objects of the control plane itself: [`TRUE`].
pub const SYSTEM: &str = "karmada.io/system";

/// The value of labels that say yes.
pub const TRUE: &str = "true";

/// On a namespace that should not be sent to members. Any spelling of "true" counts.
pub const SKIP_AUTO_PROPAGATION: &str = "namespace.karmada.io/skip-auto-propagation";

/// On a template whose replicas are set by the members themselves: exactly [`TRUE`].
pub const RETAIN_REPLICAS: &str = "resourcetemplate.karmada.io/retain-replicas";

/// On an object that must not be deleted: exactly [`DELETION_PROTECTION_ALWAYS`].
pub const DELETION_PROTECTION: &str = "resourcetemplate.karmada.io/deletion-protected";

/// Protects an object from deletion; other values do not.
pub const DELETION_PROTECTION_ALWAYS: &str = "Always";

/// On a template that something other than a policy has claimed, with the kind of the claimant. Policies leave a
/// template with any value here alone.
pub const CLAIMED_BY: &str = "resourcetemplate.karmada.io/claimed-by";

/// On a binding that something other than a policy has made, with the kind of the maker.
pub const BINDING_MANAGED_BY: &str = "binding.karmada.io/managed-by";

/// Before the reference key of a binding: a label on the bindings it depends on, whose value is the permanent id of
/// the one that depends.
pub const DEPENDED_BY_PREFIX: &str = "resourcebinding.karmada.io/depended-by-";

/// On the work of a collected EndpointSlice: the namespace of its service.
pub const ENDPOINT_SLICE_SERVICE_NAMESPACE: &str = "endpointslice.karmada.io/namespace";

/// On the work of a collected EndpointSlice: the name of its service.
pub const ENDPOINT_SLICE_SERVICE_NAME: &str = "endpointslice.karmada.io/name";

/// On the work of a collected EndpointSlice: who collected it, `ServiceExport` or `MultiClusterService`, or both
/// joined by a dot in any order.
pub const ENDPOINT_SLICE_MANAGED_BY: &str = "endpointslice.karmada.io/managed-by";

/// On works of a MultiClusterService: its namespace.
pub const MULTI_CLUSTER_SERVICE_NAMESPACE: &str = "multiclusterservice.karmada.io/namespace";

/// On works of a MultiClusterService: its name.
pub const MULTI_CLUSTER_SERVICE_NAME: &str = "multiclusterservice.karmada.io/name";

/// On works of a FederatedResourceQuota: its namespace.
pub const FEDERATED_RESOURCE_QUOTA_NAMESPACE: &str = "federatedresourcequota.karmada.io/namespace";

/// On works of a FederatedResourceQuota: its name.
pub const FEDERATED_RESOURCE_QUOTA_NAME: &str = "federatedresourcequota.karmada.io/name";

/// Kubernetes' label for who manages an EndpointSlice.
pub const KUBERNETES_ENDPOINT_SLICE_MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";

/// Value of [`KUBERNETES_ENDPOINT_SLICE_MANAGED_BY`] on slices that a MultiClusterService hands to consumers.
pub const ENDPOINT_SLICE_DISPATCH_CONTROLLER: &str = "endpointslice-dispatch-controller.karmada.io";

/// Value of [`KUBERNETES_ENDPOINT_SLICE_MANAGED_BY`] on slices that came in through a ServiceExport.
pub const ENDPOINT_SLICE_CONTROLLER: &str = "endpointslice-controller.karmada.io";

/// The label by which the binding with this reference key marks what it depends on.
#[must_use]
pub fn depended_by(reference_key: &str) -> String {
    format!("{DEPENDED_BY_PREFIX}{reference_key}")
}
