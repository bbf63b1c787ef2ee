//! What a write costs before it reaches the store: checking and owning an object the size of a Deployment.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use karavel_schema::{
    Malformed, Schema,
    apply::{NoOtherVersion, Write},
    crd,
};
use object::{Value, time::Time};
use serde_json::json;

/// A schema shaped like a Deployment's: containers and ports by key, atomic selector, resources as maps.
fn schema() -> Schema {
    let text = json!({"type": "string"});
    let port = json!({
        "type": "object",
        "required": ["containerPort"],
        "properties": {
            "containerPort": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 65535},
            "protocol": {"type": "string", "default": "TCP", "enum": ["TCP", "UDP", "SCTP"]},
            "name": {"type": "string", "pattern": "^[a-z0-9-]+$"},
        },
    });
    let quantities =
        json!({"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": true}});
    let env = json!({"type": "object", "required": ["name"], "properties": {"name": text, "value": text}});
    let keyed = |items: &Value, keys: &[&str]| json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys, "items": items});
    let container = json!({
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": text,
            "image": text,
            "args": {"type": "array", "items": text},
            "imagePullPolicy": {"type": "string", "default": "IfNotPresent"},
            "env": keyed(&env, &["name"]),
            "ports": keyed(&port, &["containerPort", "protocol"]),
            "resources": {"type": "object", "properties": {"limits": quantities, "requests": quantities}},
        },
    });
    let labels = json!({"type": "object", "additionalProperties": text});
    let template = json!({"type": "object", "properties": {
        "metadata": {"type": "object", "properties": {"labels": labels, "annotations": labels}},
        "spec": {"type": "object", "properties": {
            "containers": keyed(&container, &["name"]),
            "restartPolicy": {"type": "string", "default": "Always"},
            "terminationGracePeriodSeconds": {"type": "integer", "default": 30},
        }},
    }});
    let spec = json!({"type": "object", "properties": {
        "replicas": {"type": "integer", "format": "int32", "minimum": 0, "default": 1},
        "selector": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"matchLabels": labels}},
        "template": template,
    }});
    let status = json!({"type": "object", "properties": {"replicas": {"type": "integer"}}});
    crd::read(
        &json!({"type": "object", "properties": {"spec": spec, "status": status}}),
        &"schema".into(),
    )
    .expect("invariant: the schema is structural")
}

/// Two containers with ports, environment and resources: about 2 KB.
fn deployment(replicas: i64, image: &str) -> Value {
    let env: Vec<Value> = (0..8)
        .map(|n| json!({"name": format!("VARIABLE_{n}"), "value": format!("value {n}")}))
        .collect();
    let container = |name: &str| {
        json!({
            "name": name,
            "image": image,
            "args": ["--verbose", "--listen=:8080"],
            "env": env,
            "ports": [{"containerPort": 8080, "name": "http"}, {"containerPort": 9090, "name": "metrics", "protocol": "TCP"}],
            "resources": {"limits": {"cpu": "500m", "memory": "256Mi"}, "requests": {"cpu": "100m", "memory": "64Mi"}},
        })
    };
    let labels = json!({"app": "web", "tier": "front", "version": "1"});
    json!({
        "apiVersion": "bench/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "labels": labels, "annotations": {"note": "a bench"}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [container("web"), container("sidecar")], "restartPolicy": "Always"},
            },
        },
    })
}

fn objects(bench: &mut Criterion) {
    let schema = schema();
    let object = deployment(3, "registry/web:1");
    bench.bench_function(
        "coerce, prune, default and validate a deployment",
        |timer| {
            timer.iter_batched(
                || object.clone(),
                |mut object| {
                    let unknown = schema.coerce(&mut object, Malformed::Refuse);
                    let pruned = schema.prune(&mut object);
                    schema.apply_defaults(&mut object);
                    black_box((unknown.is_ok(), pruned, schema.validate(&object), object))
                },
                criterion::BatchSize::SmallInput,
            );
        },
    );

    let write = |manager| Write {
        schema: &schema,
        api_version: "bench/v1",
        versions: &NoOtherVersion,
        manager,
        subresource: "",
        now: Time::from_unix_seconds(1),
    };
    let created = write("kubectl")
        .apply(None, &object, false)
        .expect("invariant: nobody else owns it")
        .object;
    let live = {
        let mut scaled = deployment(5, "registry/web:1");
        let managed = write("scaler")
            .update(Some(&created), &scaled)
            .expect("invariant: it fits the schema");
        scaled["metadata"]["managedFields"] = managed.unwrap_or_default();
        scaled
    };
    let mut declared = deployment(5, "registry/web:2");
    if let Some(spec) = declared["spec"].as_object_mut() {
        spec.shift_remove("replicas");
    }
    bench.bench_function("apply a deployment that exists", |timer| {
        timer.iter(|| black_box(write("kubectl").apply(Some(&live), &declared, true)));
    });
    bench.bench_function("apply a deployment that does not change", |timer| {
        let unchanged = write("kubectl")
            .apply(Some(&live), &declared, true)
            .expect("invariant: forced")
            .object;
        timer.iter(|| black_box(write("kubectl").apply(Some(&unchanged), &declared, false)));
    });
    bench.bench_function("own a deployment after an update", |timer| {
        let updated = deployment(7, "registry/web:3");
        timer.iter(|| black_box(write("scaler").update(Some(&live), &updated)));
    });
}

/// A schema shaped like a ResourceBinding's.
fn binding_schema() -> Schema {
    let text = json!({"type": "string"});
    let condition = json!({"type": "object", "required": ["type"], "properties": {
        "type": text, "status": text, "reason": text, "message": text, "lastTransitionTime": text,
    }});
    let conditions = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"], "items": condition});
    let cluster = json!({"type": "object", "required": ["name"], "properties": {"name": text, "replicas": {"type": "integer"}}});
    let item = json!({"type": "object", "required": ["clusterName"], "properties": {
        "clusterName": text, "applied": {"type": "boolean"}, "health": text,
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }});
    let spec = json!({"type": "object", "properties": {
        "resource": {"type": "object", "properties": {"apiVersion": text, "kind": text, "name": text, "namespace": text}},
        "replicas": {"type": "integer"},
        "clusters": {"type": "array", "items": cluster},
        "placement": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }});
    let status = json!({"type": "object", "properties": {
        "conditions": conditions,
        "aggregatedStatus": {"type": "array", "items": item},
        "schedulerObservedGeneration": {"type": "integer"},
    }});
    crd::read(
        &json!({"type": "object", "properties": {"spec": spec, "status": status}}),
        &"schema".into(),
    )
    .expect("invariant: the schema is structural")
}

/// A binding to three clusters, with a label for each of `owners` and a status that says `ready`.
fn binding(owners: usize, ready: i64) -> Value {
    let labels: object::Map = (0..owners)
        .map(|n| (format!("example.org/owner-{n:02}"), json!("yes")))
        .collect();
    let clusters = ["east", "middle", "west"];
    let aggregated = clusters.map(|name| {
        json!({"clusterName": name, "applied": true, "health": "Healthy", "status": {"replicas": 3, "readyReplicas": ready}})
    });
    let targets = clusters.map(|name| json!({"name": name, "replicas": 3}));
    let condition = |kind: &str| json!({"type": kind, "status": "True", "reason": "Success", "message": "all is well", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    json!({
        "apiVersion": "bench/v1",
        "kind": "ResourceBinding",
        "metadata": {"name": "web-deployment", "namespace": "default", "uid": "u", "labels": labels},
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "default"},
            "replicas": 9,
            "clusters": targets,
            "placement": {"clusterAffinity": {"clusterNames": clusters}, "replicaScheduling": {"type": "Divided"}},
        },
        "status": {"conditions": [condition("Scheduled"), condition("FullyApplied")], "aggregatedStatus": aggregated},
    })
}

/// Recording owners as every write does: ten managers that applied and ten that updated, or a label of a Deployment.
fn owners(bench: &mut Criterion) {
    fn writer<'a>(schema: &'a Schema, manager: &'a str, subresource: &'a str) -> Write<'a> {
        Write {
            schema,
            api_version: "bench/v1",
            versions: &NoOtherVersion,
            manager,
            subresource,
            now: Time::from_unix_seconds(1),
        }
    }
    fn own(write: &Write<'_>, live: Option<&Value>, mut new: Value) -> Value {
        write.own(live, &mut new);
        new
    }

    let schema = schema();
    let live = own(
        &writer(&schema, "kubectl", ""),
        None,
        deployment(3, "registry/web:1"),
    );
    let mut labelled = live.clone();
    labelled["metadata"]["labels"]["version"] = json!("2");
    bench.bench_function("own_fields: a label of a deployment", |timer| {
        let write = writer(&schema, "labeller", "");
        timer.iter_batched(
            || labelled.clone(),
            |new| black_box(own(&write, Some(&live), new)),
            criterion::BatchSize::SmallInput,
        );
    });

    let schema = binding_schema();
    let mut live = own(&writer(&schema, "scheduler", ""), None, binding(0, 0));
    for number in 0..18 {
        let name = format!("manager-{number:02}");
        let write = writer(&schema, &name, "");
        if number % 2 == 0 {
            let declared = json!({"apiVersion": "bench/v1", "kind": "ResourceBinding", "metadata": {
                "name": "web-deployment", "namespace": "default", "labels": {format!("example.org/owner-{number:02}"): "yes"},
            }});
            let applied = write.apply(Some(&live), &declared, false);
            live = applied.expect("invariant: nobody else owns it").object;
        } else {
            let mut new = live.clone();
            new["metadata"]["labels"][format!("example.org/owner-{number:02}")] = json!("yes");
            live = own(&write, Some(&live), new);
        }
    }
    let status = writer(&schema, "status", "status");
    let mut ready = live.clone();
    ready["status"] = binding(0, 2)["status"].clone();
    live = own(&status, Some(&live), ready);
    let mut ready = live.clone();
    ready["status"] = binding(0, 3)["status"].clone();
    bench.bench_function(
        "own_fields: the status of a binding with 20 owners",
        |timer| {
            timer.iter_batched(
                || ready.clone(),
                |new| black_box(own(&status, Some(&live), new)),
                criterion::BatchSize::SmallInput,
            );
        },
    );
}

criterion_group!(benches, objects, owners);
criterion_main!(benches);
