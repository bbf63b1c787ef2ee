//! Who is told of changes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use object::{Object, ObjectKey};

use super::Change;

type Callback = Arc<dyn Fn(&Change) + Send + Sync>;

/// The callbacks of a cache.
///
/// Invariant: changing the content and telling about it happen under one lock, and so do the first look of a new callback
/// and its registration: each is told of every object exactly once, in order.
#[derive(Default)]
pub(super) struct Subscribers {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    next: u64,
    callbacks: BTreeMap<u64, Callback>,
}

impl Subscribers {
    pub(super) fn add(
        &self,
        callback: Callback,
        objects: impl FnOnce() -> imbl::OrdMap<ObjectKey, Arc<Object>>,
    ) -> u64 {
        let mut inner = self.lock();
        for object in objects().values() {
            callback(&Change {
                before: None,
                after: Some(Arc::clone(object)),
            });
        }
        inner.next += 1;
        let id = inner.next;
        inner.callbacks.insert(id, callback);
        id
    }

    pub(super) fn remove(&self, id: u64) {
        self.lock().callbacks.remove(&id);
    }

    /// Makes changes and tells everybody about them.
    pub(super) fn deliver(&self, change: impl FnOnce() -> Vec<Change>) {
        let inner = self.lock();
        for change in change() {
            for callback in inner.callbacks.values() {
                callback(&change);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
