//! Which events there are to write: plain data that is told the time.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use intent::{EventKind, ObjectRef};
use object::ObjectKey;
use object::time::Time;

use super::DELETED;

/// How many different events are remembered. A table that is full forgets the oldest one that is written; if none is, new
/// ones are dropped and counted.
const ROOM: usize = 4_096;
/// How long an event is counted on before a new one is made. Upstream: ten minutes.
const COUNTED_SECONDS: i64 = 600;
/// How many events of one object may come at once, and how many seconds one more takes. Upstream: 25, and one in 300 s.
const BURST: i64 = 25;
const REFILL_SECONDS: i64 = 300;
/// How many of those are left to news and warnings: an object whose steps were all told can still say that something is
/// wrong.
const RESERVE: i64 = 10;
/// How many steps that went as they should are told at once, and how many more for each second: enough for whoever tries
/// things out, and next to nothing where thousands of objects come.
const STEPS: i64 = 500;
const STEPS_A_SECOND: i64 = 5;

/// What makes two events the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Note {
    pub(super) about: ObjectRef,
    pub(super) kind: EventKind,
    pub(super) reason: String,
    pub(super) message: String,
    /// Who it comes from, if not from whoever the table belongs to.
    pub(super) component: Option<Arc<str>>,
}

impl Note {
    /// Whether it is the end of an object, of which there is one however many tell of it.
    pub(super) fn is_last(&self) -> bool {
        self.reason == DELETED && !self.about.uid.is_empty()
    }
}

/// One event as it is to be written.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) note: Arc<Note>,
    pub(super) count: u64,
    pub(super) first: Time,
    pub(super) last: Time,
    /// Grows with time; no two events of a process have the same.
    pub(super) serial: u64,
    /// Where it was written before.
    pub(super) stored: Option<ObjectKey>,
    /// It is in `waiting`.
    waits: bool,
    /// It is in `settled`.
    settled: bool,
}

pub(super) struct Table {
    entries: HashMap<Arc<Note>, Entry>,
    /// What is to be written, in order: warnings before anything else.
    warnings: VecDeque<Arc<Note>>,
    waiting: VecDeque<Arc<Note>>,
    /// What was handed out for writing, each once, the first to be forgotten first; some of it may wait again.
    settled: VecDeque<Arc<Note>>,
    /// For each object: how many more events it may have, and as of when.
    allowances: HashMap<String, (i64, Time)>,
    /// When to forget those who have all of theirs again.
    next_sweep: Time,
    /// How many more steps may be told, and as of when.
    steps: (i64, Time),
    serial: u64,
    pub(super) dropped: u64,
}

impl Table {
    pub(super) fn new(now: Time) -> Self {
        // Processes that start at different times never use the same numbers, nor do the tables of one process: each of the
        // 256 that may be opened in a second has 16 million numbers.
        static TABLES: AtomicU64 = AtomicU64::new(0);
        let table = TABLES.fetch_add(1, Relaxed) % 256;
        let seconds = u64::try_from(now.unix_seconds()).unwrap_or_default();
        Self {
            entries: HashMap::new(),
            warnings: VecDeque::new(),
            waiting: VecDeque::new(),
            settled: VecDeque::new(),
            allowances: HashMap::new(),
            next_sweep: now,
            steps: (STEPS, now),
            serial: (seconds << 32) + (table << 24),
            dropped: 0,
        }
    }

    /// Whether there is now more to write.
    pub(super) fn add(&mut self, mut note: Note, now: Time) -> bool {
        // The same thing said of a later state of the object is the same thing.
        note.about.revision.clear();
        let object = named(&note.about);
        if note.kind == EventKind::Progress
            && !(self.has_reserve(&object, now) && self.allow_step(now))
        {
            return false;
        }
        if !self.allow(object, now) {
            self.dropped += 1;
            return false;
        }
        if let Some(entry) = self.entries.get_mut(&note) {
            if note.is_last() {
                return false;
            }
            if now.seconds_since(entry.last) > COUNTED_SECONDS {
                self.serial += 1;
                entry.serial = self.serial;
                entry.stored = None;
                entry.count = 0;
                entry.first = now;
            }
            entry.count += 1;
            entry.last = now;
            if !std::mem::replace(&mut entry.waits, true) {
                let note = Arc::clone(&entry.note);
                self.wait(note);
            }
            return true;
        }
        if !self.make_room(note.kind) {
            self.dropped += 1;
            return false;
        }
        self.serial += 1;
        let note = Arc::new(note);
        let entry = Entry {
            note: Arc::clone(&note),
            count: 1,
            first: now,
            last: now,
            serial: self.serial,
            stored: None,
            waits: true,
            settled: false,
        };
        self.entries.insert(Arc::clone(&note), entry);
        self.wait(note);
        true
    }

    /// The next events to write, so many at most: warnings alone, or news.
    pub(super) fn next_few(&mut self, most: usize) -> Vec<Entry> {
        let first = self.next();
        let is_warning = |entry: &Entry| entry.note.kind == EventKind::Warning;
        let warns = first.as_ref().is_some_and(is_warning);
        let mut entries: Vec<Entry> = first.into_iter().collect();
        while !entries.is_empty() && entries.len() < most && self.warnings.is_empty() != warns {
            let Some(entry) = self.next() else { break };
            entries.push(entry);
        }
        entries
    }

    /// The next event to write.
    pub(super) fn next(&mut self) -> Option<Entry> {
        loop {
            let first = self.warnings.pop_front();
            let note = first.or_else(|| self.waiting.pop_front())?;
            if let Some(entry) = self.entries.get_mut(&note) {
                entry.waits = false;
                if !std::mem::replace(&mut entry.settled, true) {
                    self.settled.push_back(note);
                }
                return Some(entry.clone());
            }
        }
    }

    fn wait(&mut self, note: Arc<Note>) {
        match note.kind {
            EventKind::Normal | EventKind::Progress => self.waiting.push_back(note),
            EventKind::Warning => self.warnings.push_back(note),
        }
    }

    /// It is there now.
    pub(super) fn written(&mut self, note: &Note, key: ObjectKey) {
        if let Some(entry) = self.entries.get_mut(note) {
            entry.stored = Some(key);
        }
    }

    /// It could not be written: the next of its kind starts anew.
    pub(super) fn lost(&mut self, note: &Note) {
        if let Some(entry) = self.entries.get_mut(note).filter(|entry| !entry.waits) {
            entry.last = Time::MIN;
        }
    }

    /// Forgets the first that is written, if there is no room; whether there is now. A warning takes the place of news.
    fn make_room(&mut self, kind: EventKind) -> bool {
        while self.entries.len() >= ROOM {
            let Some(note) = self.settled.pop_front() else {
                if kind != EventKind::Warning {
                    return false;
                }
                let Some(news) = self.waiting.pop_front() else {
                    return false;
                };
                self.entries.remove(&news);
                self.dropped += 1;
                continue;
            };
            match self.entries.get_mut(&note) {
                Some(entry) if entry.waits => entry.settled = false,
                _ => _ = self.entries.remove(&note),
            }
        }
        true
    }

    fn allow_step(&mut self, now: Time) -> bool {
        let (left, since) = self.steps;
        let earned = now.seconds_since(since).max(0) * STEPS_A_SECOND;
        let left = (left + earned).min(STEPS);
        self.steps = ((left - 1).max(0), now);
        left > 0
    }

    /// Whether an object may have more events than are kept for news and warnings.
    fn has_reserve(&self, object: &str, now: Time) -> bool {
        let known = self.allowances.get(object);
        known.is_none_or(|(left, since)| left + earned(*since, now) > RESERVE)
    }

    fn allow(&mut self, object: String, now: Time) -> bool {
        if self.allowances.len() >= ROOM && now >= self.next_sweep {
            self.next_sweep = now.plus_seconds(REFILL_SECONDS);
            self.allowances
                .retain(|_, (left, since)| *left + earned(*since, now) < BURST);
        }
        let full = self.allowances.len() >= 4 * ROOM;
        if full && !self.allowances.contains_key(&object) {
            return false;
        }
        let (left, since) = self.allowances.entry(object).or_insert((BURST, now));
        let earned = earned(*since, now);
        if earned > 0 {
            *left = (*left + earned).min(BURST);
            *since = since.plus_seconds(earned * REFILL_SECONDS);
        }
        if *left == 0 {
            return false;
        }
        *left -= 1;
        true
    }
}

/// The object that an allowance is for.
fn named(about: &ObjectRef) -> String {
    format!("{} {} {}", about.kind.kind, about.key, about.uid)
}

/// How many more events an object may have for the time that passed.
fn earned(since: Time, now: Time) -> i64 {
    now.seconds_since(since).max(0) / REFILL_SECONDS
}
