//! What is asked about a Deployment on its way to the members and back.

use std::{hint::black_box, time::Duration};

use api::work::v1alpha2::AggregatedStatusItem;
use criterion::{Criterion, criterion_group, criterion_main};
use karavel_interpret::Interpreter;
use object::Object;
use serde_json::json;

/// An ordinary Deployment with two containers, a sidecar, and metadata such as tools leave behind.
fn template() -> Object {
    let container = |name: &str| {
        json!({
            "name": name, "image": format!("registry.example.com/shop/{name}:v1.2.3"), "imagePullPolicy": "IfNotPresent",
            "ports": [{"containerPort": 8080, "protocol": "TCP"}],
            "env": [
                {"name": "LEVEL", "value": "info"},
                {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "token", "key": "value"}}},
            ],
            "envFrom": [{"configMapRef": {"name": "settings"}}],
            "resources": {
                "requests": {"cpu": "250m", "memory": "256Mi"},
                "limits": {"cpu": "1", "memory": "512Mi", "ephemeral-storage": "1Gi"},
            },
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 10},
        })
    };
    let mut sidecar = container("proxy");
    sidecar["restartPolicy"] = json!("Always");
    Object::from_value(json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": "web", "namespace": "shop", "generation": 7, "uid": "8f1c", "resourceVersion": "4711",
            "labels": {"app": "web", "team": "shop", "version": "v1"},
            "annotations": {"deployment.kubernetes.io/revision": "7", "example.com/owner": "shop"},
        },
        "spec": {
            "replicas": 6, "revisionHistoryLimit": 10,
            "selector": {"matchLabels": {"app": "web"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}},
            "template": {
                "metadata": {"labels": {"app": "web", "version": "v1"}},
                "spec": {
                    "serviceAccountName": "web",
                    "nodeSelector": {"kubernetes.io/os": "linux"},
                    "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "shop", "effect": "NoSchedule"}],
                    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}],
                    }}},
                    "initContainers": [sidecar],
                    "containers": [container("web"), container("cache")],
                    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
                },
            },
        },
    }))
    .expect("the template is an object")
}

/// The same in a member, running in full.
fn observed() -> Object {
    let mut object = template();
    let put = |object: &mut Object, path: &[&str], value: serde_json::Value| {
        object.set(path, value).expect("the path is free");
    };
    put(&mut object, &["metadata", "generation"], json!(3));
    put(
        &mut object,
        &["metadata", "annotations"],
        json!({
            "resourcetemplate.karmada.io/generation": "7",
            "resourcetemplate.karmada.io/managed-annotations": "example.com/owner,resourcetemplate.karmada.io/generation",
            "resourcetemplate.karmada.io/managed-labels": "app,team,version",
            "example.com/added-there": "yes",
        }),
    );
    put(
        &mut object,
        &[
            "metadata",
            "labels",
            "resourcetemplate.karmada.io/retain-replicas",
        ],
        json!("true"),
    );
    put(
        &mut object,
        &["status"],
        json!({
            "observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2,
            "conditions": [{"type": "Available", "status": "True"}, {"type": "Progressing", "status": "True"}],
        }),
    );
    object
}

fn items(interpreter: &Interpreter, members: usize) -> Vec<AggregatedStatusItem> {
    let status = interpreter
        .reflect(&observed())
        .expect("it can be reflected");
    (0..members)
        .map(|position| AggregatedStatusItem {
            cluster_name: format!("member-{position:03}"),
            status: status.clone(),
            applied: true,
            ..AggregatedStatusItem::default()
        })
        .collect()
}

fn deployment(criterion: &mut Criterion) {
    let interpreter = Interpreter::default();
    let (template, observed) = (template(), observed());
    let mut desired = template.clone();
    desired
        .set(
            &[
                "metadata",
                "labels",
                "resourcetemplate.karmada.io/retain-replicas",
            ],
            "true",
        )
        .expect("labels are an object");

    criterion.bench_function("replicas and requirements", |bencher| {
        bencher.iter(|| interpreter.replicas(black_box(&template)));
    });
    criterion.bench_function("dependencies", |bencher| {
        bencher.iter(|| interpreter.dependencies(black_box(&template)));
    });
    criterion.bench_function("copying the object", |bencher| {
        bencher.iter(|| black_box(&template).clone());
    });
    criterion.bench_function("revise, copying", |bencher| {
        bencher.iter(|| interpreter.revise(black_box(&template), 3));
    });
    criterion.bench_function("retain all, copying", |bencher| {
        bencher.iter(|| interpreter.retain_all(black_box(&desired), black_box(&observed)));
    });
    criterion.bench_function("reflect", |bencher| {
        bencher.iter(|| interpreter.reflect(black_box(&observed)));
    });
    criterion.bench_function("health", |bencher| {
        bencher.iter(|| interpreter.health(black_box(&observed)));
    });
    for members in [3, 100] {
        let items = items(&interpreter, members);
        criterion.bench_function(&format!("aggregate, {members} members"), |bencher| {
            bencher.iter(|| interpreter.aggregate(black_box(&template), black_box(&items)));
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = deployment
}
criterion_main!(benches);
