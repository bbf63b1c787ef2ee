//! A whole API server in the process, with housekeeping over it, in the test's own time.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::time::Duration;

use client::{Body, Caches, Client, DeleteOptions, ListOptions, PatchKind, WriteOptions};
use control::{Cx, EventSink, Recorder};
use http::{Request, Response};
use intent::{Part, Propagation};
use karavel_housekeeping::{BuiltIn, Chores};
use object::time::Time;
use object::{Object, ObjectKey, ResourceType, Value};
use runtime::{Clock, Spawner, Tasks};
use serde_json::json;
use serve::call::User;
use serve::resource::Table;
use serve::server::{About, Server, Surroundings};
use store::Store;
use store::embedded::Retention;
use store::memory::Memory;
use tower_service::Service;

/// The server and everything that runs over it.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    clock: Clock,
    tasks: Tasks,
    /// Housekeeping, which may end before the server does.
    chores: Spawner,
}

struct Counting {
    clock: Clock,
    count: AtomicU64,
}

impl Surroundings for Counting {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn uid(&self) -> String {
        format!("uid-{}", self.count.fetch_add(1, Ordering::Relaxed))
    }

    fn suffix(&self) -> String {
        format!("x{:04}", self.count.fetch_add(1, Ordering::Relaxed))
    }
}

#[derive(Clone)]
struct InProcess(Arc<Server>);

impl Service<Request<Body>> for InProcess {
    type Response = Response<serve::body::Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let server = Arc::clone(&self.0);
        let user = User {
            name: "tester".to_owned(),
            ..User::default()
        };
        Box::pin(async move { Ok(server.answer(user, request).await) })
    }
}

impl Cluster {
    pub(crate) async fn start() -> Self {
        let clock = Clock::tied("2026-01-01T00:00:00Z".parse().unwrap());
        let mut table = Table::default();
        for resource in kinds::builtin_resources() {
            table.insert(resource);
        }
        let surroundings = Arc::new(Counting {
            clock: clock.clone(),
            count: AtomicU64::new(1),
        });
        let about = About {
            version: "v1.34.0".to_owned(),
            address: "127.0.0.1:5443".to_owned(),
        };
        let store = Store::Memory(Memory::new(Retention::default()));
        let server = Server::open(store, table, Vec::new(), surroundings, about).await;
        let server = Arc::new(server.unwrap());
        let tasks = Tasks::new();
        let fed = Arc::clone(&server);
        tasks.spawner().spawn("feed", |stop| async move {
            tokio::select! {
                () = stop.cancelled() => {}
                _ = fed.feed() => {}
            }
        });
        let client = Client::in_process(InProcess(server));
        let chores = tasks.spawner().branch();
        let cluster = Self {
            client,
            clock,
            tasks,
            chores,
        };
        cluster.begin_chores();
        cluster
    }

    fn begin_chores(&self) {
        let (client, clock) = (self.client.clone(), self.clock.clone());
        let caches = Caches::new(client.clone(), self.chores.clone(), clock.clone());
        let sink = EventSink {
            client: client.clone(),
            component: "housekeeping",
            namespace: "default",
        };
        let recorder = Recorder::start(sink, clock.clone(), &self.chores);
        let cx = Cx::new(client, clock, recorder, "housekeeping");
        static BUILT_IN: LazyLock<BuiltIn> = LazyLock::new(|| kinds::builtin_names().collect());
        let what = Chores::default();
        karavel_housekeeping::start(what, &BUILT_IN, &caches, &cx, &self.chores);
    }

    /// Ends housekeeping in the middle of whatever it does, and begins it anew with nothing remembered.
    pub(crate) async fn restart_chores(&mut self) {
        self.chores.stop();
        self.chores = self.tasks.spawner().branch();
        self.begin_chores();
    }

    pub(crate) async fn create(&self, resource: &ResourceType, object: Value) -> Object {
        let mut object = Object::from_value(object).unwrap();
        object
            .set(&["apiVersion"], resource.kind.api_version())
            .unwrap();
        object.set(&["kind"], resource.kind.kind.as_str()).unwrap();
        let options = WriteOptions::default();
        self.client
            .create(resource, &object, &options)
            .await
            .unwrap()
    }

    pub(crate) async fn delete(
        &self,
        resource: &ResourceType,
        key: &ObjectKey,
        how: Option<Propagation>,
    ) {
        let options = DeleteOptions {
            propagation: how,
            ..DeleteOptions::default()
        };
        match self.client.delete(resource, key, &options).await {
            // It went with its owner a moment before.
            Err(error) if error.is_not_found() => {}
            other => drop(other.unwrap()),
        }
    }

    pub(crate) async fn patch(
        &self,
        resource: &ResourceType,
        key: &ObjectKey,
        patch: Value,
        part: Part,
    ) {
        let options = WriteOptions::default();
        self.client
            .patch(resource, key, PatchKind::Merge, &patch, &part, &options)
            .await
            .unwrap();
    }

    pub(crate) async fn get(&self, resource: &ResourceType, key: &ObjectKey) -> Option<Object> {
        match self.client.get(resource, key).await {
            Ok(object) => Some(object),
            Err(error) if error.is_not_found() => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// The names of all objects of a kind, as soon as they are these; otherwise what they were at the end of a minute.
    pub(crate) async fn names(&self, resource: &ResourceType, wanted: &str) -> String {
        let mut found = String::new();
        for _ in 0..600 {
            let options = ListOptions::default();
            let list = self.client.list(resource, "", &options).await.unwrap();
            let names: Vec<&str> = list.items.iter().map(|item| item.name()).collect();
            found = names.join(" ");
            if found == wanted {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        found
    }
}

pub(crate) fn config_maps() -> ResourceType {
    ResourceType::namespaced("", "v1", "ConfigMap", "configmaps")
}

/// A ConfigMap in `shop` with owners of the same kind.
pub(crate) fn owned(name: &str, owners: &[&Object]) -> Value {
    let owners: Vec<Value> = owners
        .iter()
        .map(|owner| {
            json!({"apiVersion": owner.api_version(), "kind": owner.kind(), "name": owner.name(),
                   "uid": owner.uid(), "blockOwnerDeletion": true})
        })
        .collect();
    json!({"metadata": {"name": name, "namespace": "shop", "ownerReferences": owners}})
}
