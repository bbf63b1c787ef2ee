//! Every kind that may be propagated, followed as long as it is served.
//!
//! What is served is found by discovery, at the start and whenever a CustomResourceDefinition changes; nothing is polled. A
//! kind is followed once, in the version the server likes best, and known by its group and name, so that a policy or a
//! binding may name any version of it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use client::{
    Cache, Caches, CallError, Change, Client, Discovered, Discovery, Scope, Subscription,
};
use object::{GroupKind, GroupVersionKind, Object, ObjectKey, ResourceType};
use policy::{Exemptions, Holder, Selector, selector::Which};
use runtime::Spawner;
use tokio::sync::{Notify, watch};

use crate::kinds;

/// What a resource must offer to be propagated.
const VERBS: [&str; 3] = ["delete", "list", "watch"];

/// How long a definition that is announced but not yet served is waited for at first, and at most.
const SOON: Duration = Duration::from_millis(100);
const LATER: Duration = Duration::from_secs(30);

/// The index of templates by the permanent id of the policy that holds them.
const BY_POLICY: &str = "policy";

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
    /// Who wants to know of kinds that are served no longer.
    mourners: Vec<Mourner>,
}

type Mourner = Arc<dyn Fn(&[GroupKind]) + Send + Sync>;
type Listener = Arc<dyn Fn(&GroupKind, &Change) + Send + Sync>;

struct Followed {
    resource: Arc<ResourceType>,
    other_versions: Arc<Vec<String>>,
    has_status: bool,
    cache: Cache,
    subscriptions: Vec<Subscription>,
}

impl Followed {
    /// The versions in which the kind is served, the one it is followed in first.
    fn versions(&self) -> impl Iterator<Item = &str> {
        let others = self.other_versions.iter().map(String::as_str);
        std::iter::once(self.resource.kind.version.as_str()).chain(others)
    }

    fn has_version(&self, version: &str) -> bool {
        self.versions().any(|served| served == version)
    }
}

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
            let kinds = state.kinds.iter();
            kinds
                .map(|(kind, followed)| (kind.clone(), followed.cache.clone()))
                .collect()
        };
        for (kind, cache) in caches {
            let subscription = subscribe(&cache, &kind, &listener);
            if let Some(followed) = self.lock().kinds.get_mut(&kind) {
                followed.subscriptions.push(subscription);
            }
        }
    }

    /// Calls `mourner` with kinds that were served, or were in some version, and are no longer.
    pub fn on_unserved(&self, mourner: impl Fn(&[GroupKind]) + Send + Sync + 'static) {
        self.lock().mourners.push(Arc::new(mourner));
    }

    /// Waits until what is served is known and all of it is in view.
    pub async fn synced(&self) {
        let mut discovered = self.inner.discovered.subscribe();
        // The sender lives as long as this.
        _ = discovered.wait_for(|known| *known).await;
        let caches: Vec<Cache> = self
            .lock()
            .kinds
            .values()
            .map(|followed| followed.cache.clone())
            .collect();
        for cache in caches {
            cache.synced().await;
        }
    }

    /// One template.
    #[must_use]
    pub fn find(&self, key: &TemplateKey) -> Option<Found> {
        let state = self.lock();
        let followed = state.kinds.get(&key.kind)?;
        Some(Found {
            resource: Arc::clone(&followed.resource),
            other_versions: Arc::clone(&followed.other_versions),
            has_status: followed.has_status,
            object: followed.cache.get(&key.key)?,
        })
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

    /// Whether objects of a kind may be templates.
    #[must_use]
    pub fn serving(&self, kind: &GroupVersionKind) -> Serving {
        if self.inner.exemptions.skips_kind(kind) {
            return Serving::Exempt;
        }
        let state = self.lock();
        match state.kinds.get(&kind.group_kind()) {
            Some(followed) if followed.has_version(&kind.version) => {
                match followed.resource.namespaced {
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
        followed.is_some_and(|followed| !followed.resource.namespaced)
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
        let Some((other_versions, cache)) = self
            .lock()
            .kinds
            .get(&kind)
            .map(|followed| (Arc::clone(&followed.other_versions), followed.cache.clone()))
        else {
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
            .map(|(kind, followed)| (kind.clone(), followed.cache.clone()))
            .collect();
        caches
            .into_iter()
            .flat_map(|(kind, cache)| {
                let held = cache.indexed(BY_POLICY, permanent_id);
                held.into_iter().map(move |object| (kind.clone(), object))
            })
            .collect()
    }

    /// Whether all templates of all kinds are in view.
    #[must_use]
    pub fn are_all_in_view(&self) -> bool {
        let (is_whole, caches): (bool, Vec<Cache>) = {
            let state = self.lock();
            let caches = state.kinds.values().map(|kind| kind.cache.clone());
            (state.is_whole, caches.collect())
        };
        is_whole && caches.iter().all(|cache| cache.complete().is_some())
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
        state.kinds.get(kind).map(|followed| followed.cache.clone())
    }

    /// Discovers anew whenever definitions change, and again soon while one that should be served is not yet.
    async fn keep_current(&self) {
        let mut wait = SOON;
        loop {
            let is_settled = match self.inner.caches.client().discover().await {
                Ok(discovery) => {
                    self.adopt(&discovery);
                    self.inner.discovered.send_replace(true);
                    discovery.failed.is_empty() && self.is_all_served(&discovery)
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

    /// Whether discovery knows every definition that says it is established.
    fn is_all_served(&self, discovery: &Discovery) -> bool {
        self.inner
            .definitions
            .list()
            .iter()
            .filter(|definition| is_established(definition))
            .all(|definition| {
                let group = definition.text_at(&["spec", "group"]).unwrap_or_default();
                let kind = definition
                    .text_at(&["spec", "names", "kind"])
                    .unwrap_or_default();
                discovery.find_kind(&GroupKind::new(group, kind)).is_some()
            })
    }

    /// Follows kinds that are new, and lets go of those that are known not to be served any more.
    fn adopt(&self, discovery: &Discovery) {
        let wanted: Vec<(GroupKind, &Discovered)> = discovery
            .preferred()
            .filter(|found| VERBS.iter().all(|verb| found.can(verb)))
            .filter(|found| !self.inner.exemptions.skips_kind(&found.resource.kind))
            .map(|found| (found.resource.kind.group_kind(), found))
            .collect();
        let _turn = self.take_turn();
        let mut gone = Vec::new();
        let (listeners, mourners) = {
            let mut state = self.lock();
            state.is_whole = discovery.failed.is_empty();
            state.kinds.retain(|kind, followed| {
                // A group that could not be read is no reason to forget what it serves.
                let is_gone = |version: &str| {
                    discovery.lacks(&GroupVersionKind::new(
                        kind.group.as_str(),
                        version,
                        kind.kind.as_str(),
                    ))
                };
                if followed.versions().any(is_gone) {
                    gone.push(kind.clone());
                }
                // A kind that lost the version it was followed in may be followed in another.
                !is_gone(&followed.resource.kind.version)
            });
            (state.listeners.clone(), state.mourners.clone())
        };
        for (kind, found) in wanted {
            let others = other_versions(discovery, &found.resource.kind);
            let has_status = found.subresources.iter().any(|below| below == "status");
            if let Some(followed) = self.lock().kinds.get_mut(&kind)
                && *followed.resource == found.resource
            {
                followed.other_versions = Arc::new(others);
                followed.has_status = has_status;
                continue;
            }
            let cache = self.inner.caches.follow(&found.resource, Scope::all());
            cache.index_by(BY_POLICY, holders);
            let followed = Followed {
                resource: Arc::new(found.resource.clone()),
                other_versions: Arc::new(others),
                has_status,
                cache: cache.clone(),
                subscriptions: Vec::new(),
            };
            self.lock().kinds.insert(kind.clone(), followed);
            let subscriptions: Vec<Subscription> = listeners
                .iter()
                .map(|listener| subscribe(&cache, &kind, listener))
                .collect();
            if let Some(followed) = self.lock().kinds.get_mut(&kind) {
                followed.subscriptions = subscriptions;
            }
        }
        // Whoever is told looks at what is served by now.
        if !gone.is_empty() {
            for mourner in &mourners {
                mourner(&gone);
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

fn subscribe(cache: &Cache, kind: &GroupKind, listener: &Listener) -> Subscription {
    let (kind, listener) = (kind.clone(), Arc::clone(listener));
    cache.on_change(move |change| listener(&kind, change))
}

/// The permanent id of the policy that holds a template.
fn holders(template: &Object) -> Vec<String> {
    Holder::of(template)
        .map(|holder| holder.permanent_id)
        .into_iter()
        .collect()
}

fn other_versions(discovery: &Discovery, kind: &GroupVersionKind) -> Vec<String> {
    discovery
        .resources
        .iter()
        .map(|found| &found.resource.kind)
        .filter(|other| {
            other.group == kind.group && other.kind == kind.kind && other.version != kind.version
        })
        .map(|other| other.version.clone())
        .collect()
}

fn is_established(definition: &Object) -> bool {
    definition
        .at(&["status", "conditions"])
        .and_then(object::Value::as_array)
        .into_iter()
        .flatten()
        .any(|condition| {
            condition
                .get("type")
                .is_some_and(|name| name == "Established")
                && condition
                    .get("status")
                    .is_some_and(|status| status == "True")
        })
}
