//! Places for connections: how many there are, who has one, and who gives theirs up when there are too few.
//!
//! A place is taken before anybody knows who takes it, so those who say nothing could take all of them. When there is
//! none left, strangers go first, whoever gave no sign for the longest time before the others; then those that are known
//! and want nothing at the moment. Whoever is known and has a request under way stays.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// How long somebody waits for a place before it is looked again for one who could go.
const NEXT_LOOK: Duration = Duration::from_secs(1);
/// How often it is said that there are no places left.
const NEXT_WORD: Duration = Duration::from_secs(30);

/// All places.
pub(crate) struct Places {
    limit: usize,
    taken: Mutex<Taken>,
    freed: Notify,
}

#[derive(Default)]
struct Taken {
    stays: BTreeMap<u64, Arc<Stay>>,
    next: u64,
    /// When it was last said that there are none left, and how many were sent away since.
    said: Option<Instant>,
    sent_away: usize,
}

/// A place that is taken until it is dropped.
pub(crate) struct Place {
    places: Arc<Places>,
    number: u64,
    /// What its holder does there.
    pub(crate) stay: Arc<Stay>,
}

/// What is known of a connection.
pub(crate) struct Stay {
    state: Mutex<State>,
    leave: Notify,
}

#[derive(Clone, Copy, Debug)]
struct State {
    /// Whether somebody showed who they are.
    is_known: bool,
    /// Whether a request came.
    has_asked: bool,
    /// Requests under way.
    requests: usize,
    /// The last sign: the connection was made, or a request began or ended.
    since: Instant,
    /// Whether the place is given up already.
    leaves: bool,
}

/// A request under way, until it is dropped.
pub(crate) struct Busy(Arc<Stay>);

impl Places {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit: limit.max(1),
            taken: Mutex::default(),
            freed: Notify::new(),
        })
    }

    /// Takes a place, as soon as there is one.
    pub(crate) async fn enter(self: &Arc<Self>) -> Place {
        loop {
            if let Some(place) = self.take() {
                return place;
            }
            self.make_room("all are taken");
            // Somebody may have become idle without anybody leaving.
            drop(tokio::time::timeout(NEXT_LOOK, self.freed.notified()).await);
        }
    }

    /// Sends some of those away who can go, and says why, but not every time.
    pub(crate) fn make_room(&self, why: &str) {
        let mut taken = self.lock();
        let states = taken.stays.iter();
        let states = states.map(|(number, stay)| (*number, *stay.lock()));
        // Several at once: looking for them takes time in proportion to the places.
        let going = who_goes(states.collect(), (taken.stays.len() / 64).max(1));
        for number in &going {
            if let Some(stay) = taken.stays.get(number) {
                stay.tell_to_leave();
            }
        }
        taken.sent_away += going.len();
        let now = Instant::now();
        let is_silent = |said: Instant| now.duration_since(said) < NEXT_WORD;
        if taken.said.is_some_and(is_silent) {
            return;
        }
        tracing::warn!(
            connections = taken.stays.len(),
            closed = taken.sent_away,
            why,
            "there are no places left for connections; those without credentials are closed, the longest idle first"
        );
        (taken.said, taken.sent_away) = (Some(now), 0);
    }

    fn take(self: &Arc<Self>) -> Option<Place> {
        let mut taken = self.lock();
        if taken.stays.len() >= self.limit {
            return None;
        }
        let number = taken.next;
        taken.next += 1;
        let stay = Stay::new();
        taken.stays.insert(number, Arc::clone(&stay));
        Some(Place {
            places: Arc::clone(self),
            number,
            stay,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.lock().stays.remove(&self.number);
        self.places.freed.notify_one();
    }
}

/// Who gives up their place, `count` of them at the most. Nobody is told twice; whoever goes already is waited for, unless
/// they have begun something at the last moment, which may last.
fn who_goes(mut states: Vec<(u64, State)>, count: usize) -> Vec<u64> {
    let is_going = |state: &State| state.leaves && (!state.is_known || state.requests == 0);
    if states.iter().any(|(_, state)| is_going(state)) {
        return Vec::new();
    }
    let has_strangers = states.iter().any(|(_, state)| !state.is_known);
    states.retain(|(_, state)| match has_strangers {
        true => !state.is_known,
        false => state.requests == 0,
    });
    states.sort_unstable_by_key(|(number, state)| (state.since, *number));
    states.truncate(count);
    states.into_iter().map(|(number, _)| number).collect()
}

impl Stay {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                is_known: false,
                has_asked: false,
                requests: 0,
                since: Instant::now(),
                leaves: false,
            }),
            leave: Notify::new(),
        })
    }

    /// Somebody showed who they are.
    pub(crate) fn vouch(&self) {
        self.lock().is_known = true;
    }

    pub(crate) fn is_known(&self) -> bool {
        self.lock().is_known
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.lock().requests > 0
    }

    /// A request came.
    pub(crate) fn begin(self: &Arc<Self>) -> Busy {
        let mut state = self.lock();
        state.has_asked = true;
        state.requests += 1;
        state.since = Instant::now();
        drop(state);
        Busy(Arc::clone(self))
    }

    /// The place is needed for somebody else.
    pub(crate) fn tell_to_leave(&self) {
        self.lock().leaves = true;
        self.leave.notify_one();
    }

    /// Waits until the place is needed for somebody else.
    pub(crate) async fn is_told_to_leave(&self) {
        self.leave.notified().await;
    }

    /// Waits until nothing was asked for too long: for `first` at the beginning, for `next` later.
    pub(crate) async fn is_idle_for(&self, first: Duration, next: Duration) {
        loop {
            let now = Instant::now();
            let state = *self.lock();
            // Whatever begins and ends meanwhile ends after now, so nobody is looked at too late.
            let until = match (state.requests, state.has_asked) {
                (0, false) => state.since + first,
                (0, true) => state.since + next,
                _ => now + next,
            };
            if until <= now {
                return;
            }
            tokio::time::sleep_until(until).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.requests -= 1;
        state.since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn strangers_go_first_then_the_idle_and_never_who_is_known_and_busy() {
        let began = Instant::now();
        // Whether it is known, how many requests it has, and when it gave its last sign.
        for (stays, expected) in [
            (vec![(false, 0, 5), (false, 0, 3), (true, 0, 0)], vec![1, 0]),
            (vec![(false, 1, 2), (false, 0, 3), (true, 1, 0)], vec![0, 1]),
            (
                vec![(true, 0, 9), (true, 1, 0), (true, 0, 4), (true, 0, 6)],
                vec![2, 3],
            ),
            (vec![(true, 1, 0), (true, 2, 0)], vec![]),
            (vec![(true, 1, 0), (true, 0, 0), (true, 0, 1)], vec![1, 2]),
        ] {
            let states = stays.iter().zip(0..);
            let states = states.map(|((is_known, requests, since), number)| {
                let state = State {
                    is_known: *is_known,
                    has_asked: *requests > 0,
                    requests: *requests,
                    since: began + Duration::from_secs(*since),
                    leaves: false,
                };
                (number, state)
            });
            let mut states: Vec<(u64, State)> = states.collect();
            assert_eq!(who_goes(states.clone(), 2), expected, "{stays:?}");
            states[0].1.leaves = true;
            let is_held_up = stays[0].0 && stays[0].1 > 0;
            let expected = if is_held_up { expected } else { Vec::new() };
            assert_eq!(who_goes(states, 2), expected, "one leaves: {stays:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_newcomer_gets_the_place_of_a_stranger_and_waits_for_that_of_a_friend() {
        let places = Places::new(2);
        let (friend, stranger) = (places.enter().await, places.enter().await);
        friend.stay.vouch();
        let busy = friend.stay.begin();
        let leaving = async {
            stranger.stay.is_told_to_leave().await;
            drop(stranger);
        };
        let (third, ()) = tokio::join!(places.enter(), leaving);
        third.stay.vouch();
        let _asking = third.stay.begin();
        let patience = Duration::from_secs(3600);
        let fourth = tokio::time::timeout(patience, places.enter()).await;
        assert!(fourth.is_err(), "both are known and busy");
        drop(busy);
        let leaving = async {
            friend.stay.is_told_to_leave().await;
            drop(friend);
        };
        tokio::join!(places.enter(), leaving);
    }
}
