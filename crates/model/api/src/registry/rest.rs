//! Resources of the groups that have only one or two.

use super::{
    AGE, CATEGORY, Column, Published, Resource, Scope, Subresources, Version, kind, text_column,
};
use crate::{
    apps::WorkloadRebalancer,
    autoscaling::{CronFederatedHPA, FederatedHPA},
    cluster::Cluster,
    config::{ResourceInterpreterCustomization, ResourceInterpreterWebhookConfiguration},
    multicluster::{ServiceExport, ServiceImport},
    networking::{MultiClusterIngress, MultiClusterService},
    remedy::Remedy,
    schema::structural_schema,
    search::ResourceRegistry,
};

/// The age of an object, as the multi-cluster services API spells the heading.
const LOWER_AGE: Column = text_column("Age", ".metadata.creationTimestamp").of_type("date");

/// What is known of WorkloadRebalancer.
pub static WORKLOAD_REBALANCER: Resource = Resource {
    group: "apps.karmada.io",
    kind: "WorkloadRebalancer",
    plural: "workloadrebalancers",
    singular: "workloadrebalancer",
    short_names: &[],
    categories: &[],
    scope: Scope::Cluster,
    published: Published::Definition,
    versions: &[Version {
        name: "v1alpha1",
        storage: true,
        subresources: Subresources::Status,
        columns: &[],
        schema: structural_schema::<WorkloadRebalancer>,
    }],
};

kind!(
    WorkloadRebalancer,
    WORKLOAD_REBALANCER,
    "v1alpha1",
    "apps.karmada.io/v1alpha1",
    "WorkloadRebalancer"
);

/// What is known of CronFederatedHPA.
pub static CRON_FEDERATED_HPA: Resource = Resource {
    group: "autoscaling.karmada.io",
    kind: "CronFederatedHPA",
    plural: "cronfederatedhpas",
    singular: "cronfederatedhpa",
    short_names: &["cronfhpa"],
    categories: &[CATEGORY],
    scope: Scope::Namespaced,
    published: Published::Definition,
    versions: &[Version {
        name: "v1alpha1",
        storage: true,
        subresources: Subresources::Status,
        columns: &[
            text_column("REFERENCE-KIND", ".spec.scaleTargetRef.kind"),
            text_column("REFERENCE-NAME", ".spec.scaleTargetRef.name"),
            AGE,
        ],
        schema: structural_schema::<CronFederatedHPA>,
    }],
};

kind!(
    CronFederatedHPA,
    CRON_FEDERATED_HPA,
    "v1alpha1",
    "autoscaling.karmada.io/v1alpha1",
    "CronFederatedHPA"
);

/// What is known of FederatedHPA.
pub static FEDERATED_HPA: Resource = Resource {
    group: "autoscaling.karmada.io",
    kind: "FederatedHPA",
    plural: "federatedhpas",
    singular: "federatedhpa",
    short_names: &["fhpa"],
    categories: &[CATEGORY],
    scope: Scope::Namespaced,
    published: Published::Definition,
    versions: &[Version {
        name: "v1alpha1",
        storage: true,
        subresources: Subresources::Status,
        columns: &[
            text_column("REFERENCE-KIND", ".spec.scaleTargetRef.kind"),
            text_column("REFERENCE-NAME", ".spec.scaleTargetRef.name"),
            text_column("MINPODS", ".spec.minReplicas").of_type("integer"),
            text_column("MAXPODS", ".spec.maxReplicas").of_type("integer"),
            text_column("REPLICAS", ".status.currentReplicas").of_type("integer"),
            AGE,
        ],
        schema: structural_schema::<FederatedHPA>,
    }],
};

kind!(
    FederatedHPA,
    FEDERATED_HPA,
    "v1alpha1",
    "autoscaling.karmada.io/v1alpha1",
    "FederatedHPA"
);

/// What is known of Cluster.
pub static CLUSTER: Resource = Resource {
    group: "cluster.karmada.io",
    kind: "Cluster",
    plural: "clusters",
    singular: "cluster",
    short_names: &[],
    categories: &[],
    scope: Scope::Cluster,
    published: Published::Aggregated,
    versions: &[Version {
        name: "v1alpha1",
        storage: true,
        subresources: Subresources::StatusAndProxy,
        columns: &[
            text_column("Version", ".status.kubernetesVersion"),
            text_column("Mode", ".spec.syncMode"),
            text_column("Ready", r#".status.conditions[?(@.type=="Ready")].status"#).or("Unknown"),
            text_column("Age", ".metadata.creationTimestamp").of_type("date"),
            text_column("Zones", ".spec.zones").wide().or("<none>"),
            text_column("Region", ".spec.region").wide().or("<none>"),
            text_column("Provider", ".spec.provider")
                .wide()
                .or("<none>"),
            text_column("API-Endpoint", ".spec.apiEndpoint").wide(),
            text_column("Proxy-URL", ".spec.proxyURL")
                .wide()
                .or("<none>"),
        ],
        schema: structural_schema::<Cluster>,
    }],
};

kind!(
    Cluster,
    CLUSTER,
    "v1alpha1",
    "cluster.karmada.io/v1alpha1",
    "Cluster"
);

/// What is known of ResourceInterpreterCustomization.
pub static RESOURCE_INTERPRETER_CUSTOMIZATION: Resource = Resource {
    group: "config.karmada.io",
    kind: "ResourceInterpreterCustomization",
    plural: "resourceinterpretercustomizations",
    singular: "resourceinterpretercustomization",
    short_names: &["ric"],
    categories: &[CATEGORY],
    scope: Scope::Cluster,
    published: Published::Definition,
    versions: &[Version {
        name: "v1alpha1",
        storage: true,
        subresources: Subresources::Empty,
        columns: &[
            text_column("TARGET-API-VERSION", ".spec.target.apiVersion"),
            text_column("TARGET-KIND", ".spec.target.kind"),
            AGE,
        ],
        schema: structural_schema::<ResourceInterpreterCustomization>,
    }],
};

kind!(
    ResourceInterpreterCustomization,
    RESOURCE_INTERPRETER_CUSTOMIZATION,
    "v1alpha1",
    "config.karmada.io/v1alpha1",
    "ResourceInterpreterCustomization"
);

/// What is known of ResourceInterpreterWebhookConfiguration.
pub static RESOURCE_INTERPRETER_WEBHOOK_CONFIGURATION: Resource = Resource {
    group: "config.karmada.io",
    kind: "ResourceInterpreterWebhookConfiguration",
    plural: "resourceinterpreterwebhookconfigurations",
    singular: "resourceinterpreterwebhookconfiguration",
    short_names: &[],
    categories: &[CATEGORY],
    scope: Scope::Cluster,
    published: Published::Definition,
    versions: &[Version {
        name: "v1alpha1",
        storage: true,
        subresources: Subresources::None,
        columns: &[],
        schema: structural_schema::<ResourceInterpreterWebhookConfiguration>,
    }],
};

kind!(
    ResourceInterpreterWebhookConfiguration,
    RESOURCE_INTERPRETER_WEBHOOK_CONFIGURATION,
    "v1alpha1",
    "config.karmada.io/v1alpha1",
    "ResourceInterpreterWebhookConfiguration"
);

/// What is known of ServiceExport.
pub static SERVICE_EXPORT: Resource = Resource {
    group: "multicluster.x-k8s.io",
    kind: "ServiceExport",
    plural: "serviceexports",
    singular: "serviceexport",
    short_names: &["svcex"],
    categories: &[],
    scope: Scope::Namespaced,
    published: Published::PlainDefinition,
    versions: &[Version {
        name: "v1alpha1",
        storage: true,
        subresources: Subresources::Status,
        columns: &[LOWER_AGE],
        schema: structural_schema::<ServiceExport>,
    }],
};

kind!(
    ServiceExport,
    SERVICE_EXPORT,
    "v1alpha1",
    "multicluster.x-k8s.io/v1alpha1",
    "ServiceExport"
);

/// What is known of ServiceImport.
pub static SERVICE_IMPORT: Resource = Resource {
    group: "multicluster.x-k8s.io",
    kind: "ServiceImport",
    plural: "serviceimports",
    singular: "serviceimport",
    short_names: &["svcim"],
    categories: &[],
    scope: Scope::Namespaced,
    published: Published::PlainDefinition,
    versions: &[Version {
        name: "v1alpha1",
        storage: true,
        subresources: Subresources::Status,
        columns: &[
            text_column("Type", ".spec.type"),
            text_column("IP", ".spec.ips"),
            LOWER_AGE,
        ],
        schema: structural_schema::<ServiceImport>,
    }],
};

kind!(
    ServiceImport,
    SERVICE_IMPORT,
    "v1alpha1",
    "multicluster.x-k8s.io/v1alpha1",
    "ServiceImport"
);

/// What is known of MultiClusterIngress.
pub static MULTI_CLUSTER_INGRESS: Resource = Resource {
    group: "networking.karmada.io",
    kind: "MultiClusterIngress",
    plural: "multiclusteringresses",
    singular: "multiclusteringress",
    short_names: &["mci"],
    categories: &[CATEGORY],
    scope: Scope::Namespaced,
    published: Published::Definition,
    versions: &[Version {
        name: "v1alpha1",
        storage: true,
        subresources: Subresources::Status,
        columns: &[],
        schema: structural_schema::<MultiClusterIngress>,
    }],
};

kind!(
    MultiClusterIngress,
    MULTI_CLUSTER_INGRESS,
    "v1alpha1",
    "networking.karmada.io/v1alpha1",
    "MultiClusterIngress"
);

/// What is known of MultiClusterService.
pub static MULTI_CLUSTER_SERVICE: Resource = Resource {
    group: "networking.karmada.io",
    kind: "MultiClusterService",
    plural: "multiclusterservices",
    singular: "multiclusterservice",
    short_names: &["mcs"],
    categories: &[CATEGORY],
    scope: Scope::Namespaced,
    published: Published::Definition,
    versions: &[Version {
        name: "v1alpha1",
        storage: true,
        subresources: Subresources::Status,
        columns: &[],
        schema: structural_schema::<MultiClusterService>,
    }],
};

kind!(
    MultiClusterService,
    MULTI_CLUSTER_SERVICE,
    "v1alpha1",
    "networking.karmada.io/v1alpha1",
    "MultiClusterService"
);

/// What is known of Remedy.
pub static REMEDY: Resource = Resource {
    group: "remedy.karmada.io",
    kind: "Remedy",
    plural: "remedies",
    singular: "remedy",
    short_names: &[],
    categories: &[CATEGORY],
    scope: Scope::Cluster,
    published: Published::Definition,
    versions: &[Version {
        name: "v1alpha1",
        storage: true,
        subresources: Subresources::None,
        columns: &[],
        schema: structural_schema::<Remedy>,
    }],
};

kind!(
    Remedy,
    REMEDY,
    "v1alpha1",
    "remedy.karmada.io/v1alpha1",
    "Remedy"
);

/// What is known of ResourceRegistry.
pub static RESOURCE_REGISTRY: Resource = Resource {
    group: "search.karmada.io",
    kind: "ResourceRegistry",
    plural: "resourceregistries",
    singular: "resourceregistry",
    short_names: &[],
    categories: &[],
    scope: Scope::Cluster,
    published: Published::Aggregated,
    versions: &[Version {
        name: "v1alpha1",
        storage: true,
        subresources: Subresources::Status,
        columns: &[],
        schema: structural_schema::<ResourceRegistry>,
    }],
};

kind!(
    ResourceRegistry,
    RESOURCE_REGISTRY,
    "v1alpha1",
    "search.karmada.io/v1alpha1",
    "ResourceRegistry"
);
