//! A store that forgets everything with the process: for simulated clusters and tests.
//!
//! The same states, histories and watches as the embedded engine's, without its thread, its files and its waiting. Time
//! is tokio's, so that a test that holds the clock holds this store's too. Nothing runs by itself: whoever uses or
//! watches the store lets go of what has expired.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::embedded::clock::to_millis;
use crate::embedded::ledger::Ledger;
use crate::embedded::published::Published;
use crate::embedded::state::State;
use crate::embedded::{EmbeddedWatch, Retention};
use crate::entry::Entry;
use crate::error::{CommitError, CompactError, ReadError, RenewError, WatchError};
use crate::key::{Key, Revision};
use crate::query::{Page, Query};
use crate::status::{Notice, Status};
use crate::txn::{Committed, Txn};

/// A store in memory. Clones are the same store.
#[derive(Clone, Debug)]
pub struct Memory {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    ledger: Mutex<Ledger>,
    published: Arc<Published>,
    retention: Retention,
    /// Milliseconds since 1970 when the store was made.
    epoch: u64,
    started: Instant,
    /// Told when the soonest expiry may have changed.
    rescheduled: Notify,
    closed: AtomicBool,
}

/// A watch on a store in memory.
#[derive(Debug)]
pub struct MemoryWatch {
    store: Memory,
    watch: EmbeddedWatch,
}

impl Memory {
    /// An empty store.
    #[must_use]
    pub fn new(retention: Retention) -> Self {
        let state = State::at(0, []);
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let inner = Inner {
            published: Arc::new(Published::new(state.clone())),
            ledger: Mutex::new(Ledger::new(state)),
            retention,
            epoch: to_millis(since_epoch.unwrap_or_default()),
            started: Instant::now(),
            rescheduled: Notify::new(),
            closed: AtomicBool::new(false),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// What a key holds, now or at a revision.
    ///
    /// # Errors
    /// When the revision is compacted or in the future, or the store is closed.
    pub fn get(&self, key: &Key, at: Option<Revision>) -> Result<Option<Arc<Entry>>, ReadError> {
        self.readable()?.entry_at(key, at)
    }

    /// Entries of many keys, all as of one revision.
    ///
    /// # Errors
    /// When the revision is compacted or in the future, or the store is closed.
    pub fn range(&self, query: &Query) -> Result<Page, ReadError> {
        self.readable()?.page(query)
    }

    /// The newest revision.
    ///
    /// # Errors
    /// When the store is closed.
    pub fn revision(&self) -> Result<Revision, ReadError> {
        self.readable().map(|state| Revision(state.revision))
    }

    /// Performs a transaction.
    ///
    /// # Errors
    /// When a check does not hold, the transaction is malformed or the store is closed.
    pub fn commit(&self, txn: Txn) -> Result<Committed, CommitError> {
        txn.validate()?;
        self.open().ok_or(CommitError::Closed)?;
        self.write(|ledger, now| ledger.commit(txn, now, |_| {}))
    }

    /// Gives a key its whole time to live again.
    ///
    /// # Errors
    /// When there is no such key or it has no limit.
    pub fn renew(&self, key: Key) -> Result<(), RenewError> {
        self.open().ok_or(CommitError::Closed)?;
        self.write(|ledger, now| ledger.renew(key, now, |_| {}))
    }

    /// Lets go of history before a revision.
    ///
    /// # Errors
    /// When the revision is in the future or the store is closed.
    pub fn compact(&self, requested: Revision) -> Result<(), CompactError> {
        self.open().ok_or(CommitError::Closed)?;
        self.write(|ledger, _| {
            if requested.0 > ledger.state.revision {
                return Err(CompactError::Future {
                    requested,
                    current: Revision(ledger.state.revision),
                });
            }
            ledger.state.history.compact(requested.0);
            Ok(())
        })
    }

    /// Follows the changes to keys with a prefix after a revision.
    ///
    /// # Errors
    /// When those changes are no longer known, or the store is closed.
    pub fn watch(&self, prefix: Bytes, after: Revision) -> Result<MemoryWatch, WatchError> {
        self.open().ok_or(WatchError::Closed)?;
        let watch = EmbeddedWatch::start(Arc::clone(&self.inner.published), prefix, after)?;
        Ok(MemoryWatch {
            store: self.clone(),
            watch,
        })
    }

    /// The store at a glance.
    ///
    /// # Errors
    /// When the store is closed.
    pub fn status(&self) -> Result<Status, ReadError> {
        let state = self.readable()?;
        Ok(Status {
            revision: Revision(state.revision),
            compacted: Revision(state.history.compacted()),
            entries: u64::try_from(state.len()).ok(),
            disk_bytes: 0,
            read_only: None,
        })
    }

    /// Takes no more and ends all watches.
    pub fn close(&self) {
        self.inner.closed.store(true, Ordering::Release);
        self.inner.published.watchers.close();
    }

    fn open(&self) -> Option<()> {
        (!self.inner.closed.load(Ordering::Acquire)).then_some(())
    }

    fn readable(&self) -> Result<Arc<State>, ReadError> {
        self.open().ok_or(ReadError::Closed)?;
        self.expire();
        Ok(self.inner.published.state())
    }

    /// Changes the state and shows the result to readers and watchers.
    fn write<T>(&self, change: impl FnOnce(&mut Ledger, u64) -> T) -> T {
        let mut ledger = self.ledger();
        let now = self.now();
        let soonest = ledger.next_expiry();
        let before = ledger.state.revision;
        // First of all, because everything in the history has been marked to its watchers by now.
        let excess = ledger.state.history.excess(&self.inner.retention, now);
        ledger.state.history.compact(excess);
        ledger.state.history.trim();
        // What is due is gone for whoever comes later, as if it had been taken away in time.
        ledger.expire(now, |_| {});
        let outcome = change(&mut ledger, now);
        self.inner.published.publish(Arc::new(ledger.state.clone()));
        if ledger.state.revision > before {
            self.inner.published.watchers.mark(&ledger.state, before);
        }
        if ledger.next_expiry() != soonest {
            self.inner.rescheduled.notify_waiters();
        }
        outcome
    }

    /// Lets go of what is due.
    fn expire(&self) {
        let due = self
            .ledger()
            .next_expiry()
            .is_some_and(|at| at <= self.now());
        if due {
            self.write(|_, _| ());
        }
    }

    /// When something expires next; for ever from now if nothing does.
    fn next_expiry(&self) -> Instant {
        /// As good as for ever, and representable.
        const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 3600);
        let at = self.ledger().next_expiry();
        let wait = at.map_or(FOR_EVER, |at| {
            Duration::from_millis(at.saturating_sub(self.now()))
        });
        Instant::now() + wait.min(FOR_EVER)
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.inner
            .ledger
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        let elapsed = to_millis(self.inner.started.elapsed());
        self.inner.epoch.saturating_add(elapsed)
    }
}

impl MemoryWatch {
    /// Waits for the next notice. Safe to cancel: nothing is lost by dropping the future.
    ///
    /// # Errors
    /// When the watch cannot go on; it then says so every time.
    pub async fn next(&mut self) -> Result<Notice, WatchError> {
        loop {
            let rescheduled = self.store.inner.rescheduled.notified();
            let expiry = self.store.next_expiry();
            tokio::select! {
                biased;
                notice = self.watch.next() => return notice,
                () = rescheduled => {}
                () = tokio::time::sleep_until(expiry) => self.store.expire(),
            }
        }
    }

    /// The next notice, if there is one already.
    ///
    /// # Errors
    /// When the watch cannot go on; it then says so every time.
    pub fn take(&mut self) -> Result<Option<Notice>, WatchError> {
        self.watch.take()
    }

    /// Asks for a [`Notice::Progress`] once everything up to now has been delivered.
    pub fn request_progress(&mut self) {
        self.watch.request_progress();
    }
}
