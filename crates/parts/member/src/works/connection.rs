//! One member as long as it is reached in one way: its client, its caches, and what is remembered about it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use api::names::cluster_of_execution_space;
use api::well_known::annotations::{WORK_NAME, WORK_NAMESPACE};
use api::well_known::conditions::work::APPLIED;
use api::well_known::labels::{MANAGED, TRUE};
use client::{
    Cache, Caches, CallError, Change, Client, CompleteView, Detail, Scope, Subscription,
    WriteOptions,
};
use control::{Cx, Pressure};
use intent::{Action, Plan};
use object::{GroupVersionKind, Object, ObjectKey, ResourceType, Value};
use runtime::{Priority, Queue, Spawner};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::apply::MANAGER;
use crate::apply::breaker::Breaker;
use crate::apply::contest::Contests;
use crate::apply::record::Records;
use crate::apply::undeclared::take_out;
use crate::census::Feed;
use crate::resources;
use crate::works::absence;
use crate::works::atlas::Atlas;
use crate::works::awaited::Awaited;
use crate::works::figures::Counted;
use crate::works::kinds::Kinds;
use crate::works::recognition::Recognition;
use crate::works::rivals;
use crate::works::unbrought::Believed;

/// How long a change in the member waits for those that follow it: controllers there report in several small steps.
const GATHERING: Duration = Duration::from_millis(15);
/// How long it waits while templates do not get on their way as fast as they come.
const GIVING_WAY: Duration = Duration::from_secs(2);
/// How long works wait for the first list of a kind: it tells of all that were brought before what a call each would. One that
/// takes longer is not waited for.
const FIRST_LIST: Duration = Duration::from_secs(2);
/// How urgent it is to report: less than to bring.
const REPORT: Priority = -1;
/// How many fields of one object a member may not know before it is believed that something else is wrong.
const UNDECLARED_AT_MOST: usize = 40;

/// An object as the member itself has just told it. What is deleted there is decided on this alone: only
/// [`Connection::read`] makes one, so that nothing a cache holds can be taken for it.
#[derive(Debug)]
pub(crate) struct Live(Object);

impl Live {
    /// An object that a test says the member told.
    #[cfg(test)]
    pub(crate) fn told(object: Object) -> Self {
        Self(object)
    }

    pub(crate) fn into_object(self) -> Object {
        self.0
    }
}

impl std::ops::Deref for Live {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.0
    }
}

/// Everything that is kept about a member while it is reached in one way.
pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) kinds: Kinds,
    pub(crate) records: Records,
    pub(crate) contests: Contests,
    pub(crate) believed: Believed,
    /// Whether it is the cluster that joined.
    pub(crate) recognition: Recognition,
    /// What is counted there; `None` if nothing is.
    pub(crate) census: Option<Feed>,
    /// The works that want to be looked at, once somebody looks at works.
    queue: OnceLock<Queue<ObjectKey>>,
    /// Carries out what is decided about the member's objects.
    member: Cx,
    caches: Caches,
    /// The execution namespace whose works are brought here.
    namespace: String,
    breaker: Mutex<Breaker>,
    followed: Mutex<HashMap<ResourceType, Followed>>,
    /// The works themselves, once somebody looks at works.
    works: OnceLock<Cache>,
    /// Whether reports should wait.
    pressure: Pressure,
    definitions: Definitions,
    /// The works that a namespace is missing for.
    awaited: Awaited,
}

impl Connection {
    pub(crate) fn new(
        client: Client,
        namespace: String,
        census: bool,
        recognition: Recognition,
        atlas: Arc<Atlas>,
        surroundings: &Cx,
        spawner: &Spawner,
    ) -> Self {
        let clock = surroundings.clock.clone();
        let feed = census.then(|| Feed::start(client.clone(), spawner));
        let caches = Caches::new(client.clone(), spawner.clone(), clock.clone());
        Self {
            kinds: Kinds::new(client.clone(), atlas),
            records: Records::default(),
            contests: Contests::default(),
            believed: Believed::default(),
            recognition,
            census: feed,
            queue: OnceLock::new(),
            // Events about what happens in a member are told on the work and the template, in the control plane.
            member: Cx::new(client.clone(), clock, control::Recorder::silent(), MANAGER)
                .measured_by(surroundings.metrics.clone()),
            definitions: Definitions::follow(&caches),
            caches,
            namespace,
            breaker: Mutex::default(),
            followed: Mutex::default(),
            works: OnceLock::new(),
            awaited: Awaited::default(),
            pressure: surroundings.pressure.clone(),
            client,
        }
    }

    /// The member's objects of a kind that works brought there, followed from now on; listed by then, unless that takes long.
    pub(crate) async fn listed(&self, resource: &ResourceType) -> Cache {
        let (cache, since) = self.follow(resource);
        if !cache.is_synced() {
            // Without the list there is less to go by, and each work asks for itself.
            _ = tokio::time::timeout_at(since + FIRST_LIST, cache.synced()).await;
        }
        cache
    }

    /// The member's objects of a kind, and since when they are followed.
    fn follow(&self, resource: &ResourceType) -> (Cache, Instant) {
        let mut followed = lock(&self.followed);
        if let Some(known) = followed.get(resource) {
            return (known.cache.clone(), known.since);
        }
        let scope = Scope::all()
            .with_labels(format!("{MANAGED}={TRUE}"))
            .keeping(Detail::Authors);
        let cache = self.caches.follow(resource, scope);
        let queue = self.queue.get().cloned().unwrap_or_default();
        let namespace = self.namespace.clone();
        let pressure = self.pressure.clone();
        let subscription = cache.on_change(move |change| {
            // What is gone is to come back at once; what an object says of itself may be said again in a moment, the more so
            // if it is new.
            let (wait, priority) = match &change.after {
                None => (Duration::ZERO, 0),
                Some(_) if pressure.is_high() => (GIVING_WAY, REPORT),
                Some(_) => (GATHERING, REPORT),
            };
            for key in works_of(change, &namespace) {
                queue.add_with(key, Instant::now() + wait, priority);
            }
        });
        let since = Instant::now();
        let known = Followed {
            cache: cache.clone(),
            since,
            _waking: subscription,
        };
        followed.insert(resource.clone(), known);
        (cache, since)
    }

    /// Changes in the member go into this queue from now on; it is for these works.
    pub(crate) fn wake_through(&self, queue: Queue<ObjectKey>, works: Cache) {
        _ = self.queue.set(queue);
        _ = self.works.set(works);
    }

    /// Wants a work looked at.
    pub(crate) fn look_at(&self, work: ObjectKey, priority: Priority) {
        if let Some(queue) = self.queue.get() {
            queue.add_with(work, Instant::now(), priority);
        }
    }

    /// Wants a work looked at once the member has a namespace.
    pub(crate) fn wait_for(&self, namespace: &str, work: &ObjectKey) {
        if let Some(queue) = self.queue.get() {
            self.awaited.wait(work, namespace, &self.caches, queue);
        }
    }

    /// The work to which another gives way about an object of the member.
    pub(crate) fn rival(
        &self,
        work: &ObjectKey,
        manifest: &Object,
        observed: &Object,
    ) -> Option<ObjectKey> {
        let works = self.works.get()?;
        rivals::rival(work, manifest, observed, |key| works.get(key))
    }

    /// Keeps nothing about a work that is gone.
    pub(crate) fn forget(&self, work: &ObjectKey) {
        self.awaited.forget(work);
        self.believed.forget(work);
    }

    /// Whether there is nothing left of a kind that the member does not serve.
    pub(crate) fn is_gone(&self, kind: &GroupVersionKind) -> bool {
        let Some(discovery) = self.kinds.current() else {
            return false;
        };
        let mut views = vec![self.definitions.definitions()];
        // A server that knows of no others has none.
        if !discovery.lacks(&resources::api_services().kind) {
            views.push(self.definitions.servers());
        }
        let said = absence::Said {
            discovery: &discovery,
            defined: absence::names(&views),
        };
        absence::is_gone(kind, &said)
    }

    /// Lets followers of kinds that were missing look again, and works that may have waited for a kind; and works of kinds
    /// that are missing now, which say that all is well.
    pub(crate) fn kinds_changed(&self) {
        self.caches.poke();
        self.look_at_unserved();
        let (Some(queue), Some(works)) = (self.queue.get(), self.works.get()) else {
            return;
        };
        for work in works.indexed_keys(UNAPPLIED, &self.namespace) {
            queue.add(work);
        }
    }

    /// Wants the works looked at whose kind the member no longer serves: nobody tells what became of their objects.
    fn look_at_unserved(&self) {
        let Some(discovery) = self.kinds.current() else {
            return;
        };
        let unserved: Vec<Cache> = lock(&self.followed)
            .iter()
            .filter(|(resource, _)| discovery.lacks(&resource.kind))
            .map(|(_, followed)| followed.cache.clone())
            .collect();
        // What was held when the watch ended still is.
        for object in unserved.iter().flat_map(Cache::walk) {
            if let Some(work) = work_of(&object).filter(|work| work.namespace == self.namespace) {
                self.look_at(work, REPORT);
            }
        }
    }

    /// Waits until what the member serves may have changed.
    pub(crate) async fn definitions_changed(&self) {
        self.definitions.changed.notified().await;
    }

    /// How long the member is to be spared; `None` if it may be called.
    pub(crate) fn spared_for(&self) -> Option<Duration> {
        lock(&self.breaker).wait(Instant::now())
    }

    /// Whether it is the cluster that joined, so that it may be written to.
    pub(crate) async fn is_itself(&self) -> Result<bool, CallError> {
        self.heard(self.recognition.is_itself(&self.client).await)
    }

    /// Notes whether the member answered.
    pub(crate) fn heard<T>(&self, result: Result<T, CallError>) -> Result<T, CallError> {
        match &result {
            Err(error) if error.is_unreachable() => self.unheard(),
            _ => lock(&self.breaker).answered(),
        }
        result
    }

    /// Notes that the member did not answer while somebody waited.
    pub(crate) fn unheard(&self) {
        lock(&self.breaker).silent(Instant::now());
        self.recognition.doubt();
    }

    /// The member's object as it is now, if there is one.
    pub(crate) async fn read(
        &self,
        resource: &ResourceType,
        key: &ObjectKey,
    ) -> Result<Option<Live>, CallError> {
        match self.heard(self.client.get(resource, key).await) {
            Ok(object) => Ok(Some(Live(object))),
            Err(error) if error.is_absence_of(&key.name) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes to the member, and returns what the object became where the member says.
    pub(crate) async fn write(&self, action: Action) -> Result<Option<Object>, CallError> {
        let counted = Counted::of(&action, |object| self.records.get(object).is_some());
        let written = self.carry_out(action).await;
        let cluster = cluster_of_execution_space(&self.namespace).unwrap_or_default();
        counted.add(&self.member.metrics, cluster, written.is_ok());
        written
    }

    async fn carry_out(&self, action: Action) -> Result<Option<Object>, CallError> {
        let options = WriteOptions::by(MANAGER);
        let written = match &action {
            Action::Create { resource, object } => self
                .client
                .create(resource, object, &options)
                .await
                .map(Some),
            Action::Apply {
                resource,
                object,
                force,
                part,
                ..
            } => {
                let mut object = object.clone();
                let mut applied = self
                    .client
                    .apply(resource, &object, *force, part, &options)
                    .await;
                // Older servers name one field at a time.
                for _ in 0..UNDECLARED_AT_MOST {
                    let Err(error) = &applied else { break };
                    let text = error
                        .refusal()
                        .map_or("", |refusal| refusal.message.as_str());
                    if !take_out(object.fields_mut(), text) {
                        break;
                    }
                    applied = self
                        .client
                        .apply(resource, &object, *force, part, &options)
                        .await;
                }
                applied.map(Some)
            }
            Action::Replace {
                resource,
                object,
                part,
            } => self
                .client
                .replace(resource, object, part, &options)
                .await
                .map(Some),
            _ => {
                let mut plan = Plan::default();
                plan.push(action);
                self.member
                    .carry_out(&plan)
                    .await
                    .map(|()| None)
                    .map_err(|error| error.source)
            }
        };
        self.heard(written)
    }
}

/// The objects of one kind that works brought.
struct Followed {
    cache: Cache,
    since: Instant,
    _waking: Subscription,
}

/// What decides which kinds a member serves: definitions of kinds, and servers that stand in for it.
struct Definitions {
    changed: Arc<Notify>,
    followed: [(Cache, Subscription); 2],
}

impl Definitions {
    fn follow(caches: &Caches) -> Self {
        let changed = Arc::new(Notify::new());
        let followed = [resources::definitions(), resources::api_services()].map(|resource| {
            // Only that something changed matters, not what.
            let cache = caches.follow(&resource, Scope::all().keeping(Detail::Identity));
            let told = Arc::clone(&changed);
            let subscription = cache.on_change(move |_| told.notify_one());
            (cache, subscription)
        });
        Self { changed, followed }
    }

    /// The definitions of kinds, if all of them are in view.
    fn definitions(&self) -> Option<CompleteView> {
        self.followed[0].0.complete()
    }

    /// The servers that stand in for it, likewise.
    fn servers(&self) -> Option<CompleteView> {
        self.followed[1].0.complete()
    }
}

/// The works of a namespace whose member does not have what they say: they may wait for a kind. Kinds are heard of at every
/// start, and opening all works of a member to find these few took a part of it.
pub(crate) const UNAPPLIED: &str = "unapplied";

/// Where a work is found as [unapplied](UNAPPLIED).
pub(crate) fn unapplied(work: &Object) -> Vec<String> {
    match is_applied(work) {
        true => Vec::new(),
        false => vec![work.namespace().to_owned()],
    }
}

/// Whether the member has what the work says.
fn is_applied(work: &Object) -> bool {
    let conditions = work.at(&["status", "conditions"]).and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        condition.get("type").and_then(Value::as_str) == Some(APPLIED)
            && condition.get("status").and_then(Value::as_str) == Some("True")
    })
}

/// The works that a change in a member concerns.
pub(crate) fn works_of(change: &Change, namespace: &str) -> Vec<ObjectKey> {
    let mut keys: Vec<ObjectKey> = change
        .states()
        .filter_map(|object| work_of(object))
        .filter(|key| key.namespace == namespace)
        .collect();
    keys.dedup();
    keys
}

/// The work that brought an object, as the object says.
pub(crate) fn work_of(object: &Object) -> Option<ObjectKey> {
    let namespace = object.annotation(WORK_NAMESPACE)?;
    let name = object.annotation(WORK_NAME)?;
    Some(ObjectKey::namespaced(namespace, name))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that runs under these locks leaves its data half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shared by everybody who faces the member.
pub(crate) type Shared = Arc<Connection>;
