//! Kinds as they are in a server, kept current by one watch each and shared by all who ask.

mod content;
mod packed;
mod subscribers;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use imbl::OrdSet;
use object::{Object, ObjectKey, ResourceType, Value};
use runtime::{Clock, Spawner};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

pub(crate) use self::content::{Content, Step};
pub(crate) use self::packed::Packed;
use self::subscribers::{Newest, Subscribers};
use crate::call::Client;
use crate::follow;

/// All caches of one API server in this process: one watch for each kind and scope, one copy of each object.
#[derive(Clone)]
pub struct Caches {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    spawner: Spawner,
    clock: Clock,
    followed: Mutex<HashMap<(ResourceType, Scope), Weak<Held>>>,
    server: Arc<follow::Server>,
}

/// Which objects of a kind are followed, and how much of them is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scope {
    /// Only this namespace; empty for all.
    pub namespace: String,
    /// Only objects with these labels; empty for all.
    pub label_selector: String,
    /// Only objects with these fields; empty for all.
    pub field_selector: String,
    /// How much of each object is kept.
    pub detail: Detail,
}

/// How much of an object is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Detail {
    /// All of it.
    Whole,
    /// All but `metadata.managedFields`, which few look at and which is often half of an object.
    #[default]
    WithoutManagedFields,
    /// All, but of `metadata.managedFields` not who wrote the status: for those who apply, and have to know which fields are
    /// theirs, and whose the others.
    Authors,
    /// Only the metadata, without `managedFields`.
    Metadata,
    /// Only who the object is, whom it belongs to and whether it is ending: names, uid, revision, owners, finalizers and the
    /// time of deletion. For those who follow every kind there is.
    Identity,
}

/// The objects of one kind and scope, as they were when the server last told; clones are the same cache.
///
/// The watch ends when the last clone and the last [`Subscription`] are gone.
#[derive(Clone)]
pub struct Cache {
    held: Arc<Held>,
}

/// Keeps a cache alive for those who asked for it; the follower itself only holds what is inside.
struct Held {
    shared: Arc<Shared>,
    branch: Spawner,
}

/// What a cache and its follower share.
pub(crate) struct Shared {
    pub(crate) resource: ResourceType,
    pub(crate) scope: Scope,
    content: Mutex<Content>,
    subscribers: Subscribers,
    synced: watch::Sender<bool>,
    /// Why nothing is heard at the moment, if something is wrong.
    trouble: watch::Sender<Option<Trouble>>,
    /// Told whenever that changes, for all caches of the server.
    troubled: watch::Sender<()>,
    /// Somebody thinks that trying again now may help.
    pub(crate) poke: Notify,
}

/// What keeps a cache from being current.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What went wrong last.
    pub cause: Arc<str>,
    /// Since when something has.
    pub since: Instant,
}

/// What happened to one object: it came, changed or went.
#[derive(Clone, Debug)]
pub struct Change {
    /// As it was; `None` if it is new.
    pub before: Option<Arc<Object>>,
    /// As it is; `None` if it is gone.
    pub after: Option<Arc<Object>>,
}

/// All objects of a kind and scope at one moment, with nothing missing: what may be deleted is decided on this alone.
///
/// Only [`Cache::complete`] gives one, after a list that was finished and while the watch after it is whole. A decision
/// that asks for it cannot be fed with anything less: it is not made from objects that somebody has at hand,
///
/// ```compile_fail,E0451
/// let view = karavel_client::CompleteView { objects: Default::default() };
/// ```
///
/// nor from nothing, as if an empty answer meant that there is nothing,
///
/// ```compile_fail,E0599
/// let view = karavel_client::CompleteView::default();
/// ```
///
/// nor from a list, of which nobody knows whether it is still true,
///
/// ```compile_fail,E0277
/// fn decide(list: karavel_client::List) -> karavel_client::CompleteView {
///     list.into()
/// }
/// ```
///
/// nor read from outside,
///
/// ```compile_fail,E0277
/// let view: karavel_client::CompleteView = serde_json::from_str("{}").unwrap();
/// ```
///
/// and nothing is put into it or taken out of it afterwards.
///
/// ```compile_fail,E0616
/// fn decide(mut view: karavel_client::CompleteView) {
///     view.objects.clear();
/// }
/// ```
#[derive(Clone, Debug)]
pub struct CompleteView {
    objects: OrdSet<Packed>,
}

/// Calls a callback for as long as it is held.
#[must_use = "the callback is no longer called once this is dropped"]
pub struct Subscription {
    held: Arc<Held>,
    id: u64,
}

impl Scope {
    /// All objects of the kind, without `managedFields`.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Only one namespace.
    #[must_use]
    pub fn in_namespace(self, namespace: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            ..self
        }
    }

    /// Only objects with these labels.
    #[must_use]
    pub fn with_labels(self, selector: impl Into<String>) -> Self {
        Self {
            label_selector: selector.into(),
            ..self
        }
    }

    /// Only objects with these fields.
    #[must_use]
    pub fn with_fields(self, selector: impl Into<String>) -> Self {
        Self {
            field_selector: selector.into(),
            ..self
        }
    }

    /// Keeping so much of each object.
    #[must_use]
    pub fn keeping(self, detail: Detail) -> Self {
        Self { detail, ..self }
    }
}

impl Detail {
    /// Whether the server need not send more than metadata.
    pub(crate) fn is_metadata(self) -> bool {
        matches!(self, Self::Metadata | Self::Identity)
    }

    /// Whether a field of an object is kept.
    pub(crate) fn keeps(self, field: &str) -> bool {
        match self {
            Self::Identity => matches!(field, "apiVersion" | "kind" | "metadata"),
            Self::Whole | Self::WithoutManagedFields | Self::Authors | Self::Metadata => true,
        }
    }

    /// Whether a field of an object's metadata is kept.
    pub(crate) fn keeps_of_metadata(self, field: &str) -> bool {
        match self {
            Self::Whole | Self::Authors => true,
            Self::WithoutManagedFields | Self::Metadata => field != MANAGED_FIELDS,
            Self::Identity => IDENTITY.contains(&field),
        }
    }

    /// The object without what is not kept.
    pub(crate) fn trim(self, mut object: Object) -> Object {
        if self == Self::Whole {
            return object;
        }
        let fields = object.fields_mut();
        fields.retain(|name, _| self.keeps(name));
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|name, _| self.keeps_of_metadata(name));
            if self == Self::Authors
                && let Some(Value::Array(entries)) = metadata.get_mut(MANAGED_FIELDS)
            {
                entries.retain(|entry| {
                    entry.get("subresource").and_then(Value::as_str) != Some(STATUS)
                });
            }
        }
        object
    }
}

/// Who wrote which fields of an object.
pub(crate) const MANAGED_FIELDS: &str = "managedFields";

/// The part of an object whose authors few look at: they are many, and what they write is long.
pub(crate) const STATUS: &str = "status";

/// What is kept of the metadata when only the identity is.
const IDENTITY: [&str; 7] = [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "ownerReferences",
    "finalizers",
    "deletionTimestamp",
];

impl Change {
    /// The object as it is, or as it was when it went.
    #[must_use]
    pub fn object(&self) -> &Arc<Object> {
        let object = self.after.as_ref().or(self.before.as_ref());
        object.expect("invariant: a change is of something")
    }

    /// The object's key.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        self.object().key()
    }

    /// Both states: as it was and as it is, as far as there are.
    pub fn states(&self) -> impl Iterator<Item = &Arc<Object>> {
        self.before.iter().chain(&self.after)
    }
}

impl Caches {
    /// Follows nothing yet.
    #[must_use]
    pub fn new(client: Client, spawner: Spawner, clock: Clock) -> Self {
        Self {
            inner: Arc::new(Inner {
                client,
                spawner,
                clock,
                followed: Mutex::default(),
                server: Arc::default(),
            }),
        }
    }

    /// The cache of a kind and scope; the first who asks starts its watch.
    #[must_use]
    pub fn follow(&self, resource: &ResourceType, scope: Scope) -> Cache {
        let inner = &*self.inner;
        let mut followed = lock(&inner.followed);
        followed.retain(|_, held| held.strong_count() > 0);
        let place = (resource.clone(), scope);
        if let Some(held) = followed.get(&place).and_then(Weak::upgrade) {
            return Cache { held };
        }
        let (resource, scope) = place.clone();
        let shared = Arc::new(Shared {
            content: Mutex::default(),
            subscribers: Subscribers::default(),
            synced: watch::Sender::new(false),
            trouble: watch::Sender::new(None),
            troubled: inner.server.troubled.clone(),
            poke: Notify::new(),
            resource,
            scope,
        });
        let branch = inner.spawner.branch();
        let name = format!("follow {}", shared.resource.resource().group_resource());
        let follower = follow::Follower::new(
            inner.client.clone(),
            Arc::clone(&shared),
            Arc::clone(&inner.server),
        );
        branch.spawn(name, |stop| follower.run(stop));
        let held = Arc::new(Held { shared, branch });
        followed.insert(place, Arc::downgrade(&held));
        Cache { held }
    }

    /// Changes whenever one of the caches falls into [trouble](Cache::trouble), or out of it.
    #[must_use]
    pub fn troubles(&self) -> watch::Receiver<()> {
        self.inner.server.troubled.subscribe()
    }

    /// The client underneath.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.inner.client
    }

    /// The clock that the caches were given.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.inner.clock
    }

    /// Lets followers that wait for better times try again now, such as after discovery has shown new kinds.
    pub fn poke(&self) {
        for held in lock(&self.inner.followed)
            .values()
            .filter_map(Weak::upgrade)
        {
            held.shared.poke.notify_one();
        }
    }
}

impl fmt::Debug for Caches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caches").finish_non_exhaustive()
    }
}

impl Cache {
    /// What is followed.
    #[must_use]
    pub fn resource(&self) -> &ResourceType {
        &self.held.shared.resource
    }

    /// Which of them are followed.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.held.shared.scope
    }

    /// One object.
    #[must_use]
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        let packed = self.content().objects.get(key).cloned();
        packed.map(|packed| packed.open())
    }

    /// All objects, by namespace and name. Of many, [`walk`](Self::walk) takes less memory.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<Object>> {
        self.walk().collect()
    }

    /// All objects one after the other, by namespace and name, as they are now.
    pub fn walk(&self) -> impl Iterator<Item = Arc<Object>> + use<> {
        // The set is copied in constant time, so that the lock is not held while walking it.
        let objects = self.content().objects.clone();
        objects.into_iter().map(|packed| packed.open())
    }

    /// All objects of one namespace, by name. Of many, [`walk_namespace`](Self::walk_namespace) takes less memory.
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> Vec<Arc<Object>> {
        self.walk_namespace(namespace).collect()
    }

    /// All objects of one namespace one after the other, by name, as they are now.
    pub fn walk_namespace(&self, namespace: &str) -> impl Iterator<Item = Arc<Object>> + use<> {
        let found = content::in_namespace(&self.content().objects, namespace);
        found.into_iter().map(|packed| packed.open())
    }

    /// The keys of all objects of one namespace, by name; nothing is opened to say so.
    #[must_use]
    pub fn keys_in_namespace(&self, namespace: &str) -> Vec<ObjectKey> {
        let found = content::in_namespace(&self.content().objects, namespace);
        found.iter().map(|packed| packed.key().clone()).collect()
    }

    /// Calls `look` with the key of every object of one namespace, [in the background](runtime::in_the_background): a queue it
    /// is put into has the newest first. Nothing is opened for it.
    pub fn look_back(&self, namespace: &str, mut look: impl FnMut(ObjectKey)) {
        let found = content::in_namespace(&self.content().objects, namespace);
        let newest = Newest::of(&found);
        for packed in &found {
            let age = newest.age(packed.revision());
            runtime::in_the_background(age, || look(packed.key().clone()));
        }
    }

    /// Whether there is an object with this uid, whatever its name.
    #[must_use]
    pub fn has_uid(&self, uid: &str) -> bool {
        // The set is copied in constant time, so that the lock is not held while walking it.
        let objects = self.content().objects.clone();
        objects.iter().any(|packed| packed.has_uid(uid))
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.content().objects.len()
    }

    /// Whether there is no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keeps an index from now on: `keys` says under which texts an object is found. A second index of the same name is the
    /// first one.
    pub fn index_by(&self, name: &'static str, keys: fn(&Object) -> Vec<String>) {
        self.content().index_by(name, keys);
    }

    /// The objects that an index has under a text, by namespace and name; none if there is no such index.
    #[must_use]
    pub fn indexed(&self, name: &str, key: &str) -> Vec<Arc<Object>> {
        // Opened after the lock is let go of.
        let found = self.content().indexed(name, key);
        found.iter().map(Packed::open).collect()
    }

    /// The keys of the objects that an index has under a text, by namespace and name; nothing is opened to say so.
    #[must_use]
    pub fn indexed_keys(&self, name: &str, text: &str) -> Vec<ObjectKey> {
        let found = self.content().indexed(name, text);
        found.iter().map(|packed| packed.key().clone()).collect()
    }

    /// Whether an index has this object under a text; nothing is opened to say so.
    #[must_use]
    pub fn is_indexed(&self, name: &str, text: &str, key: &ObjectKey) -> bool {
        self.content().is_indexed(name, text, key)
    }

    /// All objects with nothing missing; `None` before the first list is finished, and while the watch is broken.
    #[must_use]
    pub fn complete(&self) -> Option<CompleteView> {
        let content = self.content();
        content.complete.then(|| CompleteView {
            objects: content.objects.clone(),
        })
    }

    /// Waits until the first list is finished, or the kind is known not to be served. At once afterwards.
    pub async fn synced(&self) {
        let mut synced = self.held.shared.synced.subscribe();
        // The sender lives as long as this cache.
        _ = synced.wait_for(|synced| *synced).await;
    }

    /// Whether the first list is finished, or the kind is known not to be served.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        *self.held.shared.synced.borrow()
    }

    /// Why the last attempt to list or to watch failed; `None` if it did not, or none has ended yet. That the kind is not
    /// served is no failure.
    #[must_use]
    pub fn trouble(&self) -> Option<Trouble> {
        self.held.shared.trouble.borrow().clone()
    }

    /// Waits until there has been [trouble](Self::trouble) for so long, whatever came of it meanwhile. At once if there has.
    pub async fn in_trouble_for(&self, time: Duration) {
        let mut trouble = self.held.shared.trouble.subscribe();
        // The sender lives as long as this cache.
        let trouble = trouble.wait_for(Option::is_some).await;
        let since = trouble
            .ok()
            .and_then(|trouble| Some(trouble.as_ref()?.since));
        if let Some(since) = since {
            tokio::time::sleep_until(since + time).await;
        }
    }

    /// Calls `call` for each object that is there, as if it had just come, and then for each change, in order, in the
    /// follower's task. It must be quick and must not subscribe to this cache: it puts keys into queues.
    pub fn on_change(&self, call: impl Fn(&Change) + Send + Sync + 'static) -> Subscription {
        let shared = &self.held.shared;
        let id = shared
            .subscribers
            .add(Arc::new(call), || self.content().objects.clone());
        Subscription {
            held: Arc::clone(&self.held),
            id,
        }
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        lock(&self.held.shared.content)
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache")
            .field("resource", &self.held.shared.resource)
            .field("objects", &self.len())
            .finish_non_exhaustive()
    }
}

impl CompleteView {
    /// One object; `None` means that it is not there.
    #[must_use]
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        self.objects.get(key).map(Packed::open)
    }

    /// All objects, by namespace and name.
    pub fn objects(&self) -> impl Iterator<Item = Arc<Object>> {
        self.objects.iter().map(Packed::open)
    }

    /// The keys of all objects, by namespace and name; nothing is opened to say so.
    pub fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.objects.iter().map(Packed::key)
    }

    /// All objects of one namespace, by name.
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> Vec<Arc<Object>> {
        let found = content::in_namespace(&self.objects, namespace);
        found.iter().map(Packed::open).collect()
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there is no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.branch.stop();
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.held.shared.subscribers.remove(self.id);
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subscription").field(&self.id).finish()
    }
}

/// The follower's side.
impl Shared {
    /// Changes the content and tells the subscribers what came of it, in order.
    pub(crate) fn apply(&self, apply: impl FnOnce(&mut Content) -> Vec<Step>) {
        self.subscribers.deliver(|| apply(&mut lock(&self.content)));
    }

    /// Takes in all there is, from a list that was finished, and tells the subscribers what came of it. Of what the first
    /// list has they are told [in the background](runtime::in_the_background).
    pub(crate) fn take_list(&self, found: BTreeSet<Packed>) {
        let is_first = !*self.synced.borrow();
        let background = is_first.then(|| Newest::of(&found));
        self.subscribers.deliver_all(background, |tell| {
            // Whoever is told may look into the cache: no lock is held by then, not even by a temporary.
            let gone = lock(&self.content).retain(&found);
            tell(gone);
            let filled = lock(&self.content).fill(found);
            match filled {
                Ok(steps) => tell(steps),
                // Each is told of at once, while the tree is there that its indexes were made from.
                Err(found) => {
                    for object in found {
                        let steps = lock(&self.content).put(object);
                        tell(steps);
                    }
                }
            }
            lock(&self.content).complete = true;
        });
    }

    /// Something is wrong, or no longer.
    pub(crate) fn set_trouble(&self, now: Option<&str>) {
        let has_changed = self.trouble.send_if_modified(|trouble| {
            let before = trouble.take();
            let known = before.as_ref().map(|trouble| &*trouble.cause);
            let has_changed = known != now;
            let since = before
                .as_ref()
                .map_or_else(Instant::now, |before| before.since);
            *trouble = now.map(|cause| Trouble {
                cause: cause.into(),
                since,
            });
            has_changed
        });
        if has_changed {
            self.troubled.send_replace(());
        }
    }

    /// The first list is finished, or there is nothing to list.
    pub(crate) fn set_synced(&self) {
        self.synced
            .send_if_modified(|synced| !std::mem::replace(synced, true));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that runs under these locks leaves its data half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
