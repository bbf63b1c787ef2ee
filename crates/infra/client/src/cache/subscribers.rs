//! Who is told of changes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use imbl::OrdSet;

use super::Change;
use super::content::Step;
use super::packed::Packed;

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
    pub(super) fn add(&self, callback: Callback, objects: impl FnOnce() -> OrdSet<Packed>) -> u64 {
        let mut inner = self.lock();
        runtime::in_the_background(|| {
            for object in objects() {
                callback(&Step::came(object).open());
            }
        });
        inner.next += 1;
        let id = inner.next;
        inner.callbacks.insert(id, callback);
        id
    }

    pub(super) fn remove(&self, id: u64) {
        self.lock().callbacks.remove(&id);
    }

    /// Takes in what there is and tells everybody about it, as of what can wait: it was there before anybody looked.
    pub(super) fn deliver_first(&self, change: impl FnOnce() -> Vec<Step>) {
        runtime::in_the_background(|| self.deliver(change));
    }

    /// Makes changes and tells everybody about them.
    pub(super) fn deliver(&self, change: impl FnOnce() -> Vec<Step>) {
        let inner = self.lock();
        for step in change() {
            if inner.callbacks.is_empty() {
                return;
            }
            // One after the other: a list of a hundred thousand is never there as trees.
            let change = step.open();
            for callback in inner.callbacks.values() {
                callback(&change);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
