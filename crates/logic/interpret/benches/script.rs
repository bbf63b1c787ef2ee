//! What a script costs when its machine is warm, and what the parts of a run cost.

use std::{hint::black_box, sync::Arc, time::Duration};

use api::work::v1alpha2::AggregatedStatusItem;
use criterion::{Criterion, criterion_group, criterion_main};
use karavel_interpret::{Customizations, Engine, Rules};
use object::{Object, Value};
use serde_json::json;

const HEALTH: &str = "function InterpretHealth(o) return o.status.ready == o.spec.size end";
const REPLICAS: &str = "
local kube = require('kube')
function GetReplicas(o)
  return o.spec.replicas, kube.accuratePodRequirements(o.spec.template)
end";
const REVISE: &str = "function ReviseReplica(o, n) o.spec.replicas = n return o end";
const AGGREGATE: &str = "
function AggregateStatus(o, items)
  local total = 0
  for _, item in ipairs(items) do
    if item.status ~= nil then total = total + (item.status.ready or 0) end
  end
  o.status = {ready = total}
  return o
end";

fn layer(scripts: Value) -> Customizations {
    let object = Object::from_value(json!({
        "metadata": {"name": "widget"},
        "spec": {"target": {"apiVersion": "acme.io/v1", "kind": "Widget"}, "customizations": scripts},
    }));
    let object = object.expect("the customization is an object");
    Customizations::new(Arc::new(Engine::default()), [&object])
}

/// As small as objects are.
fn small() -> Object {
    let object = Object::from_value(json!({
        "apiVersion": "acme.io/v1", "kind": "Widget",
        "metadata": {"name": "w", "namespace": "shop", "generation": 1},
        "spec": {"size": 3}, "status": {"ready": 3},
    }));
    object.expect("the widget is an object")
}

/// As large as a Deployment with two containers.
fn workload() -> Object {
    let container = |name: &str| {
        json!({
            "name": name, "image": "registry.example.com/shop/web:v1", "ports": [{"containerPort": 8080}],
            "env": [{"name": "LEVEL", "value": "info"}, {"name": "T", "valueFrom": {"secretKeyRef": {"name": "t", "key": "v"}}}],
            "resources": {"requests": {"cpu": "250m", "memory": "256Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}},
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        })
    };
    let object = Object::from_value(json!({
        "apiVersion": "acme.io/v1", "kind": "Widget",
        "metadata": {"name": "w", "namespace": "shop", "generation": 7, "labels": {"app": "web"}},
        "spec": {
            "replicas": 6, "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [container("a"), container("b")], "volumes": [{"name": "data", "emptyDir": {}}]},
            },
        },
    }));
    object.expect("the widget is an object")
}

fn items(count: usize) -> Vec<AggregatedStatusItem> {
    let item = |position: usize| AggregatedStatusItem {
        cluster_name: format!("member-{position:03}"),
        status: Some(json!({"ready": 1, "conditions": [{"type": "Ready", "status": "True"}]})),
        applied: true,
        ..AggregatedStatusItem::default()
    };
    (0..count).map(item).collect()
}

fn scripts(criterion: &mut Criterion) {
    let layer = layer(json!({
        "healthInterpretation": {"luaScript": HEALTH},
        "replicaResource": {"luaScript": REPLICAS},
        "replicaRevision": {"luaScript": REVISE},
        "statusAggregation": {"luaScript": AGGREGATE},
    }));
    let (small, workload) = (small(), workload());
    criterion.bench_function("health of a small object", |bencher| {
        bencher.iter(|| layer.is_healthy(black_box(&small)));
    });
    criterion.bench_function("health of a workload", |bencher| {
        bencher.iter(|| layer.is_healthy(black_box(&workload)).is_ok());
    });
    criterion.bench_function("revise a small object", |bencher| {
        bencher.iter(|| layer.revise(black_box(&small).clone(), 4));
    });
    criterion.bench_function("revise a workload", |bencher| {
        bencher.iter(|| layer.revise(black_box(&workload).clone(), 4));
    });
    criterion.bench_function("replicas and needs of a workload", |bencher| {
        bencher.iter(|| layer.replicas(black_box(&workload)));
    });
    for members in [3, 100] {
        let items = items(members);
        criterion.bench_function(&format!("aggregate, {members} members"), |bencher| {
            bencher.iter(|| layer.aggregate(black_box(&small), black_box(&items)));
        });
    }
    criterion.bench_function("a new engine and its first run", |bencher| {
        bencher.iter(|| layer_once(&small));
    });
}

fn layer_once(object: &Object) -> bool {
    layer(json!({"healthInterpretation": {"luaScript": HEALTH}}))
        .is_healthy(object)
        .is_ok_and(|healthy| healthy)
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = scripts
}
criterion_main!(benches);
