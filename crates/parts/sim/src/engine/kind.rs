//! The kinds the engine follows, as data.

/// A kind the engine follows and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Namespace,
    Node,
    Lease,
    Pod,
    Service,
    ServiceAccount,
    ConfigMap,
    Secret,
    Endpoints,
    EndpointSlice,
    Deployment,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
    DaemonSet,
    ControllerRevision,
    Job,
    CronJob,
    HorizontalPodAutoscaler,
    PodDisruptionBudget,
    ResourceQuota,
    PersistentVolumeClaim,
    PersistentVolume,
    StorageClass,
    PriorityClass,
    Ingress,
    ServiceCIDR,
    CustomResourceDefinition,
    APIService,
    ValidatingAdmissionPolicy,
}

/// Where objects of a kind are found.
pub(crate) struct Row {
    pub(crate) kind: &'static str,
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) namespaced: bool,
}

macro_rules! rows {
    ($($variant:ident $group:literal $version:literal $plural:literal $namespaced:literal;)*) => {
        impl Kind {
            /// Every kind, in the order of the enum.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Where its objects are found.
            pub(crate) fn row(self) -> &'static Row {
                match self {
                    $(Self::$variant => &Row {
                        kind: stringify!($variant),
                        group: $group,
                        version: $version,
                        plural: $plural,
                        namespaced: $namespaced,
                    },)*
                }
            }
        }
    };
}

rows! {
    Namespace "" "v1" "namespaces" false;
    Node "" "v1" "nodes" false;
    Lease "coordination.k8s.io" "v1" "leases" true;
    Pod "" "v1" "pods" true;
    Service "" "v1" "services" true;
    ServiceAccount "" "v1" "serviceaccounts" true;
    ConfigMap "" "v1" "configmaps" true;
    Secret "" "v1" "secrets" true;
    Endpoints "" "v1" "endpoints" true;
    EndpointSlice "discovery.k8s.io" "v1" "endpointslices" true;
    Deployment "apps" "v1" "deployments" true;
    ReplicaSet "apps" "v1" "replicasets" true;
    ReplicationController "" "v1" "replicationcontrollers" true;
    StatefulSet "apps" "v1" "statefulsets" true;
    DaemonSet "apps" "v1" "daemonsets" true;
    ControllerRevision "apps" "v1" "controllerrevisions" true;
    Job "batch" "v1" "jobs" true;
    CronJob "batch" "v1" "cronjobs" true;
    HorizontalPodAutoscaler "autoscaling" "v2" "horizontalpodautoscalers" true;
    PodDisruptionBudget "policy" "v1" "poddisruptionbudgets" true;
    ResourceQuota "" "v1" "resourcequotas" true;
    PersistentVolumeClaim "" "v1" "persistentvolumeclaims" true;
    PersistentVolume "" "v1" "persistentvolumes" false;
    StorageClass "storage.k8s.io" "v1" "storageclasses" false;
    PriorityClass "scheduling.k8s.io" "v1" "priorityclasses" false;
    Ingress "networking.k8s.io" "v1" "ingresses" true;
    ServiceCIDR "networking.k8s.io" "v1" "servicecidrs" false;
    CustomResourceDefinition "apiextensions.k8s.io" "v1" "customresourcedefinitions" false;
    APIService "apiregistration.k8s.io" "v1" "apiservices" false;
    ValidatingAdmissionPolicy "admissionregistration.k8s.io" "v1" "validatingadmissionpolicies" false;
}

impl Kind {
    /// The kind of an object, if the engine follows it.
    pub(crate) fn named(api_version: &str, kind: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|known| known.row().kind == kind && group_of(api_version) == known.row().group)
    }

    /// The path of the collection, in a namespace if the kind lives in namespaces.
    pub(crate) fn collection_path(self, namespace: &str) -> String {
        let row = self.row();
        let root = if row.group.is_empty() {
            format!("/api/{}", row.version)
        } else {
            format!("/apis/{}/{}", row.group, row.version)
        };
        if row.namespaced && !namespace.is_empty() {
            return format!("{root}/namespaces/{namespace}/{}", row.plural);
        }
        format!("{root}/{}", row.plural)
    }
}

/// The group in an `apiVersion`.
pub(crate) fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_follow_group_and_scope() {
        for (kind, namespace, path) in [
            (Kind::Node, "", "/api/v1/nodes"),
            (Kind::Pod, "", "/api/v1/pods"),
            (Kind::Pod, "shop", "/api/v1/namespaces/shop/pods"),
            (
                Kind::Deployment,
                "shop",
                "/apis/apps/v1/namespaces/shop/deployments",
            ),
        ] {
            assert_eq!(kind.collection_path(namespace), path);
        }
    }

    #[test]
    fn every_kind_is_in_its_place() {
        for (place, kind) in Kind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, place);
            let row = kind.row();
            let api_version = format!("{}/{}", row.group, row.version);
            let api_version = api_version.trim_start_matches('/');
            assert_eq!(Kind::named(api_version, row.kind), Some(*kind));
        }
    }
}
