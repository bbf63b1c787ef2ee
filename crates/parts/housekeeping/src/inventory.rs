//! Which kinds there are, and who of them belongs to whom.
//!
//! Every kind that can be listed, watched and deleted is followed, by identity only. What discovery cannot read at the
//! moment keeps its last known place: a group that is away takes nothing with it.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use client::{Cache, Caches, CallError, Change, Detail, Discovery, Scope, Subscription};
use object::{GroupKind, Object, ResourceType};
use runtime::Spawner;
use telemetry::chain;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::resources;

/// How often discovery is read when nobody knows of a change. Upstream: the same.
const REFRESH: Duration = Duration::from_secs(30);
/// How much longer a kind is followed that is there no more: that its objects went may still be on its way.
const FAREWELL: Duration = Duration::from_secs(20);
/// The index of objects by the uids of their owners.
const OWNER: &str = "owner";

/// The kinds there are; clones are the same.
#[derive(Clone)]
pub struct Inventory {
    inner: Arc<Inner>,
}

struct Inner {
    caches: Caches,
    known: ArcSwap<Known>,
    changed: Notify,
}

#[derive(Default)]
struct Known {
    kinds: BTreeMap<GroupKind, Arc<Followed>>,
    /// Whether discovery has been read at all.
    read: bool,
}

/// A kind that is there.
pub(crate) struct Followed {
    pub(crate) resource: Arc<ResourceType>,
    /// `None` for a kind that cannot be listed, watched and deleted.
    pub(crate) cache: Option<Cache>,
    _subscription: Option<Subscription>,
}

/// Is told of every change of every object.
pub(crate) type Watcher = Arc<dyn Fn(&Arc<ResourceType>, &Change) + Send + Sync>;

impl Inventory {
    /// Knows nothing yet.
    #[must_use]
    pub fn new(caches: Caches) -> Self {
        Self {
            inner: Arc::new(Inner {
                caches,
                known: ArcSwap::default(),
                changed: Notify::new(),
            }),
        }
    }

    /// Keeps itself current, and tells `watcher` of every change of every object.
    pub(crate) fn run(&self, watcher: Watcher, spawner: &Spawner) {
        let inventory = self.clone();
        let weak: Weak<Inner> = Arc::downgrade(&self.inner);
        let definitions = self
            .inner
            .caches
            .follow(&resources::definitions(), Scope::all());
        let subscription = definitions.on_change(move |_| {
            if let Some(inner) = weak.upgrade() {
                inner.changed.notify_one();
            }
        });
        spawner.spawn("inventory", |stop| async move {
            let _subscription = subscription;
            let mut leaving = Vec::new();
            loop {
                let refreshing = inventory.refresh(&watcher);
                let refreshed = tokio::select! {
                    biased;
                    () = stop.cancelled() => break,
                    refreshed = refreshing => refreshed,
                };
                let now = Instant::now();
                leaving.retain(|(_, since)| now.duration_since(*since) < FAREWELL);
                match refreshed {
                    Ok(gone) => leaving.extend(gone.into_iter().map(|followed| (followed, now))),
                    Err(error) => {
                        tracing::warn!(error = %chain(&error), "cannot learn which kinds there are");
                    }
                }
                tokio::select! {
                    biased;
                    () = stop.cancelled() => break,
                    () = inventory.inner.changed.notified() => {}
                    () = tokio::time::sleep(REFRESH) => {}
                }
            }
            // The callbacks point back here; without this nobody would ever be dropped.
            inventory.inner.known.store(Arc::default());
        });
    }

    /// The kind that a reference names, in whatever version it is followed.
    pub(crate) fn find(&self, kind: &GroupKind) -> Option<Arc<Followed>> {
        self.inner.known.load().kinds.get(kind).cloned()
    }

    /// All objects that name the uid as an owner; `None` while some kind is not wholly known.
    pub(crate) fn dependents(&self, uid: &str) -> Option<Vec<(Arc<ResourceType>, Arc<Object>)>> {
        let known = self.inner.known.load();
        if !known.read {
            return None;
        }
        let mut found = Vec::new();
        for followed in known.kinds.values() {
            let Some(cache) = &followed.cache else {
                continue;
            };
            cache.complete()?;
            let dependents = cache.indexed(OWNER, uid);
            found.extend(
                dependents
                    .into_iter()
                    .map(|object| (Arc::clone(&followed.resource), object)),
            );
        }
        Some(found)
    }

    /// The objects that name the uid as an owner, as far as they are known.
    pub(crate) fn known_dependents(&self, uid: &str) -> Vec<(Arc<ResourceType>, Arc<Object>)> {
        let known = self.inner.known.load();
        let mut found = Vec::new();
        for followed in known.kinds.values() {
            let Some(cache) = &followed.cache else {
                continue;
            };
            for object in cache.indexed(OWNER, uid) {
                found.push((Arc::clone(&followed.resource), object));
            }
        }
        found
    }

    /// Reads discovery; what is not followed any more.
    async fn refresh(&self, watcher: &Watcher) -> Result<Vec<Arc<Followed>>, CallError> {
        let inner = &self.inner;
        let discovery = inner.caches.client().discover().await?;
        let known = inner.known.load_full();
        let mut kinds = BTreeMap::new();
        for resource in chosen(&discovery) {
            let (kind, can_follow) = (resource.0.kind.group_kind(), resource.1);
            let same = known.kinds.get(&kind).filter(|followed| {
                *followed.resource == *resource.0 && followed.cache.is_some() == can_follow
            });
            let followed = match same {
                Some(followed) => Arc::clone(followed),
                None => Arc::new(self.follow(resource.0.clone(), can_follow, watcher)),
            };
            kinds.insert(kind, followed);
        }
        for (kind, followed) in &known.kinds {
            let version = followed.resource.group_version();
            let is_away = discovery
                .failed
                .iter()
                .any(|failed| failed.group_version == version);
            if is_away && !kinds.contains_key(kind) {
                kinds.insert(kind.clone(), Arc::clone(followed));
            }
        }
        let is_gone = |followed: &&Arc<Followed>| {
            let kind = followed.resource.kind.group_kind();
            let known = kinds.get(&kind);
            known.is_none_or(|known| !Arc::ptr_eq(known, followed))
        };
        let gone = known.kinds.values().filter(is_gone).cloned().collect();
        inner.known.store(Arc::new(Known { kinds, read: true }));
        Ok(gone)
    }

    fn follow(&self, resource: ResourceType, can_follow: bool, watcher: &Watcher) -> Followed {
        let resource = Arc::new(resource);
        if !can_follow {
            return Followed {
                resource,
                cache: None,
                _subscription: None,
            };
        }
        let scope = Scope::all().keeping(Detail::Identity);
        let cache = self.inner.caches.follow(&resource, scope);
        cache.index_by(OWNER, owner_uids);
        let (watcher, of) = (Arc::clone(watcher), Arc::clone(&resource));
        let subscription = cache.on_change(move |change| watcher(&of, change));
        Followed {
            resource,
            cache: Some(cache),
            _subscription: Some(subscription),
        }
    }
}

/// One version of each kind, and whether it can be followed. Upstream: events are nobody's garbage; there are too many.
fn chosen(discovery: &Discovery) -> impl Iterator<Item = (&ResourceType, bool)> {
    let is_event = |resource: &ResourceType| {
        resource.kind.kind == "Event"
            && matches!(resource.kind.group.as_str(), "" | "events.k8s.io")
    };
    discovery.preferred().map(move |found| {
        let can_follow = ["list", "watch", "delete"]
            .iter()
            .all(|verb| found.can(verb));
        (&found.resource, can_follow && !is_event(&found.resource))
    })
}

fn owner_uids(object: &Object) -> Vec<String> {
    object.owner_references().map(|owner| owner.uid).collect()
}
