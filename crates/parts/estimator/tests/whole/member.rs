//! A member to estimate: a real API of Kubernetes' kinds on a store in memory.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll},
};

use client::{Client, WriteOptions};
use http::{Request, Response};
use object::{Object, ResourceType, Value, time::Time};
use runtime::{Clock, Tasks};
use serde_json::json;
use serve::{
    body::Body,
    call::User,
    resource::Table,
    server::{About, Server, Surroundings},
};
use store::{Store, embedded::Retention, memory::Memory};

/// When the tests begin.
pub(crate) const START: i64 = 1_700_000_000;

pub(crate) struct Member {
    pub(crate) client: Client,
    pub(crate) clock: Clock,
    pub(crate) tasks: Tasks,
}

struct Tied {
    clock: Clock,
    count: AtomicU64,
}

impl Surroundings for Tied {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn uid(&self) -> String {
        format!("uid-{}", self.count.fetch_add(1, Relaxed))
    }

    fn suffix(&self) -> String {
        format!("x{:04}", self.count.fetch_add(1, Relaxed))
    }
}

#[derive(Clone)]
struct Direct {
    server: Arc<Server>,
}

impl tower_service::Service<Request<client::Body>> for Direct {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<client::Body>) -> Self::Future {
        let server = Arc::clone(&self.server);
        Box::pin(async move { Ok(server.answer(User::default(), request).await) })
    }
}

impl Member {
    pub(crate) async fn new() -> Self {
        let clock = Clock::tied(Time::from_unix_seconds(START));
        let mut table = Table::default();
        for resource in kinds::builtin_resources() {
            table.insert(resource);
        }
        let about = About {
            version: "v1.34.0".to_owned(),
            address: "127.0.0.1:6443".to_owned(),
        };
        let surroundings = Tied {
            clock: clock.clone(),
            count: AtomicU64::new(0),
        };
        let store = Store::Memory(Memory::new(Retention::default()));
        let server = Server::open(store, table, Vec::new(), Arc::new(surroundings), about).await;
        let server = Arc::new(server.unwrap());
        let mut tasks = Tasks::new();
        let fed = Arc::clone(&server);
        tasks.spawn("feed", move |stop| async move {
            tokio::select! {
                () = stop.cancelled() => {}
                _ = fed.feed() => {}
            }
        });
        Self {
            client: Client::in_process(Direct { server }),
            clock,
            tasks,
        }
    }

    /// Creates an object and puts its status beside it.
    pub(crate) async fn create(&self, resource: &ResourceType, value: Value) -> Object {
        let object = Object::from_value(value).unwrap();
        let options = WriteOptions::default();
        let mut made = self
            .client
            .create(resource, &object, &options)
            .await
            .unwrap();
        let Some(status) = object.at(&["status"]) else {
            return made;
        };
        made.set(&["status"], status.clone()).unwrap();
        let part = intent::Part::Status;
        let put = self.client.replace(resource, &made, &part, &options);
        put.await.unwrap()
    }

    /// A node with so many processors and places for pods.
    pub(crate) async fn node(&self, name: &str, cpu: &str, pods: u32, spec: Value) -> Object {
        let nodes = ResourceType::cluster("", "v1", "Node", "nodes");
        let node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "spec": spec,
            "status": {"allocatable": {"cpu": cpu, "memory": "32Gi", "pods": pods.to_string()}},
        });
        self.create(&nodes, node).await
    }

    /// A pod that requests so much and is where `spec` says.
    pub(crate) async fn pod(&self, name: &str, cpu: &str, node: &str, rest: Value) -> Object {
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop"},
            "spec": {
                "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}],
            },
            "status": {"phase": if node.is_empty() { "Pending" } else { "Running" }},
        });
        if !node.is_empty() {
            pod["spec"]["nodeName"] = json!(node);
        }
        let pod = object::patch::merge(&pod, &rest);
        self.create(&pods(), pod).await
    }

    /// Merges into the status of a pod.
    pub(crate) async fn patch_status(&self, pod: &str, patch: &Value) {
        let (pods, key) = (pods(), pod.parse().unwrap());
        let (merge, part) = (client::PatchKind::Merge, intent::Part::Status);
        let options = WriteOptions::default();
        let patched = self
            .client
            .patch(&pods, &key, merge, patch, &part, &options);
        patched.await.unwrap();
    }
}

fn pods() -> ResourceType {
    ResourceType::namespaced("", "v1", "Pod", "pods")
}
