//! The queue without its waiting: plain data that is told the time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::ops::RangeInclusive;
use std::time::Duration;

use tokio::time::Instant;

use super::{Rank, RetryAfter, is_in_background, later};
use crate::backoff::delay;

/// One key in so many is the least urgent one, lest it waits for ever behind others that keep coming.
pub(super) const LEAST_URGENT_EACH: u64 = 16;

pub(super) struct State<K> {
    entries: HashMap<K, Entry>,
    /// Due and waiting for a worker, the most urgent first.
    ready: BTreeMap<(Reverse<Rank>, u64), K>,
    /// Not yet due, the earliest first.
    waiting: BTreeMap<(Instant, u64), K>,
    failures: HashMap<K, u32>,
    retry: RetryAfter,
    /// Numbers entries in the order they came.
    sequence: u64,
    closed: bool,
    running: usize,
    added: u64,
    taken: u64,
    retried: u64,
}

/// How full a queue is, and what went through it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Keys that are due and wait for a worker.
    pub ready: usize,
    /// Keys that are not due yet.
    pub waiting: usize,
    /// Keys that are being looked at.
    pub running: usize,
    /// Calls that added a key, those that changed nothing included.
    pub added: u64,
    /// Keys handed to workers.
    pub taken: u64,
    /// Calls that added a key because it had failed.
    pub retried: u64,
}

/// Where a key is. A key that is nowhere has no entry.
enum Entry {
    /// Due since then, under this key of `ready`.
    Ready(Rank, u64, Instant),
    /// Not due, under this key of `waiting`.
    Waiting(Rank, Instant, u64),
    /// Being looked at; then again, if it was added meanwhile.
    Running(Option<(Instant, Rank)>),
}

impl<K: Clone + Eq + Hash> State<K> {
    pub(super) fn new(retry: RetryAfter) -> Self {
        Self {
            entries: HashMap::new(),
            ready: BTreeMap::new(),
            waiting: BTreeMap::new(),
            failures: HashMap::new(),
            retry,
            sequence: 0,
            closed: false,
            running: 0,
            added: 0,
            taken: 0,
            retried: 0,
        }
    }

    /// Whether somebody who waits may now have to do something earlier.
    pub(super) fn add(&mut self, key: K, due: Instant, rank: Rank, now: Instant) -> bool {
        if self.closed {
            return false;
        }
        self.added += 1;
        match self.entries.get_mut(&key) {
            None => {
                self.place(key, due, rank, now);
                true
            }
            Some(Entry::Running(again)) => {
                *again = Some(again.map_or((due, rank), |(earlier, higher)| {
                    (earlier.min(due), higher.max(rank))
                }));
                false
            }
            Some(&mut Entry::Ready(known, place, since)) => {
                if rank <= known {
                    return false;
                }
                self.ready.remove(&(Reverse(known), place));
                self.place(key, since, rank, now);
                true
            }
            Some(&mut Entry::Waiting(known, known_due, place)) => {
                if rank <= known && due >= known_due {
                    return false;
                }
                self.waiting.remove(&(known_due, place));
                self.place(key, due.min(known_due), rank.max(known), now);
                true
            }
        }
    }

    pub(super) fn retry(
        &mut self,
        key: K,
        rank: Rank,
        now: Instant,
        within: RangeInclusive<Duration>,
    ) -> bool {
        let failures = self.failures.entry(key.clone()).or_default();
        let wait = delay(self.retry.first, self.retry.longest, *failures);
        let wait = wait.max(*within.start()).min(*within.end());
        *failures = failures.saturating_add(1);
        self.retried += 1;
        self.add(key, later(now, wait), rank, now)
    }

    pub(super) fn forget(&mut self, key: &K) {
        self.failures.remove(key);
    }

    pub(super) fn failures(&self, key: &K) -> u32 {
        self.failures.get(key).copied().unwrap_or_default()
    }

    pub(super) fn remove(&mut self, key: &K) {
        self.failures.remove(key);
        match self.entries.get_mut(key) {
            None => {}
            Some(Entry::Running(again)) => *again = None,
            Some(&mut Entry::Ready(rank, place, _)) => {
                self.ready.remove(&(Reverse(rank), place));
                self.entries.remove(key);
            }
            Some(&mut Entry::Waiting(_, due, place)) => {
                self.waiting.remove(&(due, place));
                self.entries.remove(key);
            }
        }
    }

    /// The most urgent key that is due, or now and then the least urgent, which is then being looked at; how long it was
    /// due, and how urgent it is. Unless any will do, none of those in the background.
    pub(super) fn take(&mut self, is_any: bool, now: Instant) -> Option<(K, Duration, Rank)> {
        self.ripen(now);
        let is_turn_of_least = self.taken % LEAST_URGENT_EACH == LEAST_URGENT_EACH - 1;
        let (rank, key) = match is_turn_of_least && is_any {
            true => self.pop_least()?,
            false => {
                let first = self.ready.first_entry()?;
                let (Reverse(rank), _) = *first.key();
                if !is_any && is_in_background(rank) {
                    return None;
                }
                (rank, first.remove())
            }
        };
        let since = match self.entries.insert(key.clone(), Entry::Running(None)) {
            Some(Entry::Ready(_, _, since)) => since,
            _ => now, // Invariant: entries and places agree, as the model test shows.
        };
        self.running += 1;
        self.taken += 1;
        Some((key, now.saturating_duration_since(since), rank))
    }

    /// Whether a key is due that was added in the background.
    pub(super) fn has_background(&mut self, now: Instant) -> bool {
        self.ripen(now);
        let least = self.ready.last_key_value();
        least.is_some_and(|((Reverse(rank), _), _)| is_in_background(*rank))
    }

    /// Whether a key waits for a worker. Only as of the last [`State::take`].
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// When the earliest of those not yet due will be.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.waiting.first_key_value().map(|((due, _), _)| *due)
    }

    /// The key is no longer being looked at; whether it waits again.
    pub(super) fn finish(&mut self, key: &K, now: Instant) -> bool {
        let Some(Entry::Running(again)) = self.entries.get(key) else {
            return false;
        };
        let again = *again;
        self.entries.remove(key);
        self.running = self.running.saturating_sub(1);
        let Some((due, rank)) = again.filter(|_| !self.closed) else {
            return false;
        };
        self.place(key.clone(), due, rank, now);
        true
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
        self.ready.clear();
        self.waiting.clear();
        self.entries
            .retain(|_, entry| matches!(entry, Entry::Running(_)));
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(super) fn counts(&mut self, now: Instant) -> Counts {
        self.ripen(now);
        Counts {
            ready: self.ready.len(),
            waiting: self.waiting.len(),
            running: self.running,
            added: self.added,
            taken: self.taken,
            retried: self.retried,
        }
    }

    fn place(&mut self, key: K, due: Instant, rank: Rank, now: Instant) {
        self.sequence += 1;
        let place = self.sequence;
        let entry = if due <= now {
            self.ready.insert((Reverse(rank), place), key.clone());
            Entry::Ready(rank, place, due)
        } else {
            self.waiting.insert((due, place), key.clone());
            Entry::Waiting(rank, due, place)
        };
        self.entries.insert(key, entry);
    }

    /// Of the least urgent keys the one that came first.
    fn pop_least(&mut self) -> Option<(Rank, K)> {
        let &(least, _) = self.ready.last_key_value()?.0;
        let (&first, _) = self.ready.range((least, 0)..).next()?;
        Some((least.0, self.ready.remove(&first)?))
    }

    /// Moves what has become due.
    fn ripen(&mut self, now: Instant) {
        while let Some(first) = self.waiting.first_entry() {
            let &(due, place) = first.key();
            if due > now {
                return;
            }
            let key = first.remove();
            let rank = match self.entries.get(&key) {
                Some(&Entry::Waiting(rank, ..)) => rank,
                _ => continue, // Invariant: entries and places agree, as the model test shows.
            };
            self.ready.insert((Reverse(rank), place), key.clone());
            self.entries.insert(key, Entry::Ready(rank, place, due));
        }
    }
}
