//! Keeps one cache current: lists, watches, and knows what to do when either breaks.
//!
//! ```text
//! list ──finished──> watch ──ends or breaks──> watch again from the last revision
//!   ^                  │
//!   └── 410, or no revision to go on from ─┘
//! ```

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use runtime::{Backoff, CancellationToken};
use telemetry::chain;
use tokio::sync::watch;
use tokio::task::coop::consume_budget;
use tokio::time::Instant;

use crate::cache::{Packed, Shared};
use crate::call::Client;
use crate::error::CallError;
use crate::options::{ListOptions, WatchOptions};
use crate::watch::{WatchEvent, WatchStream};

/// Waits between attempts while the server is in trouble.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// How often a kind that is not served is asked for again, unless somebody pokes.
const ABSENT_WAIT: Duration = Duration::from_secs(30);
/// When the server is to end a watch. Upstream: between five and ten minutes, so that watches spread over servers.
const WATCH_SECONDS: u32 = 300;
/// How much longer than that is waited before the connection counts as dead.
const WATCH_GRACE: Duration = Duration::from_secs(30);
/// A server that has sent a bookmark sends one about every minute: when three are missing the connection is dead.
const BOOKMARK_LIMIT: Duration = Duration::from_secs(180);
/// A watch that ends sooner was not ended in good order; the next one waits, lest a server that ends every watch at once
/// is asked without a pause.
const SHORTEST_WATCH: Duration = Duration::from_secs(1);

/// What is known of a server by all its followers.
#[derive(Default)]
pub(crate) struct Server {
    /// It does not know `sendInitialEvents`.
    lists_only: AtomicBool,
    /// Whether one of them is in trouble has changed.
    pub(crate) troubled: watch::Sender<()>,
}

/// Keeps one cache current.
pub(crate) struct Follower {
    client: Client,
    shared: Arc<Shared>,
    server: Arc<Server>,
    backoff: Backoff,
    /// Up to where the changes are known; empty if they are not.
    revision: String,
    /// Whether the present trouble has been told.
    told: bool,
}

/// Why following has to begin anew.
enum Broken {
    /// The server ended the watch, as it does from time to time, after so long.
    Ended(Duration),
    /// Something failed.
    Failed(CallError),
    /// Nothing was heard for too long.
    Silent,
}

impl Follower {
    pub(crate) fn new(client: Client, shared: Arc<Shared>, server: Arc<Server>) -> Self {
        // Followers that failed together shall not return together.
        let seed = RandomState::new().hash_one(&shared.resource);
        Self {
            client,
            shared,
            server,
            backoff: Backoff::new(FIRST_WAIT, LONGEST_WAIT, seed),
            revision: String::new(),
            told: false,
        }
    }

    pub(crate) async fn run(mut self, stop: CancellationToken) {
        loop {
            let broken = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                broken = self.follow() => broken,
            };
            let wait = self.judge(&broken);
            if wait.is_zero() {
                continue;
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = self.shared.poke.notified() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Follows until something breaks.
    async fn follow(&mut self) -> Broken {
        let begun = Instant::now();
        // What it takes to begin is given back before the long wait: there may be thousands of followers.
        let result = if self.revision.is_empty() {
            Box::pin(self.begin()).await
        } else {
            Box::pin(self.resume()).await
        };
        match result {
            Ok(mut stream) => self.read(&mut stream, begun).await,
            Err(broken) => broken,
        }
    }

    /// What to do about it: changes the state and says how long to wait.
    fn judge(&mut self, broken: &Broken) -> Duration {
        let error = match broken {
            Broken::Ended(lasted) if *lasted < SHORTEST_WATCH => return self.backoff.fail(),
            Broken::Ended(_) => return Duration::ZERO,
            Broken::Silent => None,
            Broken::Failed(error) => Some(error),
        };
        // Invariant: from here until the watch goes on nobody may decide on a deletion.
        self.shared.apply(|content| {
            content.complete = false;
            Vec::new()
        });
        let resource = self.shared.resource.resource().group_resource();
        if let Some(error) = error {
            if error.is_gone() {
                self.revision.clear();
                tracing::debug!(resource, "too far behind; listing again");
                return self.backoff.fail();
            }
            if error.is_not_found() {
                // There is nothing to see. What is held stays: a server that forgets a kind for a moment deletes nothing.
                self.revision.clear();
                self.shared.set_synced();
                self.shared.set_trouble(None);
                self.backoff.succeed();
                tracing::debug!(resource, "not served");
                return ABSENT_WAIT;
            }
        }
        let wait = self.backoff.fail();
        let cause = error.map_or_else(
            || "nothing was heard for too long".to_owned(),
            |error| chain(error).to_string(),
        );
        self.shared.set_trouble(Some(&cause));
        if std::mem::replace(&mut self.told, true) {
            tracing::debug!(resource, error = cause, "watch broken");
        } else {
            tracing::warn!(resource, error = cause, "watch broken; trying again");
        }
        wait
    }

    /// Learns what there is, in one stream or by pages, and goes on with a watch.
    async fn begin(&mut self) -> Result<WatchStream, Broken> {
        if !self.server.lists_only.load(Ordering::Relaxed) {
            let mut stream = match self.watch(true).await {
                Ok(stream) => stream,
                // Servers that do not know the parameter, or have it switched off, call it invalid.
                Err(Broken::Failed(error)) if matches!(error.code(), 400 | 422) => {
                    self.server.lists_only.store(true, Ordering::Relaxed);
                    return self.list_and_watch().await;
                }
                Err(broken) => return Err(broken),
            };
            if let Some(found) = self.read_initial(&mut stream).await? {
                self.finish_list(found);
                return Ok(stream);
            }
            // Upstream: a server that ignores the parameter sends everything too, but never says that this was all.
            self.server.lists_only.store(true, Ordering::Relaxed);
        }
        self.list_and_watch().await
    }

    async fn list_and_watch(&mut self) -> Result<WatchStream, Broken> {
        let scope = &self.shared.scope;
        let options = ListOptions {
            label_selector: scope.label_selector.clone(),
            field_selector: scope.field_selector.clone(),
            metadata_only: scope.detail.is_metadata(),
            ..ListOptions::default()
        };
        let list = self
            .client
            .list_all(&self.shared.resource, &scope.namespace, &options)
            .await
            .map_err(Broken::Failed)?;
        let found = list
            .items
            .into_iter()
            .map(|object| Packed::new(scope.detail.trim(object)))
            .collect();
        self.revision = list.resource_version;
        self.finish_list(found);
        self.watch(false).await
    }

    async fn resume(&mut self) -> Result<WatchStream, Broken> {
        let stream = self.watch(false).await?;
        // The server still knows the revision and will tell everything since.
        self.shared.apply(|content| {
            content.complete = true;
            Vec::new()
        });
        self.shared.set_trouble(None);
        Ok(stream)
    }

    async fn watch(&self, initial_events: bool) -> Result<WatchStream, Broken> {
        let scope = &self.shared.scope;
        let options = WatchOptions {
            label_selector: scope.label_selector.clone(),
            field_selector: scope.field_selector.clone(),
            resource_version: match initial_events {
                true => String::new(),
                false => self.revision.clone(),
            },
            initial_events,
            timeout_seconds: WATCH_SECONDS,
            metadata_only: scope.detail.is_metadata(),
        };
        let stream = self
            .client
            .watch(&self.shared.resource, &scope.namespace, &options)
            .await;
        stream.map_err(Broken::Failed)
    }

    /// Reads up to the bookmark that ends the initial events; `None` if the server sends them but no such bookmark.
    async fn read_initial(
        &mut self,
        stream: &mut WatchStream,
    ) -> Result<Option<BTreeSet<Packed>>, Broken> {
        let detail = self.shared.scope.detail;
        let mut found = BTreeSet::new();
        let begun = Instant::now();
        loop {
            // A server in the same process may have everything ready: others get their turn all the same.
            consume_budget().await;
            // A list of this length of silence has stalled.
            let next = tokio::time::timeout(WATCH_GRACE, stream.next_text(detail)).await;
            let event = match next {
                Ok(Some(event)) => event.map_err(Broken::Failed)?,
                Ok(None) => return Err(Broken::Ended(begun.elapsed())),
                Err(_) => return Ok(None),
            };
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    found.replace(Packed::taken(object));
                }
                WatchEvent::Deleted(object) => {
                    found.remove(&object.key);
                }
                WatchEvent::Bookmark {
                    revision,
                    initial_end,
                } => {
                    // Invariant: there is no revision to go on from before everything up to it is held. A watch that
                    // went on from a bookmark in the middle would count as complete without the rest of the list.
                    if initial_end {
                        self.revision = revision;
                        return Ok(Some(found));
                    }
                }
            }
        }
    }

    fn finish_list(&mut self, found: BTreeSet<Packed>) {
        self.shared.take_list(found);
        self.shared.set_trouble(None);
        self.shared.set_synced();
        self.recover();
    }

    /// Reads changes until something breaks.
    async fn read(&mut self, stream: &mut WatchStream, begun: Instant) -> Broken {
        let end = Instant::now() + Duration::from_secs(WATCH_SECONDS.into()) + WATCH_GRACE;
        let mut limit = end;
        let detail = self.shared.scope.detail;
        loop {
            consume_budget().await;
            let next = tokio::time::timeout_at(limit, stream.next_text(detail)).await;
            let event = match next {
                Ok(Some(Ok(event))) => event,
                Ok(Some(Err(error))) => return Broken::Failed(error),
                Ok(None) => return Broken::Ended(begun.elapsed()),
                Err(_) => return Broken::Silent,
            };
            self.recover();
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    self.revision.clone_from(&object.revision);
                    let object = Packed::taken(object);
                    self.shared.apply(|content| content.put(object));
                }
                WatchEvent::Deleted(object) => {
                    self.revision.clone_from(&object.revision);
                    self.shared
                        .apply(|content| content.take(&object.key, &object.uid));
                }
                WatchEvent::Bookmark { revision, .. } => {
                    self.revision = revision;
                    limit = end.min(Instant::now() + BOOKMARK_LIMIT);
                }
            }
        }
    }

    fn recover(&mut self) {
        self.backoff.succeed();
        if std::mem::take(&mut self.told) {
            let resource = self.shared.resource.resource().group_resource();
            tracing::info!(resource, "watch goes on");
        }
    }
}
