//! What every store must do, whatever keeps the bytes: run against a [`Subject`].
//!
//! `random_histories` compares a store with a plain model over generated steps; `scenarios` has the cases that are
//! about waiting: watchers, time, many callers at once.

mod model;
mod random;
pub(crate) mod scenarios;

use std::future::Future;
use std::time::Duration;

use store::{Key, Notice, Revision, Store, Watch, WatchError};

pub(crate) use random::random_histories;

/// A kind of store under test. Each subject is used for one history and has a store to itself.
pub(crate) trait Subject {
    /// Opens the store, which is empty the first time and as it was left later.
    fn open(&self) -> impl Future<Output = Store>;

    /// Lets time go by for the store.
    fn pass(&self, time: Duration) -> impl Future<Output = ()>;

    /// The shortest time to live that the store takes exactly; shorter steps of time are not used with it.
    fn tick(&self) -> Duration;

    /// Whether generated histories may have times to live: only when `pass` is free.
    fn has_cheap_time(&self) -> bool;

    /// Whether what is stored is still there after closing and opening again.
    fn outlives_closing(&self) -> bool {
        true
    }

    /// Whether a watch that has begun goes on when a compaction overtakes it. Otherwise it is told that it fell
    /// behind, or no longer what a key held before.
    fn spares_watches(&self) -> bool {
        true
    }
}

/// Nothing in these tests takes longer unless something is wrong.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

pub(crate) fn key(name: &str) -> Key {
    Key::new(name.to_owned()).unwrap()
}

/// Waits for something that must happen.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, future).await {
        Ok(value) => value,
        Err(_) => panic!("waited too long for {what}"),
    }
}

/// Reads a watch until it has progressed to a revision.
pub(crate) async fn drain(watch: &mut Watch, up_to: Revision) -> Vec<store::Changes> {
    let mut changes = Vec::new();
    try_drain(watch, up_to, &mut changes).await.unwrap();
    changes
}

/// Reads a watch until it has progressed to a revision or ends.
pub(crate) async fn try_drain(
    watch: &mut Watch,
    up_to: Revision,
    changes: &mut Vec<store::Changes>,
) -> Result<(), WatchError> {
    loop {
        watch.request_progress();
        loop {
            match soon("a notice", watch.next()).await? {
                Notice::Changes(change) => changes.push(change),
                Notice::Progress(revision) if revision >= up_to => return Ok(()),
                Notice::Progress(_) => break,
            }
        }
    }
}
