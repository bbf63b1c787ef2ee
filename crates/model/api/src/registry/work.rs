//! Resources of `work.karmada.io`.

use super::{AGE, CATEGORY, Published, Resource, Scope, Subresources, Version, kind, text_column};
use crate::{
    schema::structural_schema,
    work::{v1alpha1, v1alpha2},
};

/// What is known of ClusterResourceBinding.
pub static CLUSTER_RESOURCE_BINDING: Resource = Resource {
    group: "work.karmada.io",
    kind: "ClusterResourceBinding",
    plural: "clusterresourcebindings",
    singular: "clusterresourcebinding",
    short_names: &["crb"],
    categories: &[CATEGORY],
    scope: Scope::Cluster,
    published: Published::Definition,
    versions: &[
        Version {
            name: "v1alpha1",
            storage: false,
            subresources: Subresources::Status,
            columns: &[],
            schema: structural_schema::<v1alpha1::ClusterResourceBinding>,
        },
        Version {
            name: "v1alpha2",
            storage: true,
            subresources: Subresources::Status,
            columns: &[
                text_column(
                    "SCHEDULED",
                    r#".status.conditions[?(@.type=="Scheduled")].status"#,
                ),
                text_column(
                    "FULLYAPPLIED",
                    r#".status.conditions[?(@.type=="FullyApplied")].status"#,
                ),
                AGE,
            ],
            schema: structural_schema::<v1alpha2::ClusterResourceBinding>,
        },
    ],
};

kind!(
    v1alpha1::ClusterResourceBinding,
    CLUSTER_RESOURCE_BINDING,
    "v1alpha1",
    "work.karmada.io/v1alpha1",
    "ClusterResourceBinding"
);
kind!(
    v1alpha2::ClusterResourceBinding,
    CLUSTER_RESOURCE_BINDING,
    "v1alpha2",
    "work.karmada.io/v1alpha2",
    "ClusterResourceBinding"
);

/// What is known of ResourceBinding.
pub static RESOURCE_BINDING: Resource = Resource {
    group: "work.karmada.io",
    kind: "ResourceBinding",
    plural: "resourcebindings",
    singular: "resourcebinding",
    short_names: &["rb"],
    categories: &[CATEGORY],
    scope: Scope::Namespaced,
    published: Published::Definition,
    versions: &[
        Version {
            name: "v1alpha1",
            storage: false,
            subresources: Subresources::Status,
            columns: &[],
            schema: structural_schema::<v1alpha1::ResourceBinding>,
        },
        Version {
            name: "v1alpha2",
            storage: true,
            subresources: Subresources::Status,
            columns: &[
                text_column(
                    "SCHEDULED",
                    r#".status.conditions[?(@.type=="Scheduled")].status"#,
                ),
                text_column(
                    "FULLYAPPLIED",
                    r#".status.conditions[?(@.type=="FullyApplied")].status"#,
                ),
                AGE,
            ],
            schema: structural_schema::<v1alpha2::ResourceBinding>,
        },
    ],
};

kind!(
    v1alpha1::ResourceBinding,
    RESOURCE_BINDING,
    "v1alpha1",
    "work.karmada.io/v1alpha1",
    "ResourceBinding"
);
kind!(
    v1alpha2::ResourceBinding,
    RESOURCE_BINDING,
    "v1alpha2",
    "work.karmada.io/v1alpha2",
    "ResourceBinding"
);

/// What is known of Work.
pub static WORK: Resource = Resource {
    group: "work.karmada.io",
    kind: "Work",
    plural: "works",
    singular: "work",
    short_names: &["wk"],
    categories: &[CATEGORY],
    scope: Scope::Namespaced,
    published: Published::Definition,
    versions: &[Version {
        name: "v1alpha1",
        storage: true,
        subresources: Subresources::Status,
        columns: &[
            text_column("WORKLOAD-KIND", ".spec.workload.manifests[*].kind"),
            text_column(
                "APPLIED",
                r#".status.conditions[?(@.type=="Applied")].status"#,
            ),
            AGE,
        ],
        schema: structural_schema::<v1alpha1::Work>,
    }],
};

kind!(
    v1alpha1::Work,
    WORK,
    "v1alpha1",
    "work.karmada.io/v1alpha1",
    "Work"
);
