//! Resources of `policy.karmada.io`.

use super::{AGE, CATEGORY, Published, Resource, Scope, Subresources, Version, kind, text_column};
use crate::{
    policy::{
        ClusterOverridePolicy, ClusterPropagationPolicy, ClusterTaintPolicy,
        FederatedResourceQuota, OverridePolicy, PropagationPolicy,
    },
    schema::structural_schema,
};

/// What is known of ClusterOverridePolicy.
pub static CLUSTER_OVERRIDE_POLICY: Resource = Resource {
    group: "policy.karmada.io",
    kind: "ClusterOverridePolicy",
    plural: "clusteroverridepolicies",
    singular: "clusteroverridepolicy",
    short_names: &["cop"],
    categories: &[CATEGORY],
    scope: Scope::Cluster,
    published: Published::Definition,
    versions: &[Version {
        name: "v1alpha1",
        storage: true,
        subresources: Subresources::None,
        columns: &[],
        schema: structural_schema::<ClusterOverridePolicy>,
    }],
};

kind!(
    ClusterOverridePolicy,
    CLUSTER_OVERRIDE_POLICY,
    "v1alpha1",
    "policy.karmada.io/v1alpha1",
    "ClusterOverridePolicy"
);

/// What is known of ClusterPropagationPolicy.
pub static CLUSTER_PROPAGATION_POLICY: Resource = Resource {
    group: "policy.karmada.io",
    kind: "ClusterPropagationPolicy",
    plural: "clusterpropagationpolicies",
    singular: "clusterpropagationpolicy",
    short_names: &["cpp"],
    categories: &[CATEGORY],
    scope: Scope::Cluster,
    published: Published::Definition,
    versions: &[Version {
        name: "v1alpha1",
        storage: true,
        subresources: Subresources::Empty,
        columns: &[
            text_column("CONFLICT-RESOLUTION", ".spec.conflictResolution"),
            text_column("PRIORITY", ".spec.priority"),
            AGE,
        ],
        schema: structural_schema::<ClusterPropagationPolicy>,
    }],
};

kind!(
    ClusterPropagationPolicy,
    CLUSTER_PROPAGATION_POLICY,
    "v1alpha1",
    "policy.karmada.io/v1alpha1",
    "ClusterPropagationPolicy"
);

/// What is known of ClusterTaintPolicy.
pub static CLUSTER_TAINT_POLICY: Resource = Resource {
    group: "policy.karmada.io",
    kind: "ClusterTaintPolicy",
    plural: "clustertaintpolicies",
    singular: "clustertaintpolicy",
    short_names: &[],
    categories: &[],
    scope: Scope::Cluster,
    published: Published::Definition,
    versions: &[Version {
        name: "v1alpha1",
        storage: true,
        subresources: Subresources::None,
        columns: &[],
        schema: structural_schema::<ClusterTaintPolicy>,
    }],
};

kind!(
    ClusterTaintPolicy,
    CLUSTER_TAINT_POLICY,
    "v1alpha1",
    "policy.karmada.io/v1alpha1",
    "ClusterTaintPolicy"
);

/// What is known of FederatedResourceQuota.
pub static FEDERATED_RESOURCE_QUOTA: Resource = Resource {
    group: "policy.karmada.io",
    kind: "FederatedResourceQuota",
    plural: "federatedresourcequotas",
    singular: "federatedresourcequota",
    short_names: &[],
    categories: &[CATEGORY],
    scope: Scope::Namespaced,
    published: Published::Definition,
    versions: &[Version {
        name: "v1alpha1",
        storage: true,
        subresources: Subresources::Status,
        columns: &[
            text_column("OVERALL", ".status.overall"),
            text_column("OVERALL_USED", ".status.overallUsed"),
        ],
        schema: structural_schema::<FederatedResourceQuota>,
    }],
};

kind!(
    FederatedResourceQuota,
    FEDERATED_RESOURCE_QUOTA,
    "v1alpha1",
    "policy.karmada.io/v1alpha1",
    "FederatedResourceQuota"
);

/// What is known of OverridePolicy.
pub static OVERRIDE_POLICY: Resource = Resource {
    group: "policy.karmada.io",
    kind: "OverridePolicy",
    plural: "overridepolicies",
    singular: "overridepolicy",
    short_names: &["op"],
    categories: &[CATEGORY],
    scope: Scope::Namespaced,
    published: Published::Definition,
    versions: &[Version {
        name: "v1alpha1",
        storage: true,
        subresources: Subresources::None,
        columns: &[],
        schema: structural_schema::<OverridePolicy>,
    }],
};

kind!(
    OverridePolicy,
    OVERRIDE_POLICY,
    "v1alpha1",
    "policy.karmada.io/v1alpha1",
    "OverridePolicy"
);

/// What is known of PropagationPolicy.
pub static PROPAGATION_POLICY: Resource = Resource {
    group: "policy.karmada.io",
    kind: "PropagationPolicy",
    plural: "propagationpolicies",
    singular: "propagationpolicy",
    short_names: &["pp"],
    categories: &[CATEGORY],
    scope: Scope::Namespaced,
    published: Published::Definition,
    versions: &[Version {
        name: "v1alpha1",
        storage: true,
        subresources: Subresources::Empty,
        columns: &[
            text_column("CONFLICT-RESOLUTION", ".spec.conflictResolution"),
            text_column("PRIORITY", ".spec.priority"),
            AGE,
        ],
        schema: structural_schema::<PropagationPolicy>,
    }],
};

kind!(
    PropagationPolicy,
    PROPAGATION_POLICY,
    "v1alpha1",
    "policy.karmada.io/v1alpha1",
    "PropagationPolicy"
);
