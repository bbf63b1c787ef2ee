//! A control plane and one member, joined.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ::api::cluster::Cluster;
use ::api::work::v1alpha1::Work;
use client::{Caches, Endpoint};
use control::{Cx, EventSink, Recorder};
use member::connect::{Connect, Connecting};
use member::fleet::{Fleet, Members, Options};
use member::{fleet, lifecycle, monitor, namespaces, resources};
use object::time::Time;
use object::{Object, ResourceType, Value};
use runtime::{Clock, Tasks};
use serde_json::json;
use tokio::sync::watch;

use crate::api::{Api, Kinds};

/// Reaches members in the process, by their address.
#[derive(Clone, Default)]
pub(crate) struct Wires {
    members: Arc<Mutex<HashMap<String, Api>>>,
}

impl Wires {
    pub(crate) fn add(&self, address: &str, api: &Api) {
        self.members
            .lock()
            .unwrap()
            .insert(address.to_owned(), api.clone());
    }
}

impl Connect for Wires {
    fn connect<'a>(&'a self, _: &'a str, endpoint: &'a Endpoint) -> Connecting<'a> {
        let api = self.members.lock().unwrap().get(&endpoint.server).cloned();
        Box::pin(async move {
            match api {
                Some(api) => Ok(api.client()),
                None => Err("there is nobody at that address".into()),
            }
        })
    }
}

pub(crate) struct World {
    pub(crate) control: Api,
    pub(crate) member: Api,
    pub(crate) clock: Clock,
    pub(crate) members: Members,
    _interpreter: watch::Sender<Arc<interpret::Interpreter>>,
    tasks: Tasks,
}

pub(crate) const ADDRESS: &str = "https://m1.example:6443";

impl World {
    /// A control plane and a member that has not joined.
    pub(crate) async fn start() -> Self {
        let tasks = Tasks::new();
        let spawner = tasks.spawner();
        let clock = Clock::tied(Time::from_unix_seconds(1_800_000_000));
        let control = Api::start("cp", Kinds::ControlPlane, &clock, &spawner).await;
        let member = Api::start("m1", Kinds::Member, &clock, &spawner).await;
        let wires = Wires::default();
        wires.add(ADDRESS, &member);
        let caches = Caches::new(control.client(), spawner.clone(), clock.clone());
        let sink = EventSink {
            client: control.client(),
            component: "member",
            namespace: "default",
        };
        let events = Recorder::start(sink, clock.clone(), &spawner);
        let cx = Cx::new(control.client(), clock.clone(), events, "karavel");
        let (sender, interpreter) = watch::channel(Arc::new(interpret::Interpreter::default()));
        lifecycle::run(&caches, cx.clone(), 2, &spawner);
        monitor::run(&caches, cx.clone(), monitor::Grace::default(), &spawner);
        namespaces::run(
            &caches,
            cx.clone(),
            namespaces::Skipped::default(),
            &spawner,
        );
        let connector = Arc::new(wires.clone());
        let fleet = Fleet {
            caches,
            cx,
            connector,
            interpreter,
            options: Options::default(),
        };
        let members = fleet::run(fleet, &spawner);
        Self {
            control,
            member,
            clock,
            members,
            _interpreter: sender,
            tasks,
        }
    }

    /// A control plane and a member that has joined and is ready.
    pub(crate) async fn joined() -> Self {
        let world = Self::start().await;
        world.join().await;
        world
            .until("the member is ready", async || {
                world.ready().await == "True ClusterReady"
            })
            .await;
        world
    }

    /// What joining would have made in the control plane.
    pub(crate) async fn join(&self) {
        let secret = json!({"metadata": {"name": "m1", "namespace": "karmada-cluster"}, "data": {"token": "dA==", "caBundle": "Y2E="}});
        self.control.create(&resources::secrets(), secret).await;
        let cluster = json!({"metadata": {"name": "m1"}, "spec": {"syncMode": "Push", "apiEndpoint": ADDRESS,
            "secretRef": {"namespace": "karmada-cluster", "name": "m1"},
            "resourceModels": [
                {"grade": 0, "ranges": [{"name": "cpu", "min": "0", "max": "2"}]},
                {"grade": 1, "ranges": [{"name": "cpu", "min": "2", "max": "9223372036854775807"}]}]}});
        self.control
            .create(&resources::of::<Cluster>(), cluster)
            .await;
    }

    pub(crate) async fn cluster(&self) -> Object {
        self.control
            .get(&resources::of::<Cluster>(), "", "m1")
            .await
            .unwrap()
    }

    /// Status and reason of the cluster's Ready condition.
    pub(crate) async fn ready(&self) -> String {
        let Some(cluster) = self
            .control
            .get(&resources::of::<Cluster>(), "", "m1")
            .await
        else {
            return "gone".to_owned();
        };
        condition(&cluster, "Ready")
    }

    /// A work for a ConfigMap of the member.
    pub(crate) async fn send(&self, name: &str, manifest: Value) {
        let work = json!({"metadata": {"name": name, "namespace": "karmada-es-m1", "finalizers": ["karmada.io/execution-controller"]},
                          "spec": {"workload": {"manifests": [marked(name, manifest)]}}});
        self.control.create(&resources::of::<Work>(), work).await;
    }

    pub(crate) async fn work(&self, name: &str) -> Option<Object> {
        self.control
            .get(&resources::of::<Work>(), "karmada-es-m1", name)
            .await
    }

    /// Status, reason and message of a work's Applied condition.
    pub(crate) async fn applied(&self, name: &str) -> String {
        match self.work(name).await {
            Some(work) => condition(&work, "Applied"),
            None => "gone".to_owned(),
        }
    }

    pub(crate) async fn in_member(&self, resource: &ResourceType, name: &str) -> Option<Object> {
        self.member.get(resource, "shop", name).await
    }

    /// Waits for a state, in virtual time, an hour at most.
    pub(crate) async fn until(&self, what: &str, mut holds: impl AsyncFnMut() -> bool) {
        self.within(Duration::from_secs(3_600), what, &mut holds)
            .await;
    }

    /// Waits for a state, in virtual time.
    pub(crate) async fn within(
        &self,
        limit: Duration,
        what: &str,
        mut holds: impl AsyncFnMut() -> bool,
    ) {
        let deadline = tokio::time::Instant::now() + limit;
        while !holds().await {
            assert!(
                tokio::time::Instant::now() < deadline,
                "never: {what}; ready is {}",
                self.ready().await
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Lets time pass.
    pub(crate) async fn pass(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    pub(crate) async fn end(self) {
        let outcome = self
            .tasks
            .run_until(std::future::ready(()), Duration::from_secs(10))
            .await;
        assert_eq!(outcome, runtime::Outcome::Clean);
    }
}

/// A manifest with the marks of its work.
pub(crate) fn marked(work: &str, mut manifest: Value) -> Value {
    manifest["metadata"]["labels"]["karmada.io/managed"] = json!("true");
    manifest["metadata"]["annotations"]["work.karmada.io/namespace"] = json!("karmada-es-m1");
    manifest["metadata"]["annotations"]["work.karmada.io/name"] = json!(work);
    manifest
}

/// Status and reason of a condition, or `-`.
pub(crate) fn condition(object: &Object, r#type: &str) -> String {
    let conditions = object
        .at(&["status", "conditions"])
        .and_then(Value::as_array);
    let found = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == r#type);
    found.map_or("-".to_owned(), |found| {
        format!(
            "{} {}",
            found["status"].as_str().unwrap(),
            found["reason"].as_str().unwrap()
        )
    })
}
