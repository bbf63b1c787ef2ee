//! One watcher that goes on where it was, whatever becomes of the server.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use client::{CallError, Client, KubeconfigSource, WatchEvent, WatchOptions};
use object::Object;

use super::load::{State, number_of, resource, revision_of};

/// What a watcher has seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The objects as its events leave them.
    pub(crate) state: BTreeMap<String, State>,
    pub(crate) events: u64,
    pub(crate) resumed: u64,
    pub(crate) problems: Vec<String>,
}

/// A watcher that others look at while it runs.
#[derive(Clone, Debug)]
pub(crate) struct Follower {
    /// The newest revision it knows of.
    pub(crate) revision: Arc<AtomicU64>,
    pub(crate) seen: Arc<Mutex<Seen>>,
}

impl Follower {
    pub(crate) fn new(revision: u64) -> Self {
        Self {
            revision: Arc::new(AtomicU64::new(revision)),
            seen: Arc::new(Mutex::new(Seen::default())),
        }
    }

    /// Follows for ever, at one server after the other when one is away.
    pub(crate) async fn follow(self, servers: Vec<PathBuf>) {
        let mut turn = 0;
        loop {
            let path = servers
                .get(turn % servers.len().max(1))
                .cloned()
                .unwrap_or_default();
            turn += 1;
            let source = KubeconfigSource::File {
                path,
                context: None,
            };
            if let Ok(client) = Client::from_kubeconfig(&source).await {
                self.watch(&client).await;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn watch(&self, client: &Client) {
        let options = WatchOptions {
            label_selector: String::from("suite=crash"),
            resource_version: self.revision.load(Ordering::Relaxed).to_string(),
            ..WatchOptions::default()
        };
        let mut stream = match client.watch(&resource(), "default", &options).await {
            Ok(stream) => stream,
            Err(problem) => return self.note_refusal(&problem),
        };
        self.locked(|seen| seen.resumed += 1);
        while let Some(event) = stream.next().await {
            match event {
                Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                    self.take(&object, true)
                }
                Ok(WatchEvent::Deleted(object)) => self.take(&object, false),
                Ok(WatchEvent::Bookmark { revision, .. }) => {
                    let revision = revision.parse().unwrap_or_default();
                    self.advance(revision, "a bookmark", false);
                }
                Err(problem) => return self.note_refusal(&problem),
            }
        }
    }

    fn take(&self, object: &Object, is_there: bool) {
        self.advance(revision_of(object), object.name(), true);
        let state = match number_of(object) {
            Ok(number) => is_there.then_some(number),
            Err(problem) => {
                self.locked(|seen| seen.problems.push(problem));
                None
            }
        };
        self.locked(|seen| {
            seen.events += 1;
            seen.state.insert(object.name().to_owned(), state);
        });
    }

    /// Every event is newer than all before it; a bookmark may repeat the last.
    fn advance(&self, revision: u64, what: &str, strictly: bool) {
        let before = self.revision.load(Ordering::Relaxed);
        if revision < before || (strictly && revision == before) {
            self.locked(|seen| {
                seen.problems
                    .push(format!("{what} at {revision} came after {before}"))
            });
        }
        self.revision.store(revision.max(before), Ordering::Relaxed);
    }

    /// To be away is no offence; to have forgotten is.
    fn note_refusal(&self, problem: &CallError) {
        if problem.is_gone() {
            let at = self.revision.load(Ordering::Relaxed);
            self.locked(|seen| {
                seen.problems
                    .push(format!("the watch at {at} was told: {problem}"))
            });
        }
    }

    pub(crate) fn locked<T>(&self, look: impl FnOnce(&mut Seen) -> T) -> T {
        look(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
