//! A follower of pods, and what it holds and tells.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use karavel_client::{Cache, Caches, Change, Client, Scope, Subscription};
use object::ResourceType;
use object::time::Time;
use runtime::{Clock, Tasks};
use serde_json::{Value, json};

use crate::script::Script;

pub(crate) fn pods() -> ResourceType {
    ResourceType::namespaced("", "v1", "Pod", "pods")
}

/// `name@revision`, with the name as uid; `name#uid@revision` has another.
pub(crate) fn pod(text: &str) -> Value {
    let (name, revision) = text.split_once('@').unwrap();
    let (name, uid) = name.split_once('#').unwrap_or((name, name));
    json!({"metadata": {"name": name, "namespace": "n", "uid": uid, "resourceVersion": revision,
                        "managedFields": [{"manager": "somebody"}]}})
}

/// A follower of pods and what it told.
pub(crate) struct Watched {
    _tasks: Tasks,
    pub(crate) caches: Caches,
    pub(crate) cache: Cache,
    told: Arc<Mutex<Vec<String>>>,
    _subscription: Subscription,
}

impl Watched {
    pub(crate) fn start(script: &Script) -> Self {
        Self::start_with(script, Scope::all())
    }

    pub(crate) fn start_with(script: &Script, scope: Scope) -> Self {
        let tasks = Tasks::new();
        let clock = Clock::tied(Time::from_unix_seconds(0));
        let client = Client::in_process(script.clone());
        let caches = Caches::new(client, tasks.spawner(), clock);
        let cache = caches.follow(&pods(), scope);
        let told = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&told);
        let subscription = cache.on_change(move |change| log.lock().unwrap().push(shown(change)));
        Self {
            _tasks: tasks,
            caches,
            cache,
            told,
            _subscription: subscription,
        }
    }

    /// What was told since the last call.
    pub(crate) fn told(&self) -> String {
        std::mem::take(&mut *self.told.lock().unwrap()).join(" ")
    }

    /// What is held.
    pub(crate) fn held(&self) -> String {
        let held: Vec<String> = self
            .cache
            .list()
            .iter()
            .map(|object| format!("{}@{}", object.name(), object.resource_version()))
            .collect();
        held.join(" ")
    }
}

pub(crate) fn shown(change: &Change) -> String {
    let sign = match (&change.before, &change.after) {
        (None, _) => '+',
        (_, None) => '-',
        _ => '~',
    };
    let object = change.object();
    format!("{sign}{}@{}", object.name(), object.resource_version())
}

pub(crate) async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}
