//! Something made from objects of the server, made again when they have changed and somebody needs it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use arc_swap::ArcSwap;
use object::Value;
use serve::cache::{self, Cache, Collection};
use tokio::sync::watch;

/// The group of all configurations of admission.
pub(crate) const GROUP: &str = "admissionregistration.k8s.io";

/// What was made of the objects of one resource.
pub(crate) struct Compiled<T> {
    collection: Arc<Collection>,
    arrivals: watch::Receiver<u64>,
    /// How many changes there had been when `current` was made.
    seen: AtomicU64,
    current: ArcSwap<T>,
    /// Held while it is made anew, so that it is made once.
    making: Mutex<()>,
    make: fn(&[Value]) -> T,
}

impl<T: Default> Compiled<T> {
    /// Of a resource of the admission group.
    pub(crate) fn new(cache: &Cache, plural: &str, make: fn(&[Value]) -> T) -> Self {
        let collection = cache.collection(&cache::name_of(GROUP, plural));
        Self {
            arrivals: collection.arrivals(),
            collection,
            // No counter begins here, so the first look reads everything.
            seen: AtomicU64::new(u64::MAX),
            current: ArcSwap::default(),
            making: Mutex::default(),
            make,
        }
    }

    /// As of now. Whoever was answered that a configuration exists is judged by it.
    pub(crate) fn current(&self) -> Arc<T> {
        if *self.arrivals.borrow() != self.seen.load(Ordering::Acquire) {
            let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
            // Counted before reading: what comes in between is read twice rather than never.
            let count = *self.arrivals.borrow();
            if count != self.seen.load(Ordering::Acquire) {
                let objects: Vec<Value> = self
                    .collection
                    .snapshot()
                    .objects
                    .values()
                    .map(|record| record.value())
                    .collect();
                self.current.store(Arc::new((self.make)(&objects)));
                self.seen.store(count, Ordering::Release);
            }
        }
        self.current.load_full()
    }
}
