//! Keeps the census current with what a member tells.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::cluster::{NodeSummary, ResourceModel, ResourceSummary};
use client::{CallError, Client, ListOptions, WatchEvent, WatchOptions};
use object::{Object, ResourceType};
use runtime::{Backoff, CancellationToken, Spawner};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::census::Census;
use crate::resources;

/// Objects on a page of a list: what is in memory at once beside the counts.
const PAGE: u32 = 500;
/// How long a watch is asked to last, so that a connection that silently broke is noticed.
const WATCH_SECONDS: u32 = 300;
/// How much longer than that is waited before the connection counts as dead.
const WATCH_GRACE: Duration = Duration::from_secs(30);
/// A watch that ends sooner was not ended in good order: the next one waits.
const SHORTEST_WATCH: Duration = Duration::from_secs(1);

/// The census of one member, fed by two watches; clones are the same.
#[derive(Clone)]
pub(crate) struct Feed {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// Nodes came, went or changed what they offer.
    nodes_changed: Notify,
}

#[derive(Default)]
struct State {
    census: Census,
    has_nodes: bool,
    has_pods: bool,
}

/// Which of the two kinds a stream is about.
#[derive(Clone, Copy, PartialEq)]
enum Counted {
    Nodes,
    Pods,
}

impl Feed {
    /// Counts from now on, until the spawner is stopped.
    pub(crate) fn start(client: Client, spawner: &Spawner) -> Self {
        let feed = Self {
            shared: Arc::new(Shared {
                state: Mutex::default(),
                nodes_changed: Notify::new(),
            }),
        };
        for (name, counted) in [
            ("count nodes", Counted::Nodes),
            ("count pods", Counted::Pods),
        ] {
            let (feed, client) = (feed.clone(), client.clone());
            spawner.spawn(name, |stop| async move {
                feed.run(&client, counted, stop).await
            });
        }
        feed
    }

    /// The counts; `None` while a list is not finished, so that half of one is never taken for the whole.
    pub(crate) fn summary(
        &self,
        models: &[ResourceModel],
    ) -> Option<(NodeSummary, ResourceSummary)> {
        let state = self.lock();
        let is_whole = state.has_nodes && state.has_pods;
        is_whole.then(|| {
            (
                state.census.node_summary(),
                state.census.resource_summary(models),
            )
        })
    }

    /// Waits until nodes have come, gone or changed what they offer.
    pub(crate) async fn nodes_changed(&self) {
        self.shared.nodes_changed.notified().await;
    }

    async fn run(&self, client: &Client, counted: Counted, stop: CancellationToken) {
        let mut backoff = Backoff::new(
            Duration::from_millis(500),
            Duration::from_secs(30),
            counted as u64,
        );
        let mut revision = String::new();
        loop {
            let begun = Instant::now();
            let following = self.follow(client, counted, &mut revision, &mut backoff);
            let ended = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                ended = following => ended,
            };
            let wait = match ended {
                // The server ended the watch, in good order if it lasted.
                Ok(()) if begun.elapsed() >= SHORTEST_WATCH => Duration::from_millis(10),
                Ok(()) => backoff.fail(),
                Err(error) => {
                    if error.is_gone() {
                        revision.clear();
                    }
                    backoff.fail()
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Lists, unless there is a revision to go on from, and then watches until the watch ends.
    async fn follow(
        &self,
        client: &Client,
        counted: Counted,
        revision: &mut String,
        backoff: &mut Backoff,
    ) -> Result<(), CallError> {
        let resource = counted.resource();
        // What it takes to begin is given back before the long wait: there are two of these for each member.
        if revision.is_empty() {
            *revision = Box::pin(self.list(client, counted, &resource)).await?;
        }
        let options = WatchOptions {
            resource_version: revision.clone(),
            timeout_seconds: WATCH_SECONDS,
            ..WatchOptions::default()
        };
        let mut watch = Box::pin(client.watch(&resource, "", &options)).await?;
        let end = Instant::now() + Duration::from_secs(WATCH_SECONDS.into()) + WATCH_GRACE;
        // A connection that has been silent for longer than the watch was to last is given up, like one that ended.
        while let Ok(Some(event)) = tokio::time::timeout_at(end, watch.next()).await {
            match event? {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    object.resource_version().clone_into(revision);
                    self.set(counted, &object);
                }
                WatchEvent::Deleted(object) => {
                    object.resource_version().clone_into(revision);
                    self.remove(counted, &object);
                }
                WatchEvent::Bookmark { revision: told, .. } => *revision = told,
            }
            backoff.succeed();
        }
        Ok(())
    }

    async fn list(
        &self,
        client: &Client,
        counted: Counted,
        resource: &ResourceType,
    ) -> Result<String, CallError> {
        let mut options = ListOptions {
            limit: PAGE,
            ..ListOptions::default()
        };
        self.begin(counted);
        loop {
            let page = client.list(resource, "", &options).await?;
            for object in &page.items {
                self.set(counted, object);
            }
            if page.continue_token.is_empty() {
                self.finish(counted);
                return Ok(page.resource_version);
            }
            options.continue_token = page.continue_token;
        }
    }

    fn begin(&self, counted: Counted) {
        let mut state = self.lock();
        match counted {
            Counted::Nodes => {
                state.has_nodes = false;
                state.census.clear_nodes();
            }
            Counted::Pods => {
                state.has_pods = false;
                state.census.clear_pods();
            }
        }
    }

    fn finish(&self, counted: Counted) {
        let mut state = self.lock();
        match counted {
            Counted::Nodes => state.has_nodes = true,
            Counted::Pods => state.has_pods = true,
        }
        if state.has_nodes && state.has_pods {
            self.shared.nodes_changed.notify_one();
        }
    }

    fn set(&self, counted: Counted, object: &Object) {
        let mut state = self.lock();
        match counted {
            Counted::Nodes => {
                let is_news = state.census.set_node(object) && state.has_nodes;
                self.tell(is_news);
            }
            Counted::Pods => _ = state.census.set_pod(object),
        }
    }

    fn remove(&self, counted: Counted, object: &Object) {
        let mut state = self.lock();
        match counted {
            Counted::Nodes => {
                let is_news = state.census.remove_node(object.name());
                self.tell(is_news);
            }
            Counted::Pods => _ = state.census.remove_pod(object),
        }
    }

    fn tell(&self, is_news: bool) {
        if is_news {
            self.shared.nodes_changed.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that runs under the lock leaves it half changed.
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counted {
    fn resource(self) -> ResourceType {
        match self {
            Self::Nodes => resources::nodes(),
            Self::Pods => resources::pods(),
        }
    }
}
