//! A scheduler in a process with the API it works on: a real server of the multi-cluster kinds, on a store in memory.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::Duration,
};

use api::{
    registry::{self, RESOURCES},
    work::placing,
};
use client::{Caches, Client, DeleteOptions, PatchKind, WriteOptions};
use control::{Cx, Recorder};
use http::{Request, Response};
use intent::Part;
use karavel_scheduler::{Scheduler, Settings, run};
use object::{Object, ObjectKey, ResourceType, Value, time::Time};
use runtime::{Clock, Tasks};
use serve::{
    body::Body,
    call::{Admission, User},
    resource::{KindRules, Resource, Subresource, Table, keep_other_parts},
    server::{About, Server, Surroundings},
    target::Verb,
};
use store::{Store, embedded::Retention, memory::Memory};

/// The API, and everything that runs in the process.
pub(crate) struct World {
    pub(crate) client: Client,
    pub(crate) caches: Caches,
    pub(crate) cx: Cx,
    pub(crate) tasks: Tasks,
}

/// The server's clock is the world's, and its chance counts.
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

/// The server as a service for a client.
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

impl World {
    /// The API alone.
    pub(crate) async fn new(clock: Clock) -> Self {
        Self::judged_by(Vec::new(), clock).await
    }

    /// The API with somebody who may refuse writes.
    pub(crate) async fn judged_by(hooks: Vec<Arc<dyn Admission>>, clock: Clock) -> Self {
        let mut table = Table::default();
        for kind in RESOURCES {
            let definition = api::schema::definition(kind);
            let mut resource = kinds::resource_of_definition(&definition).unwrap();
            if matches!(kind.kind, "ResourceBinding" | "ClusterResourceBinding") {
                place_at_once(&mut resource);
            }
            table.insert(resource);
        }
        let about = About {
            version: "v1.34.0".to_owned(),
            address: "127.0.0.1:5443".to_owned(),
        };
        let surroundings = Tied {
            clock: clock.clone(),
            count: AtomicU64::new(0),
        };
        let store = Store::Memory(Memory::new(Retention::default()));
        let server = Server::open(store, table, hooks, Arc::new(surroundings), about).await;
        let server = Arc::new(server.unwrap());
        let mut tasks = Tasks::new();
        let fed = Arc::clone(&server);
        tasks.spawn("feed", move |stop| async move {
            tokio::select! {
                () = stop.cancelled() => {}
                _ = fed.feed() => {}
            }
        });
        let client = Client::in_process(Direct { server });
        let caches = Caches::new(client.clone(), tasks.spawner(), clock.clone());
        let cx = Cx::new(
            client.clone(),
            clock,
            Recorder::silent(),
            "karavel-scheduler",
        );
        Self {
            client,
            caches,
            cx,
            tasks,
        }
    }

    /// The API with four clusters that are ready, and a scheduler, under a clock that only moves when nobody is busy.
    pub(crate) async fn with_clusters(settings: Settings) -> (Self, Scheduler) {
        Self::new(start()).await.filled(settings).await
    }

    /// The same, with somebody who may refuse writes.
    pub(crate) async fn with_clusters_judged_by(
        hooks: Vec<Arc<dyn Admission>>,
        settings: Settings,
    ) -> (Self, Scheduler) {
        Self::judged_by(hooks, start()).await.filled(settings).await
    }

    /// The API with those clusters and nobody who decides yet.
    pub(crate) async fn filled_with_clusters() -> Self {
        let world = Self::new(start()).await;
        world.fill().await;
        world
    }

    async fn filled(self, settings: Settings) -> (Self, Scheduler) {
        self.fill().await;
        let scheduler = self.schedule(settings);
        (self, scheduler)
    }

    async fn fill(&self) {
        for (name, pods) in [("m1", 10), ("m2", 20), ("m3", 30), ("m4", 40)] {
            self.create(&registry::CLUSTER, cluster(name, pods)).await;
            self.report(name, cluster(name, pods)).await;
        }
    }

    /// Starts a scheduler.
    pub(crate) fn schedule(&self, settings: Settings) -> Scheduler {
        run(settings, &self.caches, &self.cx, &self.tasks.spawner()).unwrap()
    }

    pub(crate) async fn create(&self, kind: &registry::Resource, object: Object) -> Object {
        let options = WriteOptions::default();
        let resource = ResourceType::from(kind);
        self.client
            .create(&resource, &object, &options)
            .await
            .unwrap()
    }

    /// Merges a patch into a part of an object.
    pub(crate) async fn patch(
        &self,
        kind: &registry::Resource,
        key: &str,
        patch: Value,
        part: Part,
    ) -> Object {
        let (resource, options) = (ResourceType::from(kind), WriteOptions::default());
        let key: ObjectKey = key.parse().unwrap();
        let patched = self
            .client
            .patch(&resource, &key, PatchKind::Merge, &patch, &part, &options);
        patched.await.unwrap()
    }

    pub(crate) async fn delete(&self, kind: &registry::Resource, key: &str) {
        let (key, options) = (key.parse().unwrap(), DeleteOptions::default());
        let deleted = self
            .client
            .delete(&ResourceType::from(kind), &key, &options)
            .await;
        deleted.unwrap();
    }

    /// Puts the status of `cluster` into the cluster called `name`.
    pub(crate) async fn report(&self, name: &str, cluster: Object) {
        let status = cluster.at(&["status"]).cloned().unwrap_or_default();
        self.patch(
            &registry::CLUSTER,
            name,
            serde_json::json!({"status": status}),
            Part::Status,
        )
        .await;
    }

    /// A binding as the API has it.
    pub(crate) async fn binding(&self, key: &str) -> Object {
        let resource = ResourceType::from(&registry::RESOURCE_BINDING);
        self.client
            .get(&resource, &key.parse().unwrap())
            .await
            .unwrap()
    }

    /// Waits until a binding looks as expected: its targets and the reason of its condition.
    pub(crate) async fn expect(&self, key: &str, expected: &str) {
        let mut seen = String::new();
        // Ten seconds, of the world's clock: far more than a busy machine takes.
        for _ in 0..10_000 {
            let binding = self.binding(key).await;
            seen = show(&binding);
            if seen == expected {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("{key} is {seen:?} and does not become {expected:?}");
    }

    /// Waits until what was written of clusters has reached everybody: the clock stands still while somebody is busy.
    pub(crate) async fn settle_clusters(&self) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    /// Waits until nothing is to be decided any more, then says how a binding looks.
    pub(crate) async fn settle(&self, scheduler: &Scheduler, key: &str) -> String {
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        while scheduler.counts().active + scheduler.counts().in_work > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        show(&self.binding(key).await)
    }
}

/// A clock that only moves when nobody is busy.
pub(crate) fn start() -> Clock {
    Clock::tied(Time::from_unix_seconds(1_700_000_000))
}

/// Gives bindings the part that takes result and status in one write, as the control plane does.
fn place_at_once(resource: &mut Resource) {
    struct Placing(Arc<dyn KindRules>);

    impl KindRules for Placing {
        fn cells(&self, version: &str, object: &Value, now: Time) -> Vec<Value> {
            self.0.cells(version, object, now)
        }

        fn prepare_update(&self, _: &str, old: &Value, new: &mut Value, part: &str) {
            if part == placing::PART {
                placing::keep_to_decision(old, new);
                return;
            }
            keep_other_parts(old, new, part);
        }

        fn unowned_fields(&self, _: &str, part: &str) -> &'static [&'static str] {
            match part {
                placing::PART => &[],
                "status" => &["spec"],
                _ => &["status"],
            }
        }
    }

    resource.rules = Arc::new(Placing(Arc::clone(&resource.rules)));
    for version in &mut resource.versions {
        version.subresources.push(Subresource {
            name: placing::PART.into(),
            kind: None,
            verbs: vec![Verb::Patch],
            action: serve::resource::Action::Status,
        });
    }
}

/// `m1=2 m2=1 Success`
pub(crate) fn show(binding: &Object) -> String {
    let targets = binding.at(&["spec", "clusters"]).and_then(Value::as_array);
    let target = |target: &Value| {
        let name = target["name"].as_str().unwrap_or_default();
        match target.get("replicas") {
            Some(replicas) => format!("{name}={replicas}"),
            None => name.to_owned(),
        }
    };
    let mut words: Vec<String> = targets.into_iter().flatten().map(target).collect();
    let conditions = binding
        .at(&["status", "conditions"])
        .and_then(Value::as_array);
    let mut conditions = conditions.into_iter().flatten();
    if let Some(scheduled) = conditions.find(|condition| condition["type"] == "Scheduled") {
        words.push(scheduled["reason"].as_str().unwrap_or_default().to_owned());
    }
    words.join(" ")
}

/// A cluster that serves Deployments and ConfigMaps and has room for so many pods.
pub(crate) fn cluster(name: &str, pods: u32) -> Object {
    object(serde_json::json!({
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
        "metadata": {"name": name},
        "spec": {"syncMode": "Push"},
        "status": {
            "apiEnablements": [
                {"groupVersion": "apps/v1", "resources": [{"kind": "Deployment", "name": "deployments"}]},
                {"groupVersion": "v1", "resources": [{"kind": "ConfigMap", "name": "configmaps"}]},
            ],
            "resourceSummary": {"allocatable": {"cpu": pods.to_string(), "pods": "1000"}},
        },
    }))
}

/// The binding of a Deployment in namespace `shop` whose replicas each want one CPU.
pub(crate) fn binding(name: &str, replicas: u32, placement: &Value) -> Object {
    object(serde_json::json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {
            "namespace": "shop", "name": name,
            "labels": {"propagationpolicy.karmada.io/permanent-id": "id"},
        },
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": name, "uid": ""},
            "replicas": replicas,
            "replicaRequirements": {"resourceRequest": {"cpu": "1"}},
            "placement": placement,
        },
    }))
}

/// Divided by the room there is.
pub(crate) fn by_room() -> Value {
    serde_json::json!({"replicaScheduling": {
        "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    }})
}

pub(crate) fn object(value: Value) -> Object {
    Object::from_value(value).unwrap()
}
