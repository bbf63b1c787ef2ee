//! All policies, prepared when they change: who claims templates, and how those differ from cluster to cluster.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use api::{
    policy::{ClusterOverridePolicy, ClusterPropagationPolicy, OverridePolicy, PropagationPolicy},
    read::{ReadError, read},
};
use client::{Cache, Caches, Change, Scope, Subscription};
use object::{Object, ObjectKey};
use overrides::Overrides;
use policy::{Index, PolicyId};

use crate::kinds;

/// All policies; clones are the same.
#[derive(Clone, Debug)]
pub struct Rulebook {
    inner: Arc<Inner>,
    /// PropagationPolicies.
    pub namespaced: Cache,
    /// ClusterPropagationPolicies.
    pub cluster: Cache,
    /// OverridePolicies.
    pub overrides: Cache,
    /// ClusterOverridePolicies.
    pub cluster_overrides: Cache,
    _subscriptions: Arc<[Subscription; 4]>,
}

#[derive(Debug, Default)]
struct Inner {
    book: Mutex<Book>,
    listeners: Mutex<Vec<Listener>>,
}

/// The policies as decisions take them. Readers take a copy of the pointers; a writer copies what readers still hold.
#[derive(Clone, Debug, Default)]
struct Book {
    claims: Arc<Index>,
    overrides: Arc<Overrides>,
    override_keys: Arc<BTreeSet<ObjectKey>>,
}

struct Listener(Box<dyn Fn(&Amendment) + Send + Sync>);

/// A change of a policy, told after the book has it.
#[derive(Clone, Debug)]
pub enum Amendment {
    /// A policy that claims templates: as it was and as it is.
    Claims(Option<Arc<policy::Policy>>, Option<Arc<policy::Policy>>),
    /// A policy that overrides: as it was and as it is.
    Overrides(
        Option<Arc<overrides::Policy>>,
        Option<Arc<overrides::Policy>>,
    ),
}

impl Rulebook {
    /// Follows all four kinds of policies.
    #[must_use]
    pub fn follow(caches: &Caches) -> Self {
        let inner = Arc::new(Inner::default());
        let namespaced = caches.follow(&kinds::of::<PropagationPolicy>(), Scope::all());
        let cluster = caches.follow(&kinds::of::<ClusterPropagationPolicy>(), Scope::all());
        let overrides = caches.follow(&kinds::of::<OverridePolicy>(), Scope::all());
        let cluster_overrides = caches.follow(&kinds::of::<ClusterOverridePolicy>(), Scope::all());
        let subscribe = |cache: &Cache, take: fn(&Inner, &Change)| {
            let inner = Arc::clone(&inner);
            cache.on_change(move |change| take(&inner, change))
        };
        let subscriptions = Arc::new([
            subscribe(&namespaced, Inner::take_claims),
            subscribe(&cluster, Inner::take_claims),
            subscribe(&overrides, Inner::take_overrides),
            subscribe(&cluster_overrides, Inner::take_overrides),
        ]);
        Self {
            inner,
            namespaced,
            cluster,
            overrides,
            cluster_overrides,
            _subscriptions: subscriptions,
        }
    }

    /// Waits until all policies are in the book.
    pub async fn synced(&self) {
        for cache in [
            &self.namespaced,
            &self.cluster,
            &self.overrides,
            &self.cluster_overrides,
        ] {
            cache.synced().await;
        }
    }

    /// Calls `listener` after each later change.
    pub fn on_amendment(&self, listener: impl Fn(&Amendment) + Send + Sync + 'static) {
        lock(&self.inner.listeners).push(Listener(Box::new(listener)));
    }

    /// The policies that claim templates.
    #[must_use]
    pub fn claims(&self) -> Arc<Index> {
        Arc::clone(&lock(&self.inner.book).claims)
    }

    /// The policies that override.
    #[must_use]
    pub fn overrides(&self) -> Arc<Overrides> {
        Arc::clone(&lock(&self.inner.book).overrides)
    }

    /// The override policies there are; without a namespace for ClusterOverridePolicies.
    #[must_use]
    pub fn override_keys(&self) -> Arc<BTreeSet<ObjectKey>> {
        Arc::clone(&lock(&self.inner.book).override_keys)
    }

    /// The object of a policy that claims templates.
    #[must_use]
    pub fn object(&self, id: &PolicyId) -> Option<Arc<Object>> {
        let cache = if id.namespace.is_empty() {
            &self.cluster
        } else {
            &self.namespaced
        };
        cache.get(&ObjectKey::namespaced(&id.namespace, &id.name))
    }
}

impl Inner {
    fn take_claims(&self, change: &Change) {
        let id = |object: &Object| PolicyId {
            namespace: object.namespace().to_owned(),
            name: object.name().to_owned(),
        };
        let after = change.after.as_ref().and_then(|object| {
            let policy = if object.namespace().is_empty() {
                read::<ClusterPropagationPolicy>(object).map(|read| policy::Policy::from(&read))
            } else {
                read::<PropagationPolicy>(object).map(|read| policy::Policy::from(&read))
            };
            readable(object, policy)
        });
        let (before, after) = {
            let mut book = lock(&self.book);
            let claims = Arc::make_mut(&mut book.claims);
            match after {
                Some(policy) => {
                    let before = claims.insert(policy.clone());
                    (before, Some(Arc::new(policy)))
                }
                None => (claims.remove(&id(change.object())), None),
            }
        };
        self.tell(&Amendment::Claims(before, after));
    }

    fn take_overrides(&self, change: &Change) {
        let object = change.object();
        let id = overrides::PolicyId {
            namespace: object.namespace().to_owned(),
            name: object.name().to_owned(),
        };
        let after = change.after.as_ref().and_then(|object| {
            let policy = if object.namespace().is_empty() {
                read::<ClusterOverridePolicy>(object).map(|read| overrides::Policy::from(&read))
            } else {
                read::<OverridePolicy>(object).map(|read| overrides::Policy::from(&read))
            };
            readable(object, policy)
        });
        let (before, after) = {
            let mut book = lock(&self.book);
            let keys = Arc::make_mut(&mut book.override_keys);
            if change.after.is_some() {
                keys.insert(object.key());
            } else {
                keys.remove(&object.key());
            }
            let overrides = Arc::make_mut(&mut book.overrides);
            match after {
                Some(policy) => {
                    let before = overrides.insert(policy.clone());
                    (before, Some(Arc::new(policy)))
                }
                None => (overrides.remove(&id), None),
            }
        };
        self.tell(&Amendment::Overrides(before, after));
    }

    fn tell(&self, amendment: &Amendment) {
        for listener in &*lock(&self.listeners) {
            listener.0(amendment);
        }
    }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listener")
    }
}

/// Admission lets no such policy through; one that got past it has no effect.
fn readable<T>(object: &Object, policy: Result<T, ReadError>) -> Option<T> {
    policy
        .inspect_err(|error| {
            tracing::warn!(
                kind = object.kind(),
                namespace = object.namespace(),
                name = object.name(),
                error = %telemetry::chain(error),
                "policy cannot be read and has no effect"
            );
        })
        .ok()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that runs under these locks leaves its data half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
