//! A control plane in the process: the real server on a store in memory, the controllers, and stand-ins for the scheduler
//! and the members, which the cases play themselves.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use api::{
    Kind,
    cluster::Cluster,
    registry::{RESOURCES, Scope as Reach},
    work::{
        v1alpha1::Work,
        v1alpha2::{ClusterResourceBinding, ResourceBinding},
    },
};
use bytes::Bytes;
use client::{Body, Caches, Client, DeleteOptions, PatchKind, Scope, WriteOptions};
use control::{Cx, EventSink, Recorder};
use futures_util::{
    StreamExt as _,
    future::ready,
    stream::{self, Stream},
};
use http::{Request, Response};
use intent::Part;
use interpret::Interpreter;
use karavel_controllers::Options;
use object::{GroupVersionKind, Object, ObjectKey, ResourceType, Value, time::Time};
use runtime::{Clock, Tasks};
use serde_json::json;
use serve::{
    call::User,
    resource::Table,
    server::{About, Server, Surroundings},
};
use store::{Store, embedded::Retention, memory::Memory};
use tokio::sync::{Notify, watch};

/// How long a state is waited for: long on a busy machine, and nothing under a clock that stands still.
const PATIENCE: Duration = Duration::from_secs(60);

/// The control plane.
pub(crate) struct Plane {
    pub(crate) client: Client,
    pub(crate) caches: Caches,
    pub(crate) tasks: Tasks,
    pub(crate) clock: Clock,
    rules: watch::Sender<Arc<Interpreter>>,
    server: Arc<Server>,
    seen: Arc<Notify>,
    _watches: Vec<client::Subscription>,
}

impl Plane {
    /// A server without controllers.
    pub(crate) async fn without_controllers() -> Self {
        let clock = Clock::tied("2026-01-02T03:04:05Z".parse().unwrap());
        let store = Store::Memory(Memory::new(Retention::default()));
        let surroundings = Arc::new(Counted {
            clock: clock.clone(),
            next: AtomicU64::new(1),
        });
        let about = About {
            version: "v1.34.0".to_owned(),
            address: "localhost:0".to_owned(),
        };
        let server = Server::open(store, table(), Vec::new(), surroundings, about)
            .await
            .unwrap();
        let server = Arc::new(server);
        let mut tasks = Tasks::new();
        let fed = Arc::clone(&server);
        tasks.spawn("feed", |stop| async move {
            tokio::select! {
                () = stop.cancelled() => {}
                _ = fed.feed() => {}
            }
        });
        let client = Client::in_process(Door {
            server: Arc::clone(&server),
        });
        let caches = Caches::new(client.clone(), tasks.spawner(), clock.clone());
        let seen = Arc::new(Notify::new());
        let (rules, _) = watch::channel(Arc::new(Interpreter::default()));
        let mut plane = Self {
            client,
            caches,
            tasks,
            clock,
            rules,
            server,
            seen,
            _watches: Vec::new(),
        };
        for kind in [
            kind_of("apps/v1", "Deployment"),
            kind_of("v1", "ConfigMap"),
            of::<ResourceBinding>(),
            of::<ClusterResourceBinding>(),
            of::<Work>(),
            kind_of("policy.karmada.io/v1alpha1", "PropagationPolicy"),
        ] {
            let seen = Arc::clone(&plane.seen);
            let cache = plane.caches.follow(&kind, Scope::all());
            let watch = cache.on_change(move |_| seen.notify_waiters());
            plane._watches.push(watch);
        }
        for namespace in ["default", "test", "karmada-es-m1", "karmada-es-m2"] {
            plane
                .create(&format!(
                    "{{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}}}}}"
                ))
                .await;
        }
        for cluster in ["m1", "m2"] {
            plane
                .create(&format!("{{apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {{name: {cluster}}}, spec: {{syncMode: Push}}}}"))
                .await;
        }
        plane
    }

    /// A server with controllers.
    pub(crate) async fn new() -> Self {
        let plane = Self::without_controllers().await;
        plane.start(Options::default());
        plane
    }

    /// Starts the controllers, as a process that has just been started would.
    pub(crate) fn start(&self, options: Options) {
        self.start_seeing(&self.caches, options);
    }

    /// Starts the controllers with a view of works that stays as it is: nothing comes through its watch.
    pub(crate) fn start_behind(&self, options: Options) {
        let behind = Client::in_process(Behind(Door {
            server: Arc::clone(&self.server),
        }));
        let caches = Caches::new(behind, self.tasks.spawner(), self.clock.clone());
        self.start_seeing(&caches, options);
    }

    fn start_seeing(&self, caches: &Caches, options: Options) {
        let spawner = self.tasks.spawner();
        let sink = EventSink {
            client: self.client.clone(),
            component: "controllers",
            namespace: "default",
        };
        let recorder = Recorder::start(sink, self.clock.clone(), &spawner);
        let cx = Cx::new(self.client.clone(), self.clock.clone(), recorder, "karavel");
        karavel_controllers::run(&cx, caches, &spawner, self.rules.subscribe(), options);
    }

    pub(crate) async fn create(&self, document: &str) -> Object {
        let object: Object = serde_saphyr::from_str(document).unwrap();
        let kind = kind_of(object.api_version(), object.kind());
        let created = self
            .client
            .create(&kind, &object, &WriteOptions::by("user"))
            .await;
        created.unwrap_or_else(|error| panic!("{document}: {}", telemetry::chain(&error)))
    }

    pub(crate) async fn patch(&self, kind: &ResourceType, key: &str, patch: Value, part: Part) {
        let key: ObjectKey = key.parse().unwrap();
        let patched = self
            .client
            .patch(
                kind,
                &key,
                PatchKind::Merge,
                &patch,
                &part,
                &WriteOptions::by("user"),
            )
            .await;
        patched.unwrap_or_else(|error| panic!("{key} {patch}: {}", telemetry::chain(&error)));
    }

    pub(crate) async fn delete(&self, kind: &ResourceType, key: &str) {
        let key: ObjectKey = key.parse().unwrap();
        let deleted = self
            .client
            .delete(kind, &key, &DeleteOptions::default())
            .await;
        deleted.unwrap_or_else(|error| panic!("{key}: {}", telemetry::chain(&error)));
    }

    /// The object as the server has it.
    pub(crate) async fn get(&self, kind: &ResourceType, key: &str) -> Option<Object> {
        let key: ObjectKey = key.parse().unwrap();
        self.client.get(kind, &key).await.ok()
    }

    /// Plays the scheduler.
    pub(crate) async fn schedule(&self, binding: &str, clusters: Value) {
        let kind = of::<ResourceBinding>();
        self.patch(
            &kind,
            binding,
            json!({"spec": {"clusters": clusters}}),
            Part::Object,
        )
        .await;
        let now = self.clock.now();
        let patch = json!({"status": {"lastScheduledTime": now}});
        self.patch(&kind, binding, patch, Part::Status).await;
    }

    /// Plays a member that has applied its work and reports a status.
    pub(crate) async fn report(&self, work: &ObjectKey, status: Value) {
        let now = self.clock.now();
        let patch = json!({"status": {
            "conditions": [{"type": "Applied", "status": "True", "reason": "AppliedSuccessful", "message": "", "lastTransitionTime": now}],
            "manifestStatuses": [{"identifier": {"ordinal": 0, "version": "v1", "kind": "Deployment", "resource": "deployments", "name": "web"}, "status": status, "health": "Healthy"}],
        }});
        self.patch(&of::<Work>(), &work.to_string(), patch, Part::Status)
            .await;
    }

    /// Waits until the object is as wanted; shows what it was if that never happens.
    pub(crate) async fn until(
        &self,
        kind: &ResourceType,
        key: &str,
        wanted: impl Fn(Option<&Object>) -> bool,
    ) -> Option<Object> {
        let wait = async {
            loop {
                let changed = self.seen.notified();
                let found = self.get(kind, key).await;
                if wanted(found.as_ref()) {
                    return found;
                }
                changed.await;
            }
        };
        match tokio::time::timeout(PATIENCE, wait).await {
            Ok(found) => found,
            Err(_) => panic!("{key} is {:#?}", self.get(kind, key).await),
        }
    }

    /// Waits until the object is there.
    pub(crate) async fn appears(&self, kind: &ResourceType, key: &str) -> Object {
        self.until(kind, key, |found| found.is_some())
            .await
            .unwrap()
    }

    /// Waits until the object is gone.
    pub(crate) async fn vanishes(&self, kind: &ResourceType, key: &str) {
        self.until(kind, key, |found| found.is_none()).await;
    }

    /// The newest revision, to see whether anything was written in between.
    pub(crate) async fn revision(&self) -> u64 {
        let options = client::ListOptions {
            limit: 1,
            ..client::ListOptions::default()
        };
        let list = self.client.list(&of::<Work>(), "", &options).await.unwrap();
        list.resource_version.parse().unwrap()
    }

    /// Lets everything come to rest: nothing is written for a while of the clock that stands still.
    pub(crate) async fn settle(&self) {
        loop {
            let before = self.revision().await;
            tokio::time::sleep(Duration::from_millis(200)).await;
            if self.revision().await == before {
                return;
            }
        }
    }

    /// Changes how templates are interpreted.
    pub(crate) fn interpret_by(&self, rules: Interpreter) {
        self.rules.send_replace(Arc::new(rules));
    }

    /// Changes what is served.
    pub(crate) fn serve_more(&self, definition: &Value) {
        let mut table = Table::clone(&self.server.table());
        table.insert(kinds::resource_of_definition(definition).unwrap());
        self.server.set_table(table);
    }
}

/// Where objects of a multi-cluster kind are.
pub(crate) fn of<T: Kind>() -> ResourceType {
    ResourceType {
        kind: GroupVersionKind::new(T::RESOURCE.group, T::VERSION, T::KIND),
        plural: T::RESOURCE.plural.to_owned(),
        namespaced: T::RESOURCE.scope == Reach::Namespaced,
    }
}

/// Where objects of a kind are, for the kinds of these cases.
pub(crate) fn kind_of(api_version: &str, kind: &str) -> ResourceType {
    let kind = GroupVersionKind::from_api_version(api_version, kind).unwrap();
    let plural = match kind.kind.as_str() {
        "PropagationPolicy" => "propagationpolicies".to_owned(),
        "OverridePolicy" => "overridepolicies".to_owned(),
        other => format!("{}s", other.to_lowercase()),
    };
    let cluster_wide = [
        "Namespace",
        "Cluster",
        "CustomResourceDefinition",
        "ResourceInterpreterWebhookConfiguration",
    ];
    ResourceType {
        namespaced: !cluster_wide.contains(&kind.kind.as_str()),
        kind,
        plural,
    }
}

pub(crate) fn deployments() -> ResourceType {
    kind_of("apps/v1", "Deployment")
}

pub(crate) fn clusters() -> ResourceType {
    of::<Cluster>()
}

fn table() -> Table {
    let mut table = Table::default();
    for resource in kinds::builtin_resources() {
        table.insert(resource);
    }
    for kind in RESOURCES {
        let definition = api::schema::definition(kind);
        table.insert(kinds::resource_of_definition(&definition).unwrap());
    }
    table
}

/// The server as a service.
#[derive(Clone)]
struct Door {
    server: Arc<Server>,
}

impl tower_service::Service<Request<Body>> for Door {
    type Response = Response<serve::body::Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let server = Arc::clone(&self.server);
        Box::pin(async move {
            let user = User {
                name: "tester".to_owned(),
                ..User::default()
            };
            Ok(server.answer(user, request).await)
        })
    }
}

/// The same, but that watches of works say nothing beyond what there was when they began.
#[derive(Clone)]
struct Behind(Door);

impl tower_service::Service<Request<Body>> for Behind {
    type Response = Response<serve::body::Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let is_watch = request.uri().path().ends_with("/works")
            && request.uri().query().unwrap_or_default().contains("watch=");
        let answering = self.0.call(request);
        if !is_watch {
            return answering;
        }
        Box::pin(async move {
            let answer = answering.await?;
            Ok(answer.map(|body| match body {
                serve::body::Body::Stream(chunks) => serve::body::Body::Stream(beginning(chunks)),
                whole => whole,
            }))
        })
    }
}

/// A watch up to the mark that all there was has been told; then nothing more.
fn beginning(
    chunks: Pin<Box<dyn Stream<Item = Bytes> + Send>>,
) -> Pin<Box<dyn Stream<Item = Bytes> + Send>> {
    let mut is_over = false;
    let begins = move |chunk: &Bytes| {
        let goes_on = !is_over;
        is_over |= String::from_utf8_lossy(chunk).contains("initial-events-end");
        ready(goes_on)
    };
    Box::pin(chunks.take_while(begins).chain(stream::pending()))
}

/// A clock tied to the test's, and uids that count.
struct Counted {
    clock: Clock,
    next: AtomicU64,
}

impl Surroundings for Counted {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn uid(&self) -> String {
        format!("uid-{}", self.next.fetch_add(1, Ordering::Relaxed))
    }

    fn suffix(&self) -> String {
        format!("{:05}", self.next.fetch_add(1, Ordering::Relaxed))
    }
}
