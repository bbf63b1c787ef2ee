//! Watching: positions in the shared history, woken by the writer when something concerns them.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

use crate::embedded::published::Published;
use crate::embedded::state::State;
use crate::entry::{Changes, Event};
use crate::error::WatchError;
use crate::key::Revision;
use crate::status::Notice;

/// Who watches which prefix.
#[derive(Debug, Default)]
pub(crate) struct Watchers {
    register: Mutex<Register>,
    /// The revision up to which all watchers concerned have been marked.
    marked: AtomicU64,
    closed: AtomicBool,
}

#[derive(Debug, Default)]
struct Register {
    by_prefix: HashMap<Bytes, Vec<Arc<Waiter>>>,
    /// How many watched prefixes have a length: a key is looked up once for each length, not once for each watcher.
    lengths: BTreeMap<usize, usize>,
}

#[derive(Debug, Default)]
struct Waiter {
    /// The first revision that concerns the watcher and that it has not been told of; 0 for none.
    first: AtomicU64,
    wake: Notify,
}

impl Watchers {
    pub(crate) fn new(revision: u64) -> Self {
        Self {
            marked: AtomicU64::new(revision),
            ..Self::default()
        }
    }

    /// Marks and wakes everyone concerned by what came after `before`. Called by the writer after publishing.
    pub(crate) fn mark(&self, state: &State, before: u64) {
        let register = self.register.lock().unwrap_or_else(PoisonError::into_inner);
        for moment in state.history.moments_after(before) {
            for event in moment.changes.events.iter() {
                register.mark(event.key.as_ref(), moment.changes.revision.0);
            }
        }
        // Released while the register is held: whoever registers afterwards sees this revision.
        self.marked.store(state.revision, Ordering::Release);
    }

    /// Ends all watches.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        let register = self.register.lock().unwrap_or_else(PoisonError::into_inner);
        for waiter in register.by_prefix.values().flatten() {
            waiter.wake.notify_one();
        }
    }

    /// Adds a watcher that has seen everything up to a revision.
    fn enter(&self, prefix: &Bytes, after: u64) -> Arc<Waiter> {
        let mut register = self.register.lock().unwrap_or_else(PoisonError::into_inner);
        let waiter = Arc::new(Waiter::default());
        if after < self.marked.load(Ordering::Acquire) {
            waiter
                .first
                .store(after.saturating_add(1), Ordering::Release);
        }
        let waiters = register.by_prefix.entry(prefix.clone()).or_default();
        waiters.push(Arc::clone(&waiter));
        let first = waiters.len() == 1;
        if first {
            *register.lengths.entry(prefix.len()).or_default() += 1;
        }
        waiter
    }

    fn leave(&self, prefix: &Bytes, waiter: &Arc<Waiter>) {
        let mut register = self.register.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(waiters) = register.by_prefix.get_mut(prefix) else {
            return;
        };
        waiters.retain(|other| !Arc::ptr_eq(other, waiter));
        if !waiters.is_empty() {
            return;
        }
        register.by_prefix.remove(prefix);
        if let Some(count) = register.lengths.get_mut(&prefix.len()) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                register.lengths.remove(&prefix.len());
            }
        }
    }
}

impl Register {
    fn mark(&self, key: &[u8], revision: u64) {
        for prefix in self.lengths.keys().map_while(|len| key.get(..*len)) {
            for waiter in self.by_prefix.get(prefix).into_iter().flatten() {
                let was_none =
                    waiter
                        .first
                        .compare_exchange(0, revision, Ordering::AcqRel, Ordering::Acquire);
                if was_none.is_ok() {
                    waiter.wake.notify_one();
                }
            }
        }
    }
}

/// Wakes one task when there may be something to take from a watch. Several who share a watch take from it in turn; one
/// of them waits here.
#[derive(Debug)]
pub struct Arrivals {
    waiter: Arc<Waiter>,
}

impl Arrivals {
    /// Waits until something came since the last time. Safe to cancel.
    pub async fn wait(&self) {
        self.waiter.wake.notified().await;
    }
}

/// A watch on a store in memory. Costs a few words however slowly it is read.
pub struct EmbeddedWatch {
    published: Arc<Published>,
    waiter: Arc<Waiter>,
    prefix: Bytes,
    /// Everything up to here was delivered or did not concern us.
    seen: u64,
    /// Whether something after `seen` may concern us.
    behind: bool,
    wants_progress: bool,
}

impl fmt::Debug for EmbeddedWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedWatch")
            .field("prefix", &self.prefix)
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}

impl EmbeddedWatch {
    pub(crate) fn start(
        published: Arc<Published>,
        prefix: Bytes,
        after: Revision,
    ) -> Result<Self, WatchError> {
        let waiter = published.watchers.enter(&prefix, after.0);
        let compacted = published.state().history.compacted();
        // From here on dropping the watch takes it off the register again.
        let watch = Self {
            published,
            waiter,
            prefix,
            seen: after.0,
            behind: false,
            wants_progress: false,
        };
        if after.0 < compacted {
            return Err(WatchError::Compacted {
                requested: after,
                compacted: Revision(compacted),
            });
        }
        Ok(watch)
    }

    /// Asks for a [`Notice::Progress`] once everything up to now has been delivered.
    pub fn request_progress(&mut self) {
        self.wants_progress = true;
    }

    /// Waits for the next notice. Safe to cancel: nothing is lost by dropping the future.
    ///
    /// # Errors
    /// When the watch cannot go on; it then says so every time.
    pub async fn next(&mut self) -> Result<Notice, WatchError> {
        loop {
            if let Some(notice) = self.take()? {
                return Ok(notice);
            }
            self.waiter.wake.notified().await;
        }
    }

    /// Tells of arrivals to one who does not hold the watch.
    #[must_use]
    pub fn arrivals(&self) -> Arrivals {
        Arrivals {
            waiter: Arc::clone(&self.waiter),
        }
    }

    /// The next notice, if there is one already.
    ///
    /// # Errors
    /// When the watch cannot go on; it then says so every time.
    pub fn take(&mut self) -> Result<Option<Notice>, WatchError> {
        loop {
            if self.published.watchers.closed.load(Ordering::Acquire) {
                return Err(WatchError::Closed);
            }
            if self.behind {
                if let Some(changes) = self.catch_up()? {
                    return Ok(Some(Notice::Changes(changes)));
                }
                self.behind = false;
            }
            // The order matters: what has no mark after this revision was read does not concern us up to it.
            let marked = self.published.watchers.marked.load(Ordering::Acquire);
            let first = self.waiter.first.swap(0, Ordering::AcqRel);
            if first > 0 {
                self.seen = self.seen.max(first.saturating_sub(1));
                self.behind = true;
                continue;
            }
            self.seen = self.seen.max(marked);
            if self.wants_progress {
                self.wants_progress = false;
                // A watch may begin in the future; progress does not.
                let reached = self.seen.min(self.published.state().revision);
                return Ok(Some(Notice::Progress(Revision(reached))));
            }
            return Ok(None);
        }
    }

    /// The next change in the history that concerns us. The state is not held on to: a watch that is not read must
    /// not keep the past alive.
    fn catch_up(&mut self) -> Result<Option<Changes>, WatchError> {
        let state = self.published.state();
        let floor = state.history.floor();
        if self.seen < floor {
            let compacted = Revision(state.history.compacted());
            return Err(WatchError::FellBehind {
                seen: Revision(self.seen),
                compacted,
            });
        }
        for moment in state.history.moments_after(self.seen) {
            self.seen = moment.changes.revision.0;
            if let Some(changes) = self.concerning(&moment.changes) {
                return Ok(Some(changes));
            }
        }
        Ok(None)
    }

    fn concerning(&self, changes: &Changes) -> Option<Changes> {
        let concerns = |event: &&Event| event.key.as_ref().starts_with(&self.prefix);
        let count = changes.events.iter().filter(concerns).count();
        if count == 0 {
            return None;
        }
        if count == changes.events.len() {
            return Some(changes.clone());
        }
        let events = changes.events.iter().filter(concerns).cloned().collect();
        Some(Changes {
            revision: changes.revision,
            events,
        })
    }
}

impl Drop for EmbeddedWatch {
    fn drop(&mut self) {
        self.published.watchers.leave(&self.prefix, &self.waiter);
    }
}
