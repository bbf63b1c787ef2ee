//! The recent past: what every revision since the floor changed.

use std::sync::Arc;
use std::time::Duration;

use imbl::Vector;

use crate::embedded::clock::to_millis;
use crate::entry::{Changes, Event};
use crate::key::Revision;

/// How much of the past a store keeps for watchers and reads of older states. Whatever exceeds any of these is
/// compacted by the store itself, oldest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retention {
    /// For how long.
    pub age: Duration,
    /// How many changes of single keys.
    pub events: usize,
    /// How many bytes of memory, roughly. The journal on disk is about as large.
    pub bytes: usize,
}

impl Default for Retention {
    /// Five minutes, as Kubernetes' own API server keeps, within bounds that a small machine affords.
    fn default() -> Self {
        Self {
            age: Duration::from_secs(300),
            events: 100_000,
            bytes: 64 * 1024 * 1024,
        }
    }
}

/// Compacted changes that stay nonetheless, so that a watcher which is a moment late survives a compaction up to the
/// present.
const GRACE_EVENTS: usize = 1024;
const GRACE_BYTES: usize = 4 * 1024 * 1024;

/// What a moment costs beside its bytes: the moment, its slice of events, an entry and their allocations.
const EVENT_OVERHEAD: usize = 256;

/// One revision of the past.
#[derive(Debug)]
pub(crate) struct Moment {
    pub(crate) changes: Changes,
    /// Milliseconds since 1970.
    pub(crate) time: u64,
    size: Size,
}

/// How much there is of something.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Size {
    events: usize,
    bytes: usize,
}

impl Size {
    fn of(events: &[Event]) -> Self {
        let value =
            |entry: &Option<Arc<crate::Entry>>| entry.as_ref().map_or(0, |entry| entry.value.len());
        let bytes = |event: &Event| {
            // An entry replaced by the next one is counted there: taking the larger of both is about right.
            let value = value(&event.current).max(value(&event.previous));
            value
                .saturating_add(event.key.as_bytes().len())
                .saturating_add(EVENT_OVERHEAD)
        };
        Self {
            events: events.len(),
            bytes: events.iter().map(bytes).fold(0, usize::saturating_add),
        }
    }

    fn add(&mut self, other: Self) {
        self.events = self.events.saturating_add(other.events);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    fn subtract(&mut self, other: Self) {
        self.events = self.events.saturating_sub(other.events);
        self.bytes = self.bytes.saturating_sub(other.bytes);
    }
}

/// One moment for each revision above the floor, without gaps. Clones share everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    floor: u64,
    compacted: u64,
    moments: Vector<Arc<Moment>>,
    /// All moments.
    kept: Size,
    /// The moments above the compacted revision.
    promised: Size,
}

impl History {
    /// A history that begins after a revision.
    pub(crate) fn after(revision: u64) -> Self {
        Self {
            floor: revision,
            compacted: revision,
            ..Self::default()
        }
    }

    /// The revision after which moments are known.
    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    /// The revision after which moments are promised to be known.
    pub(crate) fn compacted(&self) -> u64 {
        self.compacted
    }

    /// Adds the next revision.
    pub(crate) fn push(&mut self, revision: u64, time: u64, events: Arc<[Event]>) {
        let size = Size::of(&events);
        self.kept.add(size);
        self.promised.add(size);
        let changes = Changes {
            revision: Revision(revision),
            events,
        };
        self.moments.push_back(Arc::new(Moment {
            changes,
            time,
            size,
        }));
    }

    /// What a revision changed, if that is still known.
    pub(crate) fn moment(&self, revision: u64) -> Option<&Arc<Moment>> {
        let index = revision.checked_sub(self.floor)?.checked_sub(1)?;
        self.moments.get(usize::try_from(index).ok()?)
    }

    /// Everything known after a revision, oldest first.
    pub(crate) fn moments_after(&self, revision: u64) -> impl Iterator<Item = &Arc<Moment>> {
        let known = revision.saturating_sub(self.floor);
        let index = usize::try_from(known)
            .unwrap_or(usize::MAX)
            .min(self.moments.len());
        self.moments.focus().narrow(index..).into_iter()
    }

    /// Up to where the past should be compacted now.
    pub(crate) fn excess(&self, retention: &Retention, now: u64) -> u64 {
        let oldest = now.saturating_sub(to_millis(retention.age));
        let mut size = self.promised;
        let mut compacted = self.compacted;
        for moment in self.moments_after(self.compacted) {
            let fits = size.events <= retention.events
                && size.bytes <= retention.bytes
                && moment.time >= oldest;
            if fits {
                break;
            }
            size.subtract(moment.size);
            compacted = moment.changes.revision.0;
        }
        compacted
    }

    /// When the oldest promised moment will be too old, if there is one.
    pub(crate) fn next_excess(&self, retention: &Retention) -> Option<u64> {
        let moment = self.moment(self.compacted.saturating_add(1))?;
        Some(
            moment
                .time
                .saturating_add(to_millis(retention.age))
                .saturating_add(1),
        )
    }

    /// Stops promising moments up to a revision.
    pub(crate) fn compact(&mut self, revision: u64) {
        let mut gone = Size::default();
        for moment in self.moments_after(self.compacted) {
            if moment.changes.revision.0 > revision {
                break;
            }
            gone.add(moment.size);
        }
        self.promised.subtract(gone);
        self.compacted = self.compacted.max(revision);
    }

    /// Lets go of moments that are not promised, beyond a grace.
    pub(crate) fn trim(&mut self) {
        while let Some(moment) = self.moments.front() {
            let within = self.kept.events <= GRACE_EVENTS && self.kept.bytes <= GRACE_BYTES;
            if within || moment.changes.revision.0 > self.compacted {
                return;
            }
            self.kept.subtract(moment.size);
            self.floor = moment.changes.revision.0;
            self.moments.pop_front();
        }
    }
}
