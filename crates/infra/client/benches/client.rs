//! What the client itself costs: a call into a service of this process that answers at once, and a follower that is told
//! changes as fast as it can take them.
//!
//! `cargo bench -p karavel-client`

#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::hint::black_box;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use http::{Request, Response};
use http_body_util::Full;
use intent::Part;
use karavel_client::{Body, Caches, Client, PatchKind, Scope, WriteOptions};
use object::{ObjectKey, ResourceType};
use runtime::{Clock, Tasks};
use serde_json::{Value, json};
use tower_service::Service;

const EVENTS: usize = 10_000;

/// Answers everything with the same bytes.
#[derive(Clone)]
struct Same(Bytes);

impl Service<Request<Body>> for Same {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        ready(Ok(Response::new(Full::new(self.0.clone()))))
    }
}

/// About as large as a Deployment from a chart: 2 KB.
fn deployment(number: usize, revision: usize) -> Value {
    let variables: Vec<Value> = (0..20)
        .map(|at| json!({"name": format!("VARIABLE_{at}"), "value": format!("value of the variable {at}")}))
        .collect();
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": format!("web-{number}"), "namespace": "shop", "uid": format!("uid-{number}"),
                     "resourceVersion": revision.to_string(), "labels": {"app": "web", "tier": "front"}},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "registry.example/web:1.2.3", "env": variables}]}}},
        "status": {"replicas": 3, "readyReplicas": 3, "observedGeneration": 1},
    })
}

fn deployments() -> ResourceType {
    ResourceType::namespaced("apps", "v1", "Deployment", "deployments")
}

fn calls(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let client = Client::in_process(Same(deployment(1, 1).to_string().into()));
    let (resource, key) = (deployments(), ObjectKey::namespaced("shop", "web-1"));
    let patch = json!({"status": {"readyReplicas": 2}});
    let options = WriteOptions::by("bench");
    let mut group = c.benchmark_group("call");
    group.bench_function("get", |b| {
        b.iter(|| {
            let got = runtime.block_on(client.get(&resource, &key));
            black_box(got.unwrap())
        });
    });
    group.bench_function("patch", |b| {
        b.iter(|| {
            let kind = PatchKind::Merge;
            let calling = client.patch(&resource, &key, kind, &patch, &Part::Status, &options);
            black_box(runtime.block_on(calling).unwrap())
        });
    });
    group.finish();
}

/// A thousand objects, then ten thousand changes of them, in one stream.
fn stream() -> Bytes {
    let mut text = String::new();
    let mut say = |r#type: &str, object: &Value| {
        text.push_str(&json!({"type": r#type, "object": object}).to_string());
        text.push('\n');
    };
    for number in 0..1_000 {
        say("ADDED", &deployment(number, number + 1));
    }
    let end = json!({"metadata": {"resourceVersion": "1001", "annotations": {"k8s.io/initial-events-end": "true"}}});
    say("BOOKMARK", &end);
    for number in 0..EVENTS {
        say("MODIFIED", &deployment(number % 1_000, number + 2_000));
    }
    text.into()
}

fn following(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let stream = stream();
    let last = (EVENTS + 1_999).to_string();
    let mut group = c.benchmark_group("follow");
    group.throughput(Throughput::Elements(EVENTS as u64 + 1_000));
    group.sample_size(10);
    group.bench_function("changes", |b| {
        b.iter_custom(|rounds| {
            let mut spent = Duration::ZERO;
            for _ in 0..rounds {
                let tasks = Tasks::new();
                let start = Instant::now();
                runtime.block_on(async {
                    let client = Client::in_process(Same(stream.clone()));
                    let caches = Caches::new(client, tasks.spawner(), Clock::system());
                    let cache = caches.follow(&deployments(), Scope::all());
                    let (done, mut seen) = tokio::sync::mpsc::channel(1);
                    let last = last.clone();
                    let _subscription = cache.on_change(move |change| {
                        if change.object().resource_version() == last {
                            _ = done.try_send(());
                        }
                    });
                    seen.recv().await.unwrap();
                });
                spent += start.elapsed();
            }
            spent
        });
    });
    group.finish();
}

criterion_group!(benches, calls, following);
criterion_main!(benches);
