//! Following a collection to learn when something is seen in it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use client::Door;
use serde::Deserialize;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::error::BenchError;
use crate::progress::Progress;
use crate::wire::{Ask, Wire, said};

/// How often somebody who waits looks up.
const LOOK: Duration = Duration::from_millis(200);

/// What of an event is looked at.
#[derive(Debug, Deserialize)]
pub(crate) struct Event {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) object: Seen,
}

/// What of an object is looked at.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Seen {
    pub(crate) metadata: Metadata,
    pub(crate) spec: Spec,
    pub(crate) status: Status,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Metadata {
    pub(crate) name: String,
    pub(crate) generation: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Spec {
    pub(crate) replicas: i64,
    /// Where a binding goes.
    pub(crate) clusters: Vec<serde::de::IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Status {
    pub(crate) ready_replicas: i64,
    pub(crate) observed_generation: i64,
}

/// When names were first seen in the state that was waited for.
#[derive(Debug, Default)]
struct Sightings {
    at: Mutex<BTreeMap<String, Instant>>,
    /// How many events there were, whatever they said.
    events: AtomicUsize,
    changed: Notify,
}

/// A watch that notes when each object first is as it should be.
pub(crate) struct Lookout {
    seen: Arc<Sightings>,
    /// Ends with the lookout.
    watch: JoinSet<Result<(), BenchError>>,
}

impl Lookout {
    /// Begins to watch a collection's path. Events before the answer's head arrives are not missed: the watch begins
    /// with what is there.
    pub(crate) async fn begin(
        door: &Door,
        path: &str,
        good: impl Fn(&Event) -> bool + Send + 'static,
    ) -> Result<Self, BenchError> {
        let notes = move |seen: &Sightings, lines: &[u8]| seen.note(lines, &good);
        Self::watch(door, path, notes).await
    }

    /// Only counts events, which costs next to nothing.
    pub(crate) async fn count(door: &Door, path: &str) -> Result<Self, BenchError> {
        Self::watch(door, path, |_, _| ()).await
    }

    async fn watch(
        door: &Door,
        path: &str,
        note: impl Fn(&Sightings, &[u8]) + Send + 'static,
    ) -> Result<Self, BenchError> {
        let mut wire = Wire::open(door).await?;
        let mark = if path.contains('?') { '&' } else { '?' };
        let ask = Ask::get(format!("{path}{mark}watch=true&resourceVersion=0"));
        let answer = wire.begin(ask).await?;
        let status = answer.status();
        let mut body = answer.into_body();
        if !status.is_success() {
            let text = wire.piece(&mut body).await?.unwrap_or_default();
            return Err(BenchError::Refused {
                doing: format!("watch {path}"),
                status: status.as_u16(),
                said: said(&text),
            });
        }
        let seen = Arc::new(Sightings::default());
        let notes = Arc::clone(&seen);
        let mut watch = JoinSet::new();
        watch.spawn(async move {
            let mut rest: Vec<u8> = Vec::new();
            while let Some(piece) = wire.piece(&mut body).await? {
                rest.extend_from_slice(&piece);
                let whole = rest.iter().rposition(|byte| *byte == b'\n');
                let Some(end) = whole else { continue };
                let lines = rest[..=end].iter().filter(|byte| **byte == b'\n').count();
                note(&notes, &rest[..end]);
                notes.events.fetch_add(lines, Relaxed);
                notes.changed.notify_waiters();
                rest.drain(..=end);
            }
            Ok(())
        });
        Ok(Self { seen, watch })
    }

    /// How many events there were so far.
    pub(crate) fn events(&self) -> usize {
        self.seen.events.load(Relaxed)
    }

    /// Waits for an event after the first so many.
    pub(crate) async fn beyond(&self, count: usize, patience: Duration) -> Result<(), BenchError> {
        let more = async {
            loop {
                let changed = self.seen.changed.notified();
                if self.events() > count {
                    return;
                }
                changed.await;
            }
        };
        tokio::time::timeout(patience, more)
            .await
            .map_err(|_| BenchError::Late {
                what: "an event's arrival".to_owned(),
                seconds: patience.as_secs(),
                seen: "nothing".to_owned(),
            })
    }

    /// Waits until so many names have been seen.
    pub(crate) async fn until(
        &mut self,
        what: &str,
        count: usize,
        patience: Duration,
        progress: &dyn Progress,
    ) -> Result<(), BenchError> {
        let deadline = Instant::now() + patience;
        loop {
            let so_far = self.seen.len();
            if so_far >= count {
                return Ok(());
            }
            progress.advance(so_far, count);
            if Instant::now() > deadline {
                return Err(BenchError::Late {
                    what: what.to_owned(),
                    seconds: patience.as_secs(),
                    seen: format!("{so_far} of {count}"),
                });
            }
            tokio::select! {
                () = self.seen.changed.notified() => {}
                () = tokio::time::sleep(LOOK) => {}
                Some(ended) = self.watch.join_next() => {
                    ended.map_err(|error| BenchError::broken(&error))??;
                    return Err(BenchError::Broken("the watch ended".to_owned()));
                }
            }
        }
    }

    /// When each name was first seen.
    pub(crate) fn sightings(&self) -> BTreeMap<String, Instant> {
        self.seen.lock().clone()
    }
}

impl Sightings {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Instant>> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn len(&self) -> usize {
        self.lock().len()
    }

    fn note(&self, lines: &[u8], good: &impl Fn(&Event) -> bool) {
        let now = Instant::now();
        for line in lines.split(|byte| *byte == b'\n') {
            // What is not an event of an object, such as an error, ends the watch by itself.
            let Ok(event) = serde_json::from_slice::<Event>(line) else {
                continue;
            };
            if event.kind == "DELETED" || !good(&event) {
                continue;
            }
            self.lock().entry(event.object.metadata.name).or_insert(now);
        }
    }
}
