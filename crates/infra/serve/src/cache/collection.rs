//! All objects of one resource, and its latest changes.
//!
//! Readers take a snapshot in constant time and never hold up the writer. The latest changes stand in one ring that all
//! watchers share: each has a place in it and nothing else, so a watcher that stops reading costs nothing, slows nobody,
//! and is told that it is too late once the ring has moved on.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use bytes::Bytes;
use store::Revision;
use tokio::sync::watch;

use super::objects::Objects;
use crate::record::Record;

/// How many changes the ring keeps. A watcher may be this far behind; each costs the object before the change, which
/// nothing else keeps alive.
pub const RING_LENGTH: usize = 4096;
/// How many bytes of objects the changes in the ring may hold, before and after: as much as 4,096 changes of objects of
/// 8 KiB. Changes of large objects leave it earlier, and whoever is behind them lists again.
const RING_BYTES: usize = 64 * 1024 * 1024;
/// So many changes stay however large they are, so that a watcher which is a moment late need not list again.
const RING_LEAST: usize = 16;
/// How many of them have their event ready for all watchers. Whoever is further behind writes it anew.
const READY_LENGTH: usize = 256;

/// One object changed.
#[derive(Debug)]
pub struct Change {
    /// When.
    pub revision: Revision,
    /// What it is now; `None` once it is gone.
    pub current: Option<Arc<Record>>,
    /// What it was; `None` if it is new.
    pub previous: Option<Arc<Record>>,
    /// The event in each form, made by the first who asks and shared by all who are not far behind; `None` for the others.
    frames: Mutex<Option<[Option<Bytes>; 3]>>,
}

/// In which form an event is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameForm {
    /// A line of JSON.
    Json,
    /// A line of JSON with the metadata alone.
    Metadata,
    /// A length and a message.
    Protobuf,
}

/// All objects of one resource as of one revision.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// By `namespace/name`, or `name` for cluster-scoped resources.
    pub objects: Objects,
    /// The last change seen here. No change of this resource lies between it and the revision of the whole cache.
    pub revision: Revision,
}

/// A watcher's place in the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(u64);

/// The ring no longer reaches back far enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("changes up to revision {oldest} are no longer kept in memory")]
pub struct TooOld {
    /// The oldest revision whose successors are all in the ring.
    pub oldest: Revision,
}

/// All objects of one resource.
#[derive(Debug)]
pub struct Collection {
    state: RwLock<State>,
    /// Counts announcements of changes; watchers sleep on it.
    arrivals: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    snapshot: Snapshot,
    ring: VecDeque<Arc<Change>>,
    /// What the changes in the ring weigh.
    bytes: usize,
    /// How many changes have left the ring: the place of its first one.
    departed: u64,
    /// Every change after this revision is in the ring.
    base: Revision,
}

impl State {
    /// Whether the oldest change has to leave.
    fn is_full(&self) -> bool {
        self.ring.len() > RING_LENGTH || (self.bytes > RING_BYTES && self.ring.len() > RING_LEAST)
    }
}

impl Change {
    /// A change of one object.
    #[must_use]
    pub fn new(
        revision: Revision,
        current: Option<Arc<Record>>,
        previous: Option<Arc<Record>>,
    ) -> Self {
        Self {
            revision,
            current,
            previous,
            frames: Mutex::new(Some(Default::default())),
        }
    }

    /// The shared frame; `make` runs once for all watchers who come soon.
    pub fn frame(&self, form: FrameForm, make: impl FnOnce(&Self) -> Bytes) -> Bytes {
        let mut frames = self.frames();
        let Some([json, metadata, protobuf]) = &mut *frames else {
            return make(self);
        };
        let frame = match form {
            FrameForm::Json => json,
            FrameForm::Metadata => metadata,
            FrameForm::Protobuf => protobuf,
        };
        frame.get_or_insert_with(|| make(self)).clone()
    }

    /// How many bytes of objects it holds.
    fn weight(&self) -> usize {
        let both = [&self.current, &self.previous];
        let lengths = both.into_iter().flatten();
        lengths.map(|record| record.entry().value.len()).sum()
    }

    /// Lets go of the shared frames.
    fn grow_old(&self) {
        *self.frames() = None;
    }

    fn frames(&self) -> MutexGuard<'_, Option<[Option<Bytes>; 3]>> {
        // A frame is there whole or not at all.
        self.frames.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Collection {
    /// An empty resource, complete as of a revision.
    #[must_use]
    pub fn new(base: Revision) -> Self {
        let state = State {
            base,
            ..State::default()
        };
        Self {
            state: RwLock::new(state),
            arrivals: watch::Sender::new(0),
        }
    }

    /// Everything there is now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.read().snapshot.clone()
    }

    /// One object.
    #[must_use]
    pub fn find(&self, key: &str) -> Option<Arc<Record>> {
        self.read().snapshot.objects.get(key).cloned()
    }

    /// Everything there was at an earlier revision, by undoing what came after.
    pub fn snapshot_at(&self, revision: Revision) -> Result<Snapshot, TooOld> {
        let (mut snapshot, later) = {
            let state = self.read();
            if revision < state.base {
                return Err(TooOld { oldest: state.base });
            }
            let later: Vec<Arc<Change>> = state
                .ring
                .iter()
                .rev()
                .take_while(|change| change.revision > revision)
                .cloned()
                .collect();
            (state.snapshot.clone(), later)
        };
        for change in later {
            match (&change.previous, &change.current) {
                (Some(before), _) => snapshot.objects.insert(Arc::clone(before)),
                (None, Some(now)) => snapshot.objects.remove(now.key()),
                (None, None) => {}
            }
        }
        snapshot.revision = snapshot.revision.min(revision);
        Ok(snapshot)
    }

    /// Puts an object that was there before anybody watched.
    pub fn load(&self, record: Arc<Record>) {
        let mut state = self.write();
        state.snapshot.revision = state.snapshot.revision.max(record.revision());
        state.snapshot.objects.insert(record);
    }

    /// Takes one change in. Changes come in the order of their revisions. Watchers see it when they look; those who sleep
    /// are woken by [`Collection::announce`].
    pub fn apply(&self, change: Arc<Change>) {
        let mut state = self.write();
        match (&change.current, &change.previous) {
            (Some(now), _) => state.snapshot.objects.insert(Arc::clone(now)),
            (None, Some(before)) => state.snapshot.objects.remove(before.key()),
            (None, None) => {}
        }
        state.snapshot.revision = change.revision;
        state.bytes = state.bytes.saturating_add(change.weight());
        state.ring.push_back(change);
        let is_old = state.ring.len().checked_sub(READY_LENGTH + 1);
        if let Some(old) = is_old.and_then(|position| state.ring.get(position)) {
            old.grow_old();
        }
        let mut gone = Vec::new();
        while state.is_full()
            && let Some(oldest) = state.ring.pop_front()
        {
            state.base = oldest.revision;
            state.departed += 1;
            state.bytes = state.bytes.saturating_sub(oldest.weight());
            gone.push(oldest);
        }
        // What nobody else holds goes when nobody has to wait for it.
        drop(state);
        drop(gone);
    }

    /// Wakes those who sleep until something changes: once for all that came together.
    pub fn announce(&self) {
        self.arrivals.send_modify(|count| *count += 1);
    }

    /// The state and the place just after it, for a watch that begins with everything or with what comes next.
    #[must_use]
    pub fn begin(&self) -> (Snapshot, Place) {
        let state = self.read();
        (
            state.snapshot.clone(),
            Place(state.departed + state.ring.len() as u64),
        )
    }

    /// The place after a revision.
    pub fn place_after(&self, revision: Revision) -> Result<Place, TooOld> {
        let state = self.read();
        if revision < state.base {
            return Err(TooOld { oldest: state.base });
        }
        let seen = state
            .ring
            .partition_point(|change| change.revision <= revision);
        Ok(Place(state.departed + seen as u64))
    }

    /// The changes from a place on, at most `limit` of them, and the place after them.
    pub fn changes(&self, place: Place, limit: usize) -> Result<(Vec<Arc<Change>>, Place), TooOld> {
        let state = self.read();
        let Some(skip) = place.0.checked_sub(state.departed) else {
            return Err(TooOld { oldest: state.base });
        };
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let changes: Vec<Arc<Change>> = state.ring.iter().skip(skip).take(limit).cloned().collect();
        let next = Place(place.0 + changes.len() as u64);
        Ok((changes, next))
    }

    /// Wakes whoever waits on it after every change.
    #[must_use]
    pub fn arrivals(&self) -> watch::Receiver<u64> {
        self.arrivals.subscribe()
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, State> {
        // Every change of the state is complete before anything can panic, so a poisoned lock guards sound data.
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}
