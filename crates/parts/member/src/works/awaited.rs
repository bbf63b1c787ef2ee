//! Works that wait for a namespace which the member does not have, or is about to lose.
//!
//! The namespaces of a member are followed from the first refusal on, so that a work goes on its way when its namespace
//! has arrived and not when its turn to be retried comes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use client::{Cache, Caches, CallError, Change, Detail, Scope, Subscription};
use object::{Object, ObjectKey, Value};
use runtime::Queue;
use tokio::time::Instant;

use crate::resources;

/// How long a work waits whose namespace is there already, as far as is known: what is known may be old.
const DOUBT: Duration = Duration::from_millis(200);

/// The works that wait, each with the namespace it waits for.
#[derive(Default)]
pub(crate) struct Awaited {
    waiting: Waiting,
    followed: Mutex<Option<(Cache, Subscription)>>,
}

type Waiting = Arc<Mutex<HashMap<ObjectKey, String>>>;

impl Awaited {
    /// Wants a work looked at once a namespace is there.
    pub(crate) fn wait(
        &self,
        work: &ObjectKey,
        namespace: &str,
        caches: &Caches,
        queue: &Queue<ObjectKey>,
    ) {
        lock(&self.waiting).insert(work.clone(), namespace.to_owned());
        let mut followed = lock(&self.followed);
        let (cache, _) = followed.get_or_insert_with(|| {
            // Nothing but that they are there is asked of them.
            let scope = Scope::all().keeping(Detail::Identity);
            let cache = caches.follow(&resources::namespaces(), scope);
            let (waiting, queue) = (Arc::clone(&self.waiting), queue.clone());
            let subscription = cache.on_change(move |change| {
                if let Some(namespace) = arrived(change) {
                    for work in taken(&waiting, namespace) {
                        queue.add(work);
                    }
                }
            });
            (cache, subscription)
        });
        // It may have arrived before the work was among those that wait.
        let known = cache.get(&ObjectKey::cluster(namespace));
        if known.is_some_and(|namespace| !namespace.is_terminating()) {
            queue.add_with(work.clone(), Instant::now() + DOUBT, 0);
        }
    }

    /// Nobody waits for this work any longer.
    pub(crate) fn forget(&self, work: &ObjectKey) {
        lock(&self.waiting).remove(work);
    }
}

/// Whether a member refused an object only for want of its namespace.
pub(crate) fn lacks_namespace(error: &CallError) -> bool {
    let Some(refusal) = error.refusal() else {
        return false;
    };
    let details = &refusal.details;
    let is_missing =
        error.is_not_found() && details.get("kind").and_then(Value::as_str) == Some("namespaces");
    let causes = details.get("causes").and_then(Value::as_array);
    let is_ending = causes
        .into_iter()
        .flatten()
        .any(|cause| cause.get("reason").and_then(Value::as_str) == Some("NamespaceTerminating"));
    is_missing || is_ending
}

/// The namespace that a change says has come.
fn arrived(change: &Change) -> Option<&Object> {
    let after = change.after.as_deref()?;
    (change.before.is_none() && !after.is_terminating()).then_some(after)
}

/// The works that waited for a namespace; they wait no longer.
fn taken(waiting: &Waiting, namespace: &Object) -> Vec<ObjectKey> {
    let mut waiting = lock(waiting);
    let works: Vec<ObjectKey> = waiting
        .iter()
        .filter(|(_, awaited)| *awaited == namespace.name())
        .map(|(work, _)| work.clone())
        .collect();
    for work in &works {
        waiting.remove(work);
    }
    works
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that runs under these locks leaves its data half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
