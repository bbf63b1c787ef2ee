//! The queue with its clock: those who decide wait here for their turn.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use object::ObjectKey;
use runtime::CancellationToken;
use tokio::{sync::Notify, time::Instant};

use crate::queue::{Cause, Counts, Ending, Patience, Queue, Turn};

/// A binding by its name; one without namespace is cluster-wide.
pub(crate) type Key = Arc<ObjectKey>;

/// Bindings waiting to be decided.
#[derive(Debug)]
pub(crate) struct Line {
    queue: Mutex<Queue<Key>>,
    start: Instant,
    /// Told when a binding becomes active, or one starts to wait for less long than those before it.
    stir: Notify,
}

impl Line {
    /// An empty line.
    #[must_use]
    pub(crate) fn new(patience: Patience) -> Self {
        Self {
            queue: Mutex::new(Queue::new(patience)),
            start: Instant::now(),
            stir: Notify::new(),
        }
    }

    /// Brings a binding.
    pub(crate) fn push(&self, key: &Key, priority: i32, cause: Cause) {
        if self.lock().push(key, priority, cause) {
            self.stir.notify_one();
        }
    }

    /// Brings bindings that wait for room, as far as `may_help` says so.
    pub(crate) fn retry_where(&self, may_help: impl Fn(&Key) -> bool) {
        // Asked outside the lock: there may be thousands, and each question looks at an object.
        let waiting: Vec<Key> = self.lock().unschedulable().cloned().collect();
        let now = self.now();
        for key in waiting.into_iter().filter(may_help) {
            self.lock().retry(&key, now);
            self.stir.notify_one();
        }
    }

    /// Whether some binding waits for room.
    #[must_use]
    pub(crate) fn has_unschedulable(&self) -> bool {
        self.lock().counts().unschedulable > 0
    }

    /// Forgets a binding that is gone.
    pub(crate) fn remove(&self, key: &Key) {
        self.lock().remove(key);
    }

    /// Waits for the next turn; `None` when it is time to stop.
    pub(crate) async fn take(&self, stop: &CancellationToken) -> Option<Turn<Key>> {
        loop {
            let next = {
                let mut queue = self.lock();
                let now = self.now();
                if let Some(turn) = queue.pop(now) {
                    // Each stir wakes one; it passes the word on while there is more to do.
                    if queue.is_ready(now) {
                        self.stir.notify_one();
                    }
                    return Some(turn);
                }
                queue.next_wake()
            };
            let sleep = async {
                match next {
                    Some(at) => tokio::time::sleep_until(self.start + at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return None,
                () = self.stir.notified() => {}
                () = sleep => {}
            }
        }
    }

    /// Says how an attempt ended.
    pub(crate) fn finish(&self, key: &Key, ending: Ending) {
        let now = self.now();
        self.lock().finish(key, ending, now);
        // It may be active again, or wait for less long than anybody knows.
        self.stir.notify_one();
    }

    /// Notes that a write of our own makes this generation.
    pub(crate) fn expect(&self, key: &Key, generation: i64) {
        self.lock().expect(key, generation);
    }

    /// How many bindings are where.
    #[must_use]
    pub(crate) fn counts(&self) -> Counts {
        self.lock().counts()
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn lock(&self) -> MutexGuard<'_, Queue<Key>> {
        // The queue's own code does not panic; whoever panics holding it has not begun to change it.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
