//! The Secrets that clusters are reached with, wherever they are kept.
//!
//! Most are in one namespace, which is followed as a whole. Whoever joins a cluster may choose another; there only the Secrets
//! that clusters refer to are followed, one by one: what else is there is nobody's business here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api::names::CLUSTER_NAMESPACE;
use client::{Cache, Caches, CallError, Client, Scope, Subscription};
use object::{Object, ObjectKey};
use runtime::Queue;

use crate::resources;

/// Clusters by the secret that they are reached with. A cluster that says what it serves is large: with a thousand of them
/// and two secrets each, opening all for each secret took minutes of a start.
const BY_SECRET: &str = "secret";

pub(super) struct Secrets {
    caches: Caches,
    clusters: Cache,
    pub(super) at_home: Cache,
    elsewhere: Mutex<HashMap<ObjectKey, Watched>>,
}

/// A Secret in another namespace, followed until this is dropped.
struct Watched {
    _cache: Cache,
    _subscription: Subscription,
}

impl Secrets {
    pub(super) fn follow(caches: &Caches, clusters: &Cache) -> Self {
        clusters.index_by(BY_SECRET, secrets_of);
        Self {
            caches: caches.clone(),
            clusters: clusters.clone(),
            at_home: caches.follow(
                &resources::secrets(),
                Scope::all().in_namespace(CLUSTER_NAMESPACE),
            ),
            elsewhere: Mutex::default(),
        }
    }

    /// The Secret as it is now, if it is there. From now on the clusters that refer to it are looked at when it changes.
    pub(super) async fn find(
        &self,
        key: &ObjectKey,
        client: &Client,
        queue: &Queue<String>,
    ) -> Result<Option<Arc<Object>>, CallError> {
        if key.namespace == CLUSTER_NAMESPACE {
            return Ok(self.at_home.get(key));
        }
        self.watch(key, queue);
        // What is watched is not in view yet the first time, and a Secret is about to change when a cluster has just joined.
        match client.get(&resources::secrets(), key).await {
            Ok(secret) => Ok(Some(Arc::new(secret))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn watch(&self, key: &ObjectKey, queue: &Queue<String>) {
        if self.lock().contains_key(key) {
            return;
        }
        let scope = Scope::all()
            .in_namespace(key.namespace.as_str())
            .with_fields(format!("metadata.name={}", key.name));
        let cache = self.caches.follow(&resources::secrets(), scope);
        let (clusters, queue) = (self.clusters.clone(), queue.clone());
        let subscription = cache.on_change(move |change| {
            for cluster in clusters_with(change.object(), &clusters) {
                queue.add(cluster);
            }
        });
        let watched = Watched {
            _cache: cache,
            _subscription: subscription,
        };
        self.lock().insert(key.clone(), watched);
    }

    /// Leaves alone what no cluster refers to any more.
    pub(super) fn forget_unused(&self) {
        let is_used = |key: &ObjectKey| {
            let clusters = self.clusters.indexed_keys(BY_SECRET, &key.to_string());
            !clusters.is_empty()
        };
        let unused: Vec<_> = self.lock().extract_if(|key, _| !is_used(key)).collect();
        // What is followed ends outside of the lock.
        drop(unused);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ObjectKey, Watched>> {
        // Nothing that runs under the lock leaves it half changed.
        self.elsewhere
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn secrets_of(cluster: &Object) -> Vec<String> {
    let at = |field: &str| cluster.text_at(&["spec", "secretRef", field]);
    let named = at("namespace").zip(at("name"));
    let key = named.map(|(namespace, name)| ObjectKey::namespaced(namespace, name).to_string());
    key.into_iter().collect()
}

/// The clusters that refer to a secret.
pub(super) fn clusters_with(secret: &Object, clusters: &Cache) -> Vec<String> {
    let found = clusters.indexed_keys(BY_SECRET, &secret.key().to_string());
    found.into_iter().map(|cluster| cluster.name).collect()
}
