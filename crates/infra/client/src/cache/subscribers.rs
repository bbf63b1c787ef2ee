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
    fn tell(&self, steps: Vec<Step>, background: Option<Newest>) {
        if self.callbacks.is_empty() {
            return;
        }
        for step in steps {
            // One after the other: a list of a hundred thousand is never there as trees.
            let change = step.open();
            let tell = || {
                self.callbacks
                    .values()
                    .for_each(|callback| callback(&change))
            };
            match background {
                Some(newest) => runtime::in_the_background(newest.age(step.revision()), tell),
                None => tell(),
            }
        }
    }
}

/// The revision of the newest of the objects that were there before anybody looked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Newest(u64);

impl Newest {
    pub(super) fn of<'p>(objects: impl IntoIterator<Item = &'p Packed>) -> Self {
        let revisions = objects.into_iter().map(Packed::revision);
        Self(revisions.max().unwrap_or_default())
    }

    /// How much older another is.
    pub(super) fn age(self, revision: u64) -> u32 {
        u32::try_from(self.0.saturating_sub(revision)).unwrap_or(u32::MAX)
    }
}

impl Subscribers {
    pub(super) fn add(&self, callback: Callback, objects: impl FnOnce() -> OrdSet<Packed>) -> u64 {
        let mut inner = self.lock();
        let objects = objects();
        let newest = Newest::of(&objects);
        for object in objects {
            let age = newest.age(object.revision());
            let change = Step::came(object).open();
            runtime::in_the_background(age, || callback(&change));
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
    pub(super) fn deliver(&self, change: impl FnOnce() -> Vec<Step>) {
        self.deliver_all(None, |tell| tell(change()));
    }

    /// Makes changes, of which each is told when it is handed over; in the background if they were there before.
    pub(super) fn deliver_all(
        &self,
        background: Option<Newest>,
        changes: impl FnOnce(&dyn Fn(Vec<Step>)),
    ) {
        let inner = self.lock();
        changes(&|steps| inner.tell(steps, background));
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
