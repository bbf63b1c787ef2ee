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

impl Inner {
    fn tell(&self, steps: Vec<Step>) {
        if self.callbacks.is_empty() {
            return;
        }
        for step in steps {
            // One after the other: a list of a hundred thousand is never there as trees.
            let change = step.open();
            for callback in self.callbacks.values() {
                callback(&change);
            }
        }
    }
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

    /// Makes changes and tells everybody about them.
    pub(super) fn deliver(&self, change: impl FnOnce() -> Vec<Step>) {
        self.deliver_all(|tell| tell(change()));
    }

    /// Makes changes, of which each is told when it is handed over.
    pub(super) fn deliver_all(&self, changes: impl FnOnce(&dyn Fn(Vec<Step>))) {
        let inner = self.lock();
        changes(&|steps| inner.tell(steps));
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
