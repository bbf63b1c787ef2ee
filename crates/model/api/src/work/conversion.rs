//! Conversion between the two versions of bindings.
//!
//! `v1alpha2` is the full form. Going down keeps what `v1alpha1` has a field for; coming back up gives everything else
//! its zero value, so a write through `v1alpha1` loses it. Metadata passes unchanged.

use super::{v1alpha1 as old, v1alpha2 as new};

impl From<old::ResourceBinding> for new::ResourceBinding {
    fn from(binding: old::ResourceBinding) -> Self {
        Self {
            metadata: binding.metadata,
            spec: binding.spec.into(),
            status: binding.status.into(),
            ..Self::default()
        }
    }
}

impl From<new::ResourceBinding> for old::ResourceBinding {
    fn from(binding: new::ResourceBinding) -> Self {
        Self {
            metadata: binding.metadata,
            spec: binding.spec.into(),
            status: binding.status.into(),
            ..Self::default()
        }
    }
}

impl From<old::ClusterResourceBinding> for new::ClusterResourceBinding {
    fn from(binding: old::ClusterResourceBinding) -> Self {
        Self {
            metadata: binding.metadata,
            spec: binding.spec.into(),
            status: binding.status.into(),
            ..Self::default()
        }
    }
}

impl From<new::ClusterResourceBinding> for old::ClusterResourceBinding {
    fn from(binding: new::ClusterResourceBinding) -> Self {
        Self {
            metadata: binding.metadata,
            spec: binding.spec.into(),
            status: binding.status.into(),
            ..Self::default()
        }
    }
}

impl From<old::ResourceBindingSpec> for new::ResourceBindingSpec {
    fn from(spec: old::ResourceBindingSpec) -> Self {
        let resource = spec.resource;
        Self {
            resource: new::ObjectReference {
                api_version: resource.api_version,
                kind: resource.kind,
                namespace: resource.namespace,
                name: resource.name,
                resource_version: resource.resource_version,
                uid: String::new(),
            },
            replicas: resource.replicas,
            replica_requirements: resource.resource_per_replicas.map(|resource_request| {
                new::ReplicaRequirements {
                    resource_request,
                    ..Default::default()
                }
            }),
            clusters: spec.clusters.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }
}

impl From<new::ResourceBindingSpec> for old::ResourceBindingSpec {
    fn from(spec: new::ResourceBindingSpec) -> Self {
        let resource = spec.resource;
        let request = spec
            .replica_requirements
            .map(|needs| needs.resource_request);
        Self {
            resource: old::ObjectReference {
                api_version: resource.api_version,
                kind: resource.kind,
                namespace: resource.namespace,
                name: resource.name,
                resource_version: resource.resource_version,
                resource_per_replicas: request.filter(|request| !request.is_empty()),
                replicas: spec.replicas,
            },
            clusters: spec.clusters.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<old::TargetCluster> for new::TargetCluster {
    fn from(target: old::TargetCluster) -> Self {
        Self {
            name: target.name,
            replicas: target.replicas,
        }
    }
}

impl From<new::TargetCluster> for old::TargetCluster {
    fn from(target: new::TargetCluster) -> Self {
        Self {
            name: target.name,
            replicas: target.replicas,
        }
    }
}

impl From<old::ResourceBindingStatus> for new::ResourceBindingStatus {
    fn from(status: old::ResourceBindingStatus) -> Self {
        let item = |item: old::AggregatedStatusItem| new::AggregatedStatusItem {
            cluster_name: item.cluster_name,
            status: item.status,
            applied: item.applied,
            applied_message: item.applied_message,
            health: None,
        };
        Self {
            conditions: status.conditions,
            aggregated_status: status.aggregated_status.into_iter().map(item).collect(),
            ..Self::default()
        }
    }
}

impl From<new::ResourceBindingStatus> for old::ResourceBindingStatus {
    fn from(status: new::ResourceBindingStatus) -> Self {
        let item = |item: new::AggregatedStatusItem| old::AggregatedStatusItem {
            cluster_name: item.cluster_name,
            status: item.status,
            applied: item.applied,
            applied_message: item.applied_message,
        };
        Self {
            conditions: status.conditions,
            aggregated_status: status.aggregated_status.into_iter().map(item).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A binding with something in every field that both versions have, and in some that only the new one has.
    fn stored() -> Value {
        json!({
            "apiVersion": "work.karmada.io/v1alpha2",
            "kind": "ResourceBinding",
            "metadata": { "name": "nginx-deployment", "namespace": "default", "generation": 3 },
            "spec": {
                "resource": {
                    "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "nginx",
                    "uid": "u-1", "resourceVersion": "7",
                },
                "propagateDeps": true,
                "replicas": 5,
                "replicaRequirements": { "resourceRequest": { "cpu": "100m" }, "namespace": "default" },
                "clusters": [{ "name": "m1", "replicas": 2 }, { "name": "m2", "replicas": 3 }],
                "placement": { "clusterAffinity": { "clusterNames": ["m1", "m2"] } },
            },
            "status": {
                "schedulerObservedGeneration": 3,
                "aggregatedStatus": [{
                    "clusterName": "m1", "status": { "replicas": 2 }, "applied": true, "health": "Healthy",
                }],
            },
        })
    }

    fn down(value: Value) -> Value {
        let binding: new::ResourceBinding = serde_json::from_value(value).unwrap();
        serde_json::to_value(old::ResourceBinding::from(binding)).unwrap()
    }

    fn up(value: Value) -> Value {
        let binding: old::ResourceBinding = serde_json::from_value(value).unwrap();
        serde_json::to_value(new::ResourceBinding::from(binding)).unwrap()
    }

    #[test]
    fn the_older_view_shows_what_it_has_fields_for() {
        let expected = json!({
            "apiVersion": "work.karmada.io/v1alpha1",
            "kind": "ResourceBinding",
            "metadata": { "name": "nginx-deployment", "namespace": "default", "generation": 3 },
            "spec": {
                "resource": {
                    "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "nginx",
                    "resourceVersion": "7", "resourcePerReplicas": { "cpu": "100m" }, "replicas": 5,
                },
                "clusters": [{ "name": "m1", "replicas": 2 }, { "name": "m2", "replicas": 3 }],
            },
            "status": {
                "aggregatedStatus": [{ "clusterName": "m1", "status": { "replicas": 2 }, "applied": true }],
            },
        });
        assert_eq!(down(stored()), expected);
    }

    #[test]
    fn a_write_through_the_older_view_loses_what_only_the_new_one_knows() {
        let expected = json!({
            "apiVersion": "work.karmada.io/v1alpha2",
            "kind": "ResourceBinding",
            "metadata": { "name": "nginx-deployment", "namespace": "default", "generation": 3 },
            "spec": {
                "resource": {
                    "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "nginx",
                    "resourceVersion": "7",
                },
                "replicaRequirements": { "resourceRequest": { "cpu": "100m" } },
                "replicas": 5,
                "clusters": [{ "name": "m1", "replicas": 2 }, { "name": "m2", "replicas": 3 }],
            },
            "status": {
                "aggregatedStatus": [{ "clusterName": "m1", "status": { "replicas": 2 }, "applied": true }],
            },
        });
        assert_eq!(up(down(stored())), expected);
    }

    #[test]
    fn the_older_view_survives_the_way_up_and_down() {
        let shown = down(stored());
        assert_eq!(down(up(shown.clone())), shown);
    }

    #[test]
    fn requirements_exist_exactly_when_the_older_view_has_the_map() {
        let binding = |resource: Value| json!({ "spec": { "resource": resource } });
        for (resource, expected) in [
            (json!({}), None),
            (json!({ "resourcePerReplicas": null }), None),
            (json!({ "resourcePerReplicas": {} }), Some(json!({}))),
        ] {
            let converted = up(binding(resource));
            assert_eq!(
                converted.pointer("/spec/replicaRequirements"),
                expected.as_ref()
            );
        }
    }

    #[test]
    fn cluster_wide_bindings_convert_alike() {
        let mut value = stored();
        value["kind"] = "ClusterResourceBinding".into();
        let binding: new::ClusterResourceBinding = serde_json::from_value(value).unwrap();
        let older = old::ClusterResourceBinding::from(binding.clone());
        assert_eq!(older.spec, binding.spec.clone().into());
        let again = new::ClusterResourceBinding::from(older);
        assert_eq!(again.metadata, binding.metadata);
        assert_eq!(again.spec.clusters, binding.spec.clusters);
        assert_eq!(again.spec.placement, None);
    }
}
