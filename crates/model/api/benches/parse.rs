//! Reading and writing a binding and a cluster as they look in a real installation, typed and dynamic.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use karavel_api::{Kind, cluster::Cluster, read, work::v1alpha2::ResourceBinding};
use object::{Object, parse::parse_json};
use serde_json::{Value, json};

/// A Deployment on twelve clusters with a placement by groups, weights and spread, and the status of each cluster.
fn binding() -> Value {
    let clusters: Vec<String> = (1..=12).map(|number| format!("member-{number}")).collect();
    json!({
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": {
            "name": "web-deployment",
            "namespace": "shop",
            "uid": "6b1c53ee-4c3f-4c4b-9f0e-5cf0c3f1b0a1",
            "resourceVersion": "482913",
            "generation": 7,
            "creationTimestamp": "2026-01-05T10:11:12Z",
            "labels": {
                "propagationpolicy.karmada.io/permanent-id": "0f0c2c0e-6a3e-4b9c-a3a5-0d6b8b0f8a11",
                "resourcebinding.karmada.io/permanent-id": "d7a2d3a4-2f49-4d37-8c06-3b5d1f3b8a0e",
            },
            "annotations": {
                "propagationpolicy.karmada.io/namespace": "shop",
                "propagationpolicy.karmada.io/name": "web",
            },
            "finalizers": ["karmada.io/binding-controller"],
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "Deployment", "name": "web",
                "uid": "2e7a9f0c-0f2c-4a4f-8a51-9b2b2f3b7c5d", "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": {
            "resource": {
                "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web",
                "uid": "2e7a9f0c-0f2c-4a4f-8a51-9b2b2f3b7c5d", "resourceVersion": "482001",
            },
            "propagateDeps": true,
            "replicas": 60,
            "replicaRequirements": {
                "nodeClaim": {
                    "nodeSelector": { "disk": "ssd" },
                    "tolerations": [{ "key": "dedicated", "operator": "Equal", "value": "web" }],
                },
                "resourceRequest": { "cpu": "250m", "memory": "512Mi" },
            },
            "clusters": clusters.iter().map(|name| json!({ "name": name, "replicas": 5 })).collect::<Vec<_>>(),
            "placement": {
                "clusterAffinities": [
                    { "affinityName": "home", "labelSelector": { "matchLabels": { "tier": "home" } } },
                    { "affinityName": "cloud", "clusterNames": clusters },
                ],
                "clusterTolerations": [{ "key": "cluster.karmada.io/not-ready", "operator": "Exists",
                    "effect": "NoExecute", "tolerationSeconds": 300 }],
                "spreadConstraints": [{ "spreadByField": "cluster", "minGroups": 3, "maxGroups": 12 }],
                "replicaScheduling": {
                    "replicaSchedulingType": "Divided",
                    "replicaDivisionPreference": "Weighted",
                    "weightPreference": { "dynamicWeight": "AvailableReplicas" },
                },
            },
            "schedulerName": "default-scheduler",
            "conflictResolution": "Abort",
        },
        "status": {
            "schedulerObservedGeneration": 7,
            "schedulerObservingAffinityName": "cloud",
            "lastScheduledTime": "2026-01-05T10:11:13Z",
            "conditions": [{
                "type": "Scheduled", "status": "True", "reason": "Success", "message": "placed on 12 clusters",
                "lastTransitionTime": "2026-01-05T10:11:13Z",
            }],
            "aggregatedStatus": clusters.iter().map(|name| json!({
                "clusterName": name, "applied": true, "health": "Healthy",
                "status": { "availableReplicas": 5, "readyReplicas": 5, "replicas": 5, "updatedReplicas": 5,
                    "observedGeneration": 1, "generation": 1, "resourceTemplateGeneration": 3 },
            })).collect::<Vec<_>>(),
        },
    })
}

/// A cluster that serves sixty groups of resources and has nine grades of nodes.
fn cluster() -> Value {
    let grades: Vec<Value> = (0..9)
        .map(|grade| {
            json!({ "grade": grade, "ranges": [
                { "name": "cpu", "min": format!("{}", 1 << grade), "max": format!("{}", 2 << grade) },
                { "name": "memory", "min": format!("{}Gi", 4 << grade), "max": format!("{}Gi", 8 << grade) },
            ]})
        })
        .collect();
    let enablements: Vec<Value> = (0..60)
        .map(|group| {
            let resources: Vec<Value> = (0..8)
                .map(|kind| json!({ "name": format!("things{kind}"), "kind": format!("Thing{kind}") }))
                .collect();
            json!({ "groupVersion": format!("group{group}.example.com/v1"), "resources": resources })
        })
        .collect();
    json!({
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": { "name": "member-1", "uid": "u", "resourceVersion": "9", "labels": { "tier": "home" } },
        "spec": {
            "id": "3e1f", "syncMode": "Push", "apiEndpoint": "https://10.0.0.1:6443",
            "secretRef": { "namespace": "karmada-cluster", "name": "member-1" },
            "zones": ["a", "b"], "region": "north", "provider": "metal", "resourceModels": grades,
        },
        "status": {
            "kubernetesVersion": "v1.35.2",
            "apiEnablements": enablements,
            "nodeSummary": { "totalNum": 40, "readyNum": 39 },
            "resourceSummary": {
                "allocatable": { "cpu": "640", "memory": "2560Gi", "pods": "4400" },
                "allocated": { "cpu": "310500m", "memory": "1100Gi", "pods": "1802" },
            },
        },
    })
}

fn measure<T: Kind>(criterion: &mut Criterion, document: &Value) {
    let bytes = serde_json::to_vec(document).expect("documents are JSON");
    let object = Object::from_value(document.clone()).expect("documents are objects");
    let typed: T = read::read(&object).expect("documents fit their type");

    let mut group = criterion.benchmark_group(T::KIND);
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    let id = |name: &str| BenchmarkId::from_parameter(name);
    group.bench_function(id("bytes to dynamic"), |b| {
        b.iter(|| parse_json(black_box(&bytes)))
    });
    group.bench_function(id("bytes to typed"), |b| {
        b.iter(|| serde_json::from_slice::<T>(black_box(&bytes)))
    });
    group.bench_function(id("dynamic to typed"), |b| {
        b.iter(|| read::read::<T>(black_box(&object)))
    });
    group.bench_function(id("dynamic to bytes"), |b| {
        b.iter(|| serde_json::to_vec(black_box(&object)))
    });
    group.bench_function(id("typed to bytes"), |b| {
        b.iter(|| serde_json::to_vec(black_box(&typed)))
    });
    group.bench_function(id("edit one label"), |b| {
        b.iter(|| {
            read::edit(black_box(&object), |value: &mut T| {
                value
                    .metadata_mut()
                    .labels
                    .insert("touched".to_owned(), "yes".to_owned());
            })
        })
    });
    group.finish();
}

fn parse(criterion: &mut Criterion) {
    measure::<ResourceBinding>(criterion, &binding());
    measure::<Cluster>(criterion, &cluster());
}

criterion_group!(benches, parse);
criterion_main!(benches);
