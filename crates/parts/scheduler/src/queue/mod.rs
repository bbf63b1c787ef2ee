//! Which binding is decided next, and when one that failed is tried again.
//!
//! A binding is in one place at a time: *active* (to be decided as soon as somebody is free), *backing off* after an
//! error, *unschedulable* until there may be more room, or *in work*. The queue is a plain value without a clock: the
//! moment is a parameter, counted from whatever start its owner chose.
//!
//! Order among the active: the greater priority first. Within one priority those that an event of their own brought go
//! before those that failed before or that a cluster brought, so that neither ten thousand bindings without a place nor a
//! cluster that flaps under ten thousand others hold one up that somebody waits for; after [`FRESH_IN_A_ROW`] of the
//! former one of the latter has its turn. Within each, the one that waits longest.

#[cfg(test)]
mod tests;

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
    hash::Hash,
    time::Duration,
};

/// How many bindings that their own events brought are taken in a row while others wait.
pub const FRESH_IN_A_ROW: u32 = 8;

/// How long a binding waits for room at least when one event has helped in vain; doubles.
const FIRST_ROOM: Duration = Duration::from_millis(250);

/// How long a binding waits for room that no event tells of, such as an estimator's; doubles.
const FIRST_UNTOLD: Duration = Duration::from_secs(1);

/// How long a binding waits at most for somebody who must be heard about it: it is they who are to come back.
const UNHEARD: Duration = Duration::from_secs(30);

/// How long bindings wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// After the first error; doubles with each further one.
    pub first: Duration,
    /// At most, after an error.
    pub most: Duration,
    /// At most, for want of room; events that may help come earlier.
    pub room: Duration,
    /// At most, after events helped several times in vain: room that comes and goes must not bring thousands each time.
    pub room_again: Duration,
}

impl Patience {
    /// As the reference's priority queue waits.
    pub const PRIORITIES: Self = Self {
        first: Duration::from_secs(1),
        most: Duration::from_secs(10),
        room: Duration::from_secs(5 * 60),
        room_again: Duration::from_secs(5),
    };

    /// As the reference's plain queue waits.
    pub const PLAIN: Self = Self {
        first: Duration::from_millis(5),
        most: Duration::from_secs(1000),
        room: Duration::from_secs(5 * 60),
        room_again: Duration::from_secs(5),
    };

    /// How long to wait after so many attempts that failed.
    #[must_use]
    pub fn after(&self, attempts: u32) -> Duration {
        let doublings = attempts.saturating_sub(1).min(31);
        self.first.saturating_mul(1_u32 << doublings).min(self.most)
    }

    /// How long to wait for room at most, after so many attempts: events tell of most room, but not of all.
    #[must_use]
    pub fn untold_room(&self, attempts: u32) -> Duration {
        let doublings = attempts.saturating_sub(1).min(31);
        FIRST_UNTOLD
            .saturating_mul(1_u32 << doublings)
            .min(self.room)
    }

    /// How long to wait for room at least, after so many attempts in vain. The first event helps at once.
    #[must_use]
    pub fn before_room(&self, attempts: u32) -> Duration {
        let Some(doublings) = attempts.checked_sub(2) else {
            return Duration::ZERO;
        };
        let wait = FIRST_ROOM.saturating_mul(1_u32 << doublings.min(31));
        wait.min(self.room_again)
    }
}

/// Why a binding is brought to the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It is new, or was edited: this is its generation.
    Changed(i64),
    /// It is to be decided whatever its generation: it came into our hands.
    Elsewhere,
    /// It was decided, and is looked at again: a cluster changed that it may use, or we have only begun. Nobody waits
    /// for such a decision as for one about a new binding.
    Review,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// There is nothing more to do for the binding up to this generation, its own write included.
    Settled(i64),
    /// It waits for room.
    Unschedulable,
    /// It failed and is tried again after a while.
    Failed,
    /// Somebody who must be heard about it was not. That says nothing of the binding, so it never waits for long.
    Unheard,
    /// Somebody wrote the binding while it was decided, so the decision counts for nothing; it is tried again likewise.
    Overtaken,
}

/// A binding to be decided now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn<K> {
    /// The binding.
    pub key: K,
    /// The how-many-eth attempt in a row this is, counted from 1.
    pub attempt: u32,
}

/// How many bindings are where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// To be decided.
    pub active: usize,
    /// Waiting after an error.
    pub backoff: usize,
    /// Waiting for room.
    pub unschedulable: usize,
    /// Being decided.
    pub in_work: usize,
}

/// The queue. `K` names a binding.
#[derive(Debug)]
pub struct Queue<K> {
    patience: Patience,
    entries: HashMap<K, Entry>,
    /// Brought by events: priority, then order of arrival.
    fresh: BTreeSet<(Reverse<i32>, u64, K)>,
    /// To be tried again, or brought by clusters: the same.
    retried: BTreeSet<(Reverse<i32>, u64, K)>,
    /// When those that wait become active.
    waiting: BTreeSet<(Duration, u64, K)>,
    /// Generations that our own writes made and whose events are still under way.
    awaited: HashMap<K, i64>,
    arrivals: u64,
    fresh_in_a_row: u32,
    counts: Counts,
}

#[derive(Debug)]
struct Entry {
    priority: i32,
    /// How often it was tried since an event brought it.
    attempts: u32,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Active {
        arrival: u64,
        is_retry: bool,
    },
    Waiting {
        since: Duration,
        until: Duration,
        arrival: u64,
        is_for_room: bool,
    },
    InWork {
        again: Option<Again>,
    },
}

/// Why a binding in work is to be decided once more.
#[derive(Clone, Copy, Debug)]
enum Again {
    /// It was edited up to this generation.
    Generation(i64),
    Regardless,
}

impl<K: Clone + Eq + Hash + Ord> Queue<K> {
    /// An empty queue.
    #[must_use]
    pub fn new(patience: Patience) -> Self {
        Self {
            patience,
            entries: HashMap::new(),
            fresh: BTreeSet::new(),
            retried: BTreeSet::new(),
            waiting: BTreeSet::new(),
            awaited: HashMap::new(),
            arrivals: 0,
            fresh_in_a_row: 0,
            counts: Counts::default(),
        }
    }

    /// Brings a binding. Returns whether that made a difference.
    ///
    /// One that is active already keeps its age and priority; one that waits becomes active at once and its attempts
    /// are forgotten; one in work is decided again afterwards, unless the change turns out to be our own write.
    pub fn push(&mut self, key: &K, priority: i32, cause: Cause) -> bool {
        if let Cause::Changed(generation) = cause
            && self
                .awaited
                .remove(key)
                .is_some_and(|own| generation <= own)
        {
            return false;
        }
        match self.entries.get_mut(key) {
            None => {}
            Some(Entry {
                priority,
                place: Place::Active { arrival, is_retry },
                ..
            }) => {
                // What somebody waits for now does not wait behind what is only looked at again.
                if *is_retry && cause != Cause::Review {
                    *is_retry = false;
                    let place = (Reverse(*priority), *arrival, key.clone());
                    self.retried.remove(&place);
                    self.fresh.insert(place);
                }
                return false;
            }
            Some(Entry {
                place: Place::InWork { again },
                ..
            }) => {
                *again = Some(match (cause, &*again) {
                    (Cause::Elsewhere | Cause::Review, _) | (_, Some(Again::Regardless)) => {
                        Again::Regardless
                    }
                    (Cause::Changed(generation), Some(Again::Generation(known))) => {
                        Again::Generation(generation.max(*known))
                    }
                    (Cause::Changed(generation), None) => Again::Generation(generation),
                });
                return true;
            }
            Some(Entry {
                place: Place::Waiting { .. },
                ..
            }) => self.leave_waiting(key),
        }
        self.enter_active(key, priority, 0, cause == Cause::Review);
        true
    }

    /// The next binding to decide.
    pub fn pop(&mut self, now: Duration) -> Option<Turn<K>> {
        self.wake(now);
        let key = self.next()?;
        let entry = self.entries.get_mut(&key)?;
        entry.attempts = entry.attempts.saturating_add(1);
        entry.place = Place::InWork { again: None };
        self.counts.active -= 1;
        self.counts.in_work += 1;
        Some(Turn {
            key,
            attempt: entry.attempts,
        })
    }

    /// Says how the attempt at a binding ended. One that was brought again meanwhile becomes active at once.
    pub fn finish(&mut self, key: &K, ending: Ending, now: Duration) {
        let Some(entry) = self.entries.remove(key) else {
            return;
        };
        let Entry {
            priority,
            attempts,
            place: Place::InWork { again },
        } = entry
        else {
            // Not ours to finish: put it back as it was.
            self.entries.insert(key.clone(), entry);
            return;
        };
        self.counts.in_work -= 1;
        let is_again = match (again, ending) {
            (None, _) => false,
            (Some(Again::Generation(seen)), Ending::Settled(done)) => seen > done,
            (Some(_), _) => true,
        };
        if is_again {
            self.enter_active(key, priority, attempts, attempts > 1);
            return;
        }
        match ending {
            Ending::Settled(_) => {}
            Ending::Unschedulable => {
                let until = now.saturating_add(self.patience.untold_room(attempts));
                self.enter_waiting(key, (priority, attempts), (now, until), true);
            }
            Ending::Failed | Ending::Overtaken | Ending::Unheard => {
                let wait = self.patience.after(attempts);
                let wait = match ending {
                    Ending::Unheard => wait.min(UNHEARD),
                    _ => wait,
                };
                let until = now.saturating_add(wait);
                self.enter_waiting(key, (priority, attempts), (now, until), false);
            }
        }
    }

    /// Notes that a write of our own makes this generation, whose event is not a reason to decide again.
    ///
    /// To be called while the binding is in work, before [`finish`](Self::finish).
    pub fn expect(&mut self, key: &K, generation: i64) {
        let seen = match self.entries.get(key).map(|entry| &entry.place) {
            Some(Place::InWork {
                again: Some(Again::Generation(seen)),
            }) => *seen >= generation,
            _ => false,
        };
        if !seen {
            self.awaited.insert(key.clone(), generation);
        }
    }

    /// Forgets a binding that is gone. One in work ends as it will.
    pub fn remove(&mut self, key: &K) {
        self.awaited.remove(key);
        match self.entries.get(key).map(|entry| &entry.place) {
            Some(Place::Waiting { .. }) => {
                self.leave_waiting(key);
                self.entries.remove(key);
            }
            Some(Place::Active { arrival, is_retry }) => {
                let (arrival, is_retry) = (*arrival, *is_retry);
                if let Some(entry) = self.entries.remove(key) {
                    self.counts.active -= 1;
                    let lane = if is_retry {
                        &mut self.retried
                    } else {
                        &mut self.fresh
                    };
                    lane.remove(&(Reverse(entry.priority), arrival, key.clone()));
                }
            }
            Some(Place::InWork { .. }) | None => {}
        }
    }

    /// The bindings that wait for room.
    pub fn unschedulable(&self) -> impl Iterator<Item = &K> {
        self.entries.iter().filter_map(|(key, entry)| {
            matches!(
                entry.place,
                Place::Waiting {
                    is_for_room: true,
                    ..
                }
            )
            .then_some(key)
        })
    }

    /// Makes a binding that waits for room active, because there may be some. Its attempts still count: after several in
    /// vain it waits a moment yet.
    pub fn retry(&mut self, key: &K, now: Duration) {
        let Some(Entry {
            priority,
            attempts,
            place:
                Place::Waiting {
                    since,
                    until,
                    is_for_room: true,
                    ..
                },
        }) = self.entries.get(key)
        else {
            return;
        };
        let (priority, attempts, since, until) = (*priority, *attempts, *since, *until);
        let earliest = since.saturating_add(self.patience.before_room(attempts));
        if earliest >= until {
            return;
        }
        self.leave_waiting(key);
        if earliest <= now {
            self.enter_active(key, priority, attempts, true);
        } else {
            self.enter_waiting(key, (priority, attempts), (since, earliest), true);
        }
    }

    /// When the next binding becomes active by itself.
    #[must_use]
    pub fn next_wake(&self) -> Option<Duration> {
        self.waiting.first().map(|(until, ..)| *until)
    }

    /// Whether a binding could be taken at `now`.
    #[must_use]
    pub fn is_ready(&self, now: Duration) -> bool {
        self.counts.active > 0 || self.next_wake().is_some_and(|until| until <= now)
    }

    /// How many bindings are where.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Moves those whose wait is over to the active ones.
    fn wake(&mut self, now: Duration) {
        while let Some((_, _, key)) = self.waiting.first().filter(|(until, ..)| *until <= now) {
            let key = key.clone();
            let Some(entry) = self.entries.get(&key) else {
                self.waiting.pop_first();
                continue;
            };
            let (priority, attempts) = (entry.priority, entry.attempts);
            self.leave_waiting(&key);
            self.enter_active(&key, priority, attempts, true);
        }
    }

    /// Takes the key whose turn it is out of its lane.
    fn next(&mut self) -> Option<K> {
        let takes_fresh = match (self.fresh.first(), self.retried.first()) {
            (None, None) => return None,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some((fresh, ..)), Some((retried, ..))) if fresh == retried => {
                self.fresh_in_a_row < FRESH_IN_A_ROW
            }
            // `Reverse`: the lesser is the greater priority.
            (Some((fresh, ..)), Some((retried, ..))) => fresh < retried,
        };
        let lane = if takes_fresh {
            self.fresh_in_a_row = self.fresh_in_a_row.saturating_add(1);
            &mut self.fresh
        } else {
            self.fresh_in_a_row = 0;
            &mut self.retried
        };
        lane.pop_first().map(|(.., key)| key)
    }

    fn enter_active(&mut self, key: &K, priority: i32, attempts: u32, is_retry: bool) {
        let arrival = self.arrive();
        let lane = if is_retry {
            &mut self.retried
        } else {
            &mut self.fresh
        };
        lane.insert((Reverse(priority), arrival, key.clone()));
        self.counts.active += 1;
        let place = Place::Active { arrival, is_retry };
        self.put(key, priority, attempts, place);
    }

    fn enter_waiting(
        &mut self,
        key: &K,
        (priority, attempts): (i32, u32),
        (since, until): (Duration, Duration),
        is_for_room: bool,
    ) {
        let arrival = self.arrive();
        self.waiting.insert((until, arrival, key.clone()));
        *self.waiting_count(is_for_room) += 1;
        let place = Place::Waiting {
            since,
            until,
            arrival,
            is_for_room,
        };
        self.put(key, priority, attempts, place);
    }

    /// Takes a waiting key out of the waiting ones; its entry is put elsewhere or removed by the caller.
    fn leave_waiting(&mut self, key: &K) {
        let Some(Entry {
            place:
                Place::Waiting {
                    until,
                    arrival,
                    is_for_room,
                    ..
                },
            ..
        }) = self.entries.get(key)
        else {
            return;
        };
        let (until, arrival, is_for_room) = (*until, *arrival, *is_for_room);
        self.waiting.remove(&(until, arrival, key.clone()));
        *self.waiting_count(is_for_room) -= 1;
    }

    fn waiting_count(&mut self, is_for_room: bool) -> &mut usize {
        if is_for_room {
            &mut self.counts.unschedulable
        } else {
            &mut self.counts.backoff
        }
    }

    fn put(&mut self, key: &K, priority: i32, attempts: u32, place: Place) {
        self.entries.insert(
            key.clone(),
            Entry {
                priority,
                attempts,
                place,
            },
        );
    }

    fn arrive(&mut self) -> u64 {
        self.arrivals += 1;
        self.arrivals
    }
}
