//! A whole API server in the process, with a cable that can be pulled.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use client::{Body as RequestBody, Client, PatchKind, WriteOptions};
use http::{Request, Response};
use intent::Part;
use object::time::Time;
use object::{Object, ObjectKey, ResourceType, Value};
use runtime::{Clock, Spawner};
use serde_json::json;
use serve::body::Body;
use serve::call::User;
use serve::resource::Table;
use serve::server::{About, Server, Surroundings};
use store::Store;
use store::memory::Memory;
use tower_service::Service;

/// An API; clones are the same.
#[derive(Clone)]
pub(crate) struct Api {
    server: Arc<Server>,
    /// What happens to requests: 0 they are answered, 1 they get lost, anything else is the answer.
    fault: Arc<AtomicU16>,
    requests: Arc<AtomicU64>,
}

/// Which kinds an API serves.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kinds {
    /// Kubernetes' own.
    Member,
    /// Those and the multi-cluster kinds.
    ControlPlane,
}

struct Around {
    clock: Clock,
    count: AtomicU64,
    name: &'static str,
}

impl Surroundings for Around {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn uid(&self) -> String {
        format!(
            "{}-{}",
            self.name,
            self.count.fetch_add(1, Ordering::Relaxed)
        )
    }

    fn suffix(&self) -> String {
        format!("x{:04}", self.count.fetch_add(1, Ordering::Relaxed))
    }
}

impl Api {
    pub(crate) async fn start(
        name: &'static str,
        kinds: Kinds,
        clock: &Clock,
        spawner: &Spawner,
    ) -> Self {
        let store = Store::Memory(Memory::new(store::embedded::Retention::default()));
        let mut table = Table::default();
        for resource in kinds::builtin_resources() {
            table.insert(resource);
        }
        if kinds == Kinds::ControlPlane {
            for kind in api::registry::RESOURCES {
                let definition = api::schema::definition(kind);
                table.insert(kinds::resource_of_definition(&definition).unwrap());
            }
        }
        let about = About {
            version: "v1.34.0".to_owned(),
            address: "127.0.0.1:6443".to_owned(),
        };
        let around = Around {
            clock: clock.clone(),
            count: AtomicU64::new(1),
            name,
        };
        let server = Server::open(store, table, Vec::new(), Arc::new(around), about)
            .await
            .unwrap();
        let server = Arc::new(server);
        let fed = Arc::clone(&server);
        spawner.spawn(format!("feed of {name}"), |stop| async move {
            tokio::select! {
                () = stop.cancelled() => {}
                ended = fed.feed() => drop(ended),
            }
        });
        let api = Self {
            server,
            fault: Arc::default(),
            requests: Arc::default(),
        };
        // A namespace of the member alone, so that nobody sends it there.
        let further = if kinds == Kinds::Member {
            "shop"
        } else {
            "karmada-system"
        };
        for namespace in ["default", "kube-system", "karmada-cluster", further] {
            api.create(&namespaces(), json!({"metadata": {"name": namespace}}))
                .await;
        }
        api
    }

    pub(crate) fn client(&self) -> Client {
        Client::in_process(self.clone()).limited(Duration::from_secs(5), 64)
    }

    /// Requests get lost from now on.
    pub(crate) fn cut_off(&self) {
        self.fault.store(1, Ordering::SeqCst);
    }

    /// Requests are answered with an error from now on.
    pub(crate) fn fail_with(&self, code: u16) {
        self.fault.store(code, Ordering::SeqCst);
    }

    /// All is well again.
    pub(crate) fn restore(&self) {
        self.fault.store(0, Ordering::SeqCst);
    }

    /// How many requests there were.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }

    pub(crate) async fn create(&self, resource: &ResourceType, value: Value) -> Object {
        let object = Object::from_value(value).unwrap();
        let client = Client::in_process(Healthy(self.clone()));
        client
            .create(resource, &object, &WriteOptions::by("test"))
            .await
            .unwrap()
    }

    pub(crate) async fn get(
        &self,
        resource: &ResourceType,
        namespace: &str,
        name: &str,
    ) -> Option<Object> {
        let client = Client::in_process(Healthy(self.clone()));
        client
            .get(resource, &ObjectKey::namespaced(namespace, name))
            .await
            .ok()
    }

    pub(crate) async fn patch(
        &self,
        resource: &ResourceType,
        namespace: &str,
        name: &str,
        patch: Value,
    ) {
        self.patch_part(resource, namespace, name, patch, Part::Object)
            .await;
    }

    pub(crate) async fn patch_part(
        &self,
        resource: &ResourceType,
        namespace: &str,
        name: &str,
        patch: Value,
        part: Part,
    ) {
        let client = Client::in_process(Healthy(self.clone()));
        let key = ObjectKey::namespaced(namespace, name);
        client
            .patch(
                resource,
                &key,
                PatchKind::Merge,
                &patch,
                &part,
                &WriteOptions::by("test"),
            )
            .await
            .unwrap();
    }

    pub(crate) async fn delete(&self, resource: &ResourceType, namespace: &str, name: &str) {
        let client = Client::in_process(Healthy(self.clone()));
        client
            .delete(
                resource,
                &ObjectKey::namespaced(namespace, name),
                &client::DeleteOptions::default(),
            )
            .await
            .unwrap();
    }

    /// Lets a namespace go that is being deleted, as whoever empties namespaces does.
    pub(crate) async fn let_go(&self, name: &str) {
        let Some(mut namespace) = self.get(&namespaces(), "", name).await else {
            return;
        };
        namespace.set(&["spec", "finalizers"], json!([])).unwrap();
        let client = Client::in_process(Healthy(self.clone()));
        let part = Part::Named("finalize".into());
        client
            .replace(&namespaces(), &namespace, &part, &WriteOptions::by("test"))
            .await
            .unwrap();
    }

    async fn answer(&self, request: Request<RequestBody>) -> Response<Body> {
        let user = User {
            name: "test".to_owned(),
            groups: vec!["system:masters".to_owned()],
            ..User::default()
        };
        self.server.answer(user, request).await
    }
}

impl Service<Request<RequestBody>> for Api {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let api = self.clone();
        Box::pin(async move {
            api.requests.fetch_add(1, Ordering::SeqCst);
            match api.fault.load(Ordering::SeqCst) {
                0 => Ok(api.answer(request).await),
                1 => std::future::pending().await,
                code => {
                    let mut response = Response::new(Body::Whole(bytes::Bytes::from_static(b"{}")));
                    *response.status_mut() = http::StatusCode::from_u16(code).unwrap();
                    Ok(response)
                }
            }
        })
    }
}

/// The same API beside the cable.
#[derive(Clone)]
struct Healthy(Api);

impl Service<Request<RequestBody>> for Healthy {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let api = self.0.clone();
        Box::pin(async move { Ok(api.answer(request).await) })
    }
}

pub(crate) fn namespaces() -> ResourceType {
    member::resources::namespaces()
}
