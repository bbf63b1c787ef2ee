//! Every kind that may be propagated, followed as long as it is served.
//!
//! What is served is found by discovery, at the start and whenever a CustomResourceDefinition changes; nothing is polled. A
//! kind is known by its group and name, so that a policy may name any version of it: it is followed in the version the
//! server likes best, and beside it in those that policies and bindings name.

mod definitions;
mod followed;
mod unlisted;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use client::{Cache, Caches, CallError, Change, Client, Discovered, Discovery, Scope};
use object::{GroupKind, GroupVersionKind, Object, ObjectKey, ResourceType};
use policy::{Exemptions, Selector, selector::Which};
use runtime::Spawner;
use tokio::sync::{Notify, watch};

pub use self::unlisted::Unlisted;

use self::followed::{BY_POLICY, Followed, can_be_followed, subscribe};
use crate::{
    bindings::{template_of, version_of},
    kinds,
};

/// How long a definition that is announced but not yet served is waited for at first, and at most.
const SOON: Duration = Duration::from_millis(100);
const LATER: Duration = Duration::from_secs(30);

/// Names a template, whatever version it is asked for in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TemplateKey {
    /// What it is.
    pub kind: GroupKind,
    /// Which one.
    pub key: ObjectKey,
}

/// A template in view.
#[derive(Clone, Debug)]
pub struct Found {
    /// Where templates of the kind are.
    pub resource: Arc<ResourceType>,
    /// Versions of the kind beside the one it is in.
    pub other_versions: Arc<Vec<String>>,
    /// Whether objects of the kind have a status that can be written.
    pub has_status: bool,
    /// The template.
    pub object: Arc<Object>,
}

impl Found {
    /// The template as policies look at it.
    #[must_use]
    pub fn as_template(&self) -> policy::Template<'_> {
        policy::Template {
            object: &self.object,
            other_versions: &self.other_versions,
        }
    }

    /// Asks the server itself whether the template is there and is not on its way out. Who is to own something is asked
    /// first: what is in view may be gone, and what it owned would go too.
    pub async fn is_there_to_stay(&self, client: &Client) -> Result<bool, CallError> {
        let key = self.object.key();
        match client.get_metadata(&self.resource, &key).await {
            Ok(now) => Ok(now.uid() == self.object.uid() && !now.is_terminating()),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Whether objects of a kind may be templates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Serving {
    /// They are served, each in a namespace.
    Namespaced,
    /// They are served, and have no namespace.
    ClusterWide,
    /// They are never propagated.
    Exempt,
    /// They are served, but cannot be listed at the moment, in that version or the one the server likes best.
    Unlisted(Unlisted),
    /// They are served, but only in these other versions.
    InOtherVersions(Vec<String>),
    /// Nobody serves them, in whatever version.
    Unserved,
    /// Not all that is served is known at the moment.
    Unknown,
}

/// Why a template is not found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// It is not there: all of its kind are in view, and it is not among them.
    Gone,
    /// It may be there: not all of its kind are in view, or it has just come.
    Unseen,
    /// Its kind is not served, which says nothing of its objects.
    Unserved,
}

/// All templates; clones are the same.
#[derive(Clone)]
pub struct Templates {
    inner: Arc<Inner>,
}

struct Inner {
    caches: Caches,
    exemptions: Exemptions,
    definitions: Cache,
    state: Mutex<State>,
    /// Held while somebody subscribes, so that no kind and no listener misses the other. The state is not locked
    /// meanwhile: listeners may ask for templates.
    subscribing: Mutex<()>,
    rediscover: Notify,
    /// Whether discovery has answered at least once.
    discovered: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    kinds: BTreeMap<GroupKind, Followed>,
    /// Whether all that is served is known: no group failed.
    is_whole: bool,
    listeners: Vec<Listener>,
    /// Who wants to know of kinds that are served or listed no longer.
    mourners: Vec<Mourner>,
    /// Who decides by the versions that kinds are served in.
    deciders: Vec<Decider>,
}

impl State {
    /// Everything that is followed.
    fn caches(&self) -> Vec<(GroupKind, Cache)> {
        let kinds = self.kinds.iter();
        let caches = kinds.flat_map(|(kind, followed)| {
            let caches = followed.all().map(|one| one.cache.clone());
            caches.map(move |cache| (kind.clone(), cache))
        });
        caches.collect()
    }
}

type Mourner = Arc<dyn Fn(&[GroupKind]) + Send + Sync>;
type Decider = Arc<dyn Fn(&TemplateKey) + Send + Sync>;
type Listener = Arc<dyn Fn(&GroupKind, &Change) + Send + Sync>;

impl Templates {
    /// Starts to follow what is served, but for what is exempt.
    #[must_use]
    pub fn follow(caches: &Caches, exemptions: Exemptions, spawner: &Spawner) -> Self {
        let definitions = caches.follow(&kinds::definitions(), Scope::all());
        let inner = Arc::new(Inner {
            caches: caches.clone(),
            exemptions,
            definitions,
            state: Mutex::default(),
            subscribing: Mutex::default(),
            rediscover: Notify::new(),
            discovered: watch::Sender::new(false),
        });
        let templates = Self { inner };
        let telling = templates.clone();
        spawner.spawn("tell of kinds that cannot be listed", |stop| async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = telling.tell_of_unlisted() => {}
            }
        });
        let task = templates.clone();
        spawner.spawn("discover templates", |stop| async move {
            let waker = Arc::downgrade(&task.inner);
            let _subscription = task.inner.definitions.on_change(move |_| {
                if let Some(inner) = waker.upgrade() {
                    inner.rediscover.notify_one();
                }
            });
            tokio::select! {
                () = stop.cancelled() => {}
                () = task.keep_current() => {}
            }
        });
        templates
    }

    /// What is never a template.
    #[must_use]
    pub fn exemptions(&self) -> &Exemptions {
        &self.inner.exemptions
    }

    /// Calls `listener` for every template there is and for each change, of kinds to come too.
    pub fn on_change(&self, listener: impl Fn(&GroupKind, &Change) + Send + Sync + 'static) {
        let listener: Listener = Arc::new(listener);
        let _turn = self.take_turn();
        let caches: Vec<(GroupKind, Cache)> = {
            let mut state = self.lock();
            state.listeners.push(Arc::clone(&listener));
            state.caches()
        };
        for (kind, cache) in caches {
            let subscription = subscribe(&cache, &kind, &listener);
            if let Some(followed) = self.lock().kinds.get_mut(&kind) {
                followed.keep(&cache, vec![subscription]);
            }
        }
    }

    /// Calls `mourner` with kinds that were served, or were in some version, and are no longer; and with those that cannot be
    /// listed any more.
    pub fn on_unserved(&self, mourner: impl Fn(&[GroupKind]) + Send + Sync + 'static) {
        self.lock().mourners.push(Arc::new(mourner));
    }

    /// Calls `decider` for every template of a kind that is served in other versions than it was: who means it, and in which
    /// version, is to be decided anew, although nothing changes about the template itself.
    pub fn on_other_versions(&self, decider: impl Fn(&TemplateKey) + Send + Sync + 'static) {
        self.lock().deciders.push(Arc::new(decider));
    }

    /// Waits until what is served is known.
    pub async fn discovered(&self) {
        let mut discovered = self.inner.discovered.subscribe();
        // The sender lives as long as this.
        _ = discovered.wait_for(|known| *known).await;
    }

    /// One template, in the version the server likes best.
    #[must_use]
    pub fn find(&self, key: &TemplateKey) -> Option<Found> {
        self.lock().kinds.get(&key.kind)?.find(&key.key)
    }

    /// One template, in this version if its kind is served in it, and not yet if nobody has named that version before:
    /// whoever listens is told when it comes. Not for listeners themselves.
    #[must_use]
    pub fn find_in(&self, version: &str, key: &TemplateKey) -> Option<Found> {
        self.follow_in(version, &key.kind);
        self.lock().kinds.get(&key.kind)?.find_in(version, &key.key)
    }

    /// The template of a binding, in the version that this names, likewise; `None` if it names none, or one of another
    /// namespace.
    #[must_use]
    pub fn of_binding(&self, binding: &Object) -> Option<Found> {
        let key = template_of(binding)?;
        self.find_in(version_of(binding), &key)
    }

    /// Follows the kind of a binding's template in the version that the binding names.
    pub fn follow_for(&self, binding: &Object) {
        if let Some(key) = template_of(binding) {
            self.follow_in(version_of(binding), &key.kind);
        }
    }

    fn follow_in(&self, version: &str, kind: &GroupKind) {
        let is_followed = |followed: &Followed| followed.is_followed_in(version);
        if self.lock().kinds.get(kind).is_none_or(is_followed) {
            return;
        }
        let _turn = self.take_turn();
        let (untold, listeners) = {
            let mut state = self.lock();
            let listeners = state.listeners.clone();
            let followed = state.kinds.get_mut(kind);
            let untold = followed.map(|followed| {
                followed.begin(version, &self.inner.caches);
                followed.untold()
            });
            (untold.unwrap_or_default(), listeners)
        };
        self.tell(kind, &untold, &listeners);
    }

    /// Tells everybody of the objects in these caches.
    fn tell(&self, kind: &GroupKind, caches: &[Cache], listeners: &[Listener]) {
        for cache in caches {
            let listeners = listeners.iter();
            let subscriptions = listeners.map(|listener| subscribe(cache, kind, listener));
            let subscriptions = subscriptions.collect();
            if let Some(followed) = self.lock().kinds.get_mut(kind) {
                followed.keep(cache, subscriptions);
            }
        }
    }

    /// Why a template is not found.
    #[must_use]
    pub fn absence(&self, key: &TemplateKey) -> Absence {
        let Some(cache) = self.cache(&key.kind) else {
            return Absence::Unserved;
        };
        match cache.complete() {
            Some(view) if view.get(&key.key).is_none() => Absence::Gone,
            _ => Absence::Unseen,
        }
    }

    /// Whether a template may be there although it is not found.
    #[must_use]
    pub fn is_unseen(&self, key: &TemplateKey) -> bool {
        self.find(key).is_none() && self.absence(key) == Absence::Unseen
    }

    /// Asks the server itself whether a template that is not in view is gone. What goes with it goes for good.
    pub async fn is_gone(
        &self,
        key: &TemplateKey,
        uid: &str,
        client: &Client,
    ) -> Result<bool, CallError> {
        let Some(cache) = self.cache(&key.kind) else {
            return Ok(false);
        };
        match client.get_metadata(cache.resource(), &key.key).await {
            Ok(now) => Ok(now.uid() != uid),
            Err(error) if error.is_absence_of(&key.key.name) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether it is known that templates of a kind are served in a version.
    #[must_use]
    pub fn is_served_in(&self, version: &str, kind: &GroupKind) -> bool {
        let state = self.lock();
        let followed = state.kinds.get(kind);
        followed.is_some_and(|followed| followed.has_version(version))
    }

    /// Whether objects of a kind may be templates.
    #[must_use]
    pub fn serving(&self, kind: &GroupVersionKind) -> Serving {
        if self.inner.exemptions.skips_kind(kind) {
            return Serving::Exempt;
        }
        let state = self.lock();
        match state.kinds.get(&kind.group_kind()) {
            Some(followed) if followed.has_version(&kind.version) => {
                if let Some(unlisted) = followed.unlisted(&kind.version) {
                    return Serving::Unlisted(unlisted);
                }
                match followed.main.resource.namespaced {
                    true => Serving::Namespaced,
                    false => Serving::ClusterWide,
                }
            }
            _ if !state.is_whole => Serving::Unknown,
            Some(followed) => {
                let versions = followed.versions().map(str::to_owned);
                Serving::InOtherVersions(versions.collect())
            }
            None => Serving::Unserved,
        }
    }

    /// Whether it is known that objects of a kind have no namespace.
    #[must_use]
    pub fn is_cluster_wide(&self, kind: &GroupKind) -> bool {
        let state = self.lock();
        let followed = state.kinds.get(kind);
        followed.is_some_and(|followed| !followed.main.resource.namespaced)
    }

    /// The kinds that have this name in lower case, whatever their group.
    #[must_use]
    pub fn kinds_spelled(&self, lower_case: &str) -> Vec<GroupKind> {
        self.lock()
            .kinds
            .keys()
            .filter(|kind| kind.kind.eq_ignore_ascii_case(lower_case))
            .cloned()
            .collect()
    }

    /// The templates that a selector of a policy in `namespace` (empty for a cluster-wide one) selects.
    #[must_use]
    pub fn selected(&self, namespace: &str, selector: &Selector) -> Vec<TemplateKey> {
        let kind = GroupKind::new(selector.group.as_str(), selector.kind.as_str());
        let Some((other_versions, cache)) = self.lock().kinds.get(&kind).map(|followed| {
            let main = &followed.main;
            (Arc::clone(&main.other_versions), main.cache.clone())
        }) else {
            return Vec::new();
        };
        let scope = if namespace.is_empty() {
            selector.namespace.as_str()
        } else {
            namespace
        };
        let candidates: Box<dyn Iterator<Item = Arc<Object>>> = match &selector.which {
            Which::Nothing(_) => Box::new(std::iter::empty()),
            Which::Name(name) if !scope.is_empty() || !cache.resource().namespaced => {
                let key = ObjectKey::namespaced(scope, name.as_str());
                Box::new(cache.get(&key).into_iter())
            }
            _ if scope.is_empty() => Box::new(cache.walk()),
            _ => Box::new(cache.walk_namespace(scope)),
        };
        candidates
            .filter(|object| {
                selector
                    .select(&policy::Template {
                        object,
                        other_versions: &other_versions,
                    })
                    .is_some()
            })
            .map(|object| TemplateKey {
                kind: kind.clone(),
                key: object.key(),
            })
            .collect()
    }

    /// The templates that carry the claim of a policy with this permanent id.
    #[must_use]
    pub fn held_by(&self, permanent_id: &str) -> Vec<(GroupKind, Arc<Object>)> {
        let caches: Vec<(GroupKind, Cache)> = self
            .lock()
            .kinds
            .iter()
            .map(|(kind, followed)| (kind.clone(), followed.main.cache.clone()))
            .collect();
        caches
            .into_iter()
            .flat_map(|(kind, cache)| {
                let held = cache.indexed(BY_POLICY, permanent_id);
                held.into_iter().map(move |object| (kind.clone(), object))
            })
            .collect()
    }

    /// Whether all templates of all kinds are in view, each in some version.
    #[must_use]
    pub fn are_all_in_view(&self) -> bool {
        let state = self.lock();
        let is_in_view = |followed: &Followed| followed.main.cache.complete().is_some();
        state.is_whole && state.kinds.values().all(is_in_view)
    }

    /// All templates of one kind, and whether none is missing.
    #[must_use]
    pub fn of_kind(&self, kind: &GroupKind, namespace: &str) -> Vec<Arc<Object>> {
        self.cache(kind)
            .map(|cache| cache.in_namespace(namespace))
            .unwrap_or_default()
    }

    fn cache(&self, kind: &GroupKind) -> Option<Cache> {
        let state = self.lock();
        let followed = state.kinds.get(kind);
        followed.map(|followed| followed.main.cache.clone())
    }

    /// Discovers anew whenever definitions change, and again soon while one that should be served is not yet.
    async fn keep_current(&self) {
        let mut wait = SOON;
        loop {
            let is_settled = match self.inner.caches.client().discover().await {
                Ok(discovery) => {
                    self.adopt(&discovery);
                    self.inner.discovered.send_replace(true);
                    let definitions = self.inner.definitions.list();
                    let mut definitions = definitions.iter();
                    discovery.failed.is_empty()
                        && definitions.all(|definition| {
                            definitions::is_adopted(definition, &discovery, &self.inner.exemptions)
                        })
                }
                Err(error) => {
                    tracing::warn!(error = %telemetry::chain(&error), "cannot discover what is served");
                    false
                }
            };
            if is_settled {
                wait = SOON;
                self.inner.rediscover.notified().await;
                continue;
            }
            // Fullness of the notification does not matter: one permit stands for any number of changes.
            if tokio::time::timeout(wait, self.inner.rediscover.notified())
                .await
                .is_ok()
            {
                wait = SOON;
            } else {
                wait = wait.saturating_mul(2).min(LATER);
            }
        }
    }

    /// Follows kinds that are new, and lets go of those that are known not to be served any more.
    fn adopt(&self, discovery: &Discovery) {
        let wanted: Vec<(GroupKind, &Discovered)> = discovery
            .preferred()
            .filter(|found| can_be_followed(found))
            .filter(|found| !self.inner.exemptions.skips_kind(&found.resource.kind))
            .map(|found| (found.resource.kind.group_kind(), found))
            .collect();
        let _turn = self.take_turn();
        let (untold, gone, other, listeners, mourners, deciders) = {
            let mut state = self.lock();
            state.is_whole = discovery.failed.is_empty();
            // A group that could not be read is no reason to forget what it serves.
            let is_gone = |kind: &GroupKind, version: &str| {
                discovery.lacks(&GroupVersionKind::new(&*kind.group, version, &*kind.kind))
            };
            let mut gone = Vec::new();
            let mut before = std::mem::take(&mut state.kinds);
            before.retain(|kind, followed| {
                if followed.versions().any(|version| is_gone(kind, version)) {
                    gone.push(kind.clone());
                }
                followed.versions().any(|version| !is_gone(kind, version))
            });
            let (mut untold, mut other) = (Vec::new(), Vec::new());
            for (kind, found) in wanted {
                let known = before.remove(&kind);
                let earlier = known.as_ref().map(Followed::view);
                let followed = Followed::assemble(found, discovery, known, &self.inner.caches);
                if let Some((versions, cache)) = earlier
                    && !followed.versions().eq(&versions)
                {
                    other.push((kind.clone(), cache));
                }
                untold.push((kind.clone(), followed.untold()));
                state.kinds.insert(kind, followed);
            }
            state.kinds.append(&mut before);
            (
                untold,
                gone,
                other,
                state.listeners.clone(),
                state.mourners.clone(),
                state.deciders.clone(),
            )
        };
        for (kind, caches) in &untold {
            self.tell(kind, caches, &listeners);
        }
        // Whoever is told looks at what is served by now.
        if !gone.is_empty() {
            for mourner in &mourners {
                mourner(&gone);
            }
        }
        for (kind, cache) in other {
            for object in cache.walk() {
                let (kind, key) = (kind.clone(), object.key());
                let key = TemplateKey { kind, key };
                for decider in &deciders {
                    decider(&key);
                }
            }
        }
    }

    fn take_turn(&self) -> MutexGuard<'_, ()> {
        self.inner
            .subscribing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that runs under this lock leaves the state half changed.
        self.inner
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Templates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Templates")
            .field("kinds", &self.lock().kinds.len())
            .finish_non_exhaustive()
    }
}
