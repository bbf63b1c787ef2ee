//! How the cache hears of what is stored: from one watch on the store, in the order of revisions.
//!
//! One task runs the feed. Where the store is in this process, whoever waits for a revision takes in what is there instead
//! of waiting for that task: a writer that has been answered by the store goes on at once, with nobody to be woken.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use store::embedded::Arrivals;
use store::{Notice, Revision, Store, Watch, WatchError};
use tokio::sync::Notify;

use crate::cache::{self, Cache, Touched};
use crate::record::RecordError;

/// Why the server can no longer know what is stored.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// The watch on the store ended.
    #[error("the watch on the store ended")]
    Watch(#[from] WatchError),
    /// Something in the store is not an object.
    #[error("cannot use what is stored")]
    Record(#[from] RecordError),
}

/// The way from the store to the cache.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    /// The watch, while it may be shared. Whoever holds it takes in all there is, so that changes come in order.
    shared: Mutex<Option<Shared>>,
    /// Somebody waits for a revision that the feed may already have passed without a change to show for it, or has found
    /// that it cannot go on.
    impatient: Notify,
}

#[derive(Debug)]
struct Shared {
    watch: Watch,
    /// Why it cannot go on, for the task that runs the feed to tell.
    failed: Option<FeedError>,
}

/// Empties the place of the shared watch when the feed ends, however it ends.
struct Sharing<'f>(&'f Feed);

impl Feed {
    /// Keeps a cache current until the watch on the store ends.
    pub(crate) async fn run(&self, store: &Store, cache: &Cache) -> Result<(), FeedError> {
        let watch = store.watch(cache::ROOT, cache.revision()).await?;
        match watch.arrivals() {
            Some(arrivals) => self.run_shared(watch, &arrivals, cache).await,
            None => self.run_alone(watch, cache).await,
        }
    }

    /// Waits until a cache has reached a revision; `false` when that took longer than `limit`.
    pub(crate) async fn wait_for(
        &self,
        cache: &Cache,
        revision: Revision,
        limit: Duration,
    ) -> bool {
        if cache.revision() < revision {
            self.help(cache);
        }
        cache.wait_for(revision, limit).await
    }

    /// The same for a revision that may not have changed anything that is cached.
    pub(crate) async fn wait_for_any(
        &self,
        cache: &Cache,
        revision: Revision,
        limit: Duration,
    ) -> bool {
        if cache.revision() < revision {
            self.help(cache);
        }
        if cache.revision() < revision {
            self.impatient.notify_one();
        }
        cache.wait_for(revision, limit).await
    }

    async fn run_alone(&self, mut watch: Watch, cache: &Cache) -> Result<(), FeedError> {
        loop {
            let notice = tokio::select! {
                notice = watch.next() => notice?,
                () = self.impatient.notified() => {
                    // Revisions are shared with other keys of the store: only the watch itself knows how far it is.
                    watch.request_progress();
                    continue;
                }
            };
            take_all(Some(notice), &mut watch, cache)?;
        }
    }

    async fn run_shared(
        &self,
        watch: Watch,
        arrivals: &Arrivals,
        cache: &Cache,
    ) -> Result<(), FeedError> {
        *self.lock() = Some(Shared {
            watch,
            failed: None,
        });
        let _sharing = Sharing(self);
        loop {
            self.help(cache);
            if let Some(failed) = self.lock().as_mut().and_then(|shared| shared.failed.take()) {
                return Err(failed);
            }
            tokio::select! {
                () = arrivals.wait() => {}
                () = self.impatient.notified() => {
                    if let Some(shared) = &mut *self.lock() {
                        shared.watch.request_progress();
                    }
                }
            }
        }
    }

    /// Takes in all there is, if the watch is shared.
    fn help(&self, cache: &Cache) {
        let mut shared = self.lock();
        let Some(Shared { watch, failed }) = &mut *shared else {
            return;
        };
        if failed.is_some() {
            return;
        }
        if let Err(error) = take_all(None, watch, cache) {
            *failed = Some(error);
            self.impatient.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Shared>> {
        // A change that was half taken in when somebody panicked was not reached, and nobody was told of it.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Sharing<'_> {
    fn drop(&mut self) {
        *self.0.lock() = None;
    }
}

/// Takes in a notice and what else is there, then tells those who wait how far it went: once for all of it.
fn take_all(first: Option<Notice>, watch: &mut Watch, cache: &Cache) -> Result<(), FeedError> {
    let mut touched = Touched::default();
    let mut reached = None;
    let mut first = first;
    let outcome = loop {
        let next = match first.take() {
            Some(notice) => Ok(Some(notice)),
            None => watch.take(),
        };
        match next {
            Ok(Some(Notice::Changes(changes))) => {
                if let Err(error) = cache.take_in(&changes, &mut touched) {
                    break Err(FeedError::from(error));
                }
                reached = Some(changes.revision);
            }
            Ok(Some(Notice::Progress(revision))) => reached = Some(revision),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error.into()),
        }
    };
    touched.announce();
    if let Some(revision) = reached {
        cache.reach(revision);
    }
    outcome
}
