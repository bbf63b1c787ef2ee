//! What it costs to fill up, check and show one object, and to read all types.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use karavel_builtin::{columns, defaults, kinds, strategy, types};
use object::GroupVersionKind;
use serde_json::json;

fn objects(c: &mut Criterion) {
    let gvk = GroupVersionKind::new("apps", "v1", "Deployment");
    let written = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{
                    "name": "web", "image": "nginx:1.27", "ports": [{"containerPort": 80}],
                    "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
                    "readinessProbe": {"httpGet": {"path": "/", "port": 80}},
                }]},
            },
        },
    });
    let mut filled = written.clone();
    defaults::apply_defaults(&gvk, &mut filled);
    let kind = kinds::kind(&gvk).expect("deployments are built in");
    let now = "2026-01-01T12:00:00Z".parse().expect("a time");

    c.bench_function("copy a deployment", |b| {
        b.iter(|| black_box(&written).clone())
    });
    c.bench_function("copy and fill up a deployment", |b| {
        b.iter(|| {
            let mut object = written.clone();
            defaults::apply_defaults(&gvk, &mut object);
            object
        });
    });
    c.bench_function("validate a deployment", |b| {
        b.iter(|| strategy::validate_create(&gvk, black_box(&filled)))
    });
    c.bench_function("show a deployment", |b| {
        b.iter(|| columns::row(kind, black_box(&filled), now))
    });
}

fn loading(c: &mut Criterion) {
    c.bench_function("read the text of all types", |b| {
        b.iter(types::Catalog::read)
    });
    c.bench_function("build the schemas of all types", |b| {
        b.iter(|| types::build(types::catalog()))
    });
}

criterion_group!(benches, objects, loading);
criterion_main!(benches);
