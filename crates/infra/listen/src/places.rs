//! Places for connections: how many there are, who has one, and who gives theirs up when there are too few.
//!
//! A place is taken before anybody knows who takes it, so those who say nothing could take all of them. When there is
//! none left, strangers go first, whoever gave no sign for the longest time before the others, but nobody before they had
//! the time to show who they are. For that newcomers have a share of the places: those that are known and want nothing
//! give theirs up until strangers have it. Whoever is known and has a request under way stays.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// How long somebody waits for a place before it is looked again for one who could go.
const NEXT_LOOK: Duration = Duration::from_secs(1);
/// How long strangers stay at least: a handshake and the head of a request take a few round trips.
const ARRIVING: Duration = Duration::from_secs(1);
/// How long whoever is known stays after an answer at least: it counts as given once it is handed over to be sent, which
/// takes its time.
const SENDING: Duration = Duration::from_secs(5);
/// Which part of the places is the share of newcomers, and how many go at once: looking for them takes time in proportion
/// to the places.
const SHARE: usize = 64;
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
    /// When the place was taken.
    entered: Instant,
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
        let now = Instant::now();
        let mut taken = self.lock();
        let states = taken.stays.iter();
        let states = states.map(|(number, stay)| (*number, *stay.lock()));
        let share = (taken.stays.len() / SHARE).max(1);
        let going = who_goes(states.collect(), share, now);
        for number in &going {
            if let Some(stay) = taken.stays.get(number) {
                stay.tell_to_leave();
            }
        }
        taken.sent_away += going.len();
        let is_silent = |said: Instant| now.duration_since(said) < NEXT_WORD;
        if taken.said.is_some_and(is_silent) {
            return;
        }
        tracing::warn!(
            connections = taken.stays.len(),
            closed = taken.sent_away,
            why,
            "there are no places left for connections; those without credentials are closed, then those that are idle, the longest idle first"
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

/// Who gives up their place, `share` of them at the most. Nobody is told twice; whoever goes already is waited for, unless
/// they have begun something at the last moment, which may last.
fn who_goes(states: Vec<(u64, State)>, share: usize, now: Instant) -> Vec<u64> {
    let is_going = |state: &State| state.leaves && (!state.is_known || state.requests == 0);
    if states.iter().any(|(_, state)| is_going(state)) {
        return Vec::new();
    }
    let (known, strangers): (Vec<_>, Vec<_>) =
        states.into_iter().partition(|(_, state)| state.is_known);
    // Invariant: strangers never get more than their share from those that are known, however many of them come.
    let lacking = share.saturating_sub(strangers.len());
    let has_arrived = |state: &State| now.duration_since(state.entered) >= ARRIVING;
    let is_idle = |state: &State| state.requests == 0 && now.duration_since(state.since) >= SENDING;
    let mut going = longest_silent(strangers, has_arrived, share);
    going.extend(longest_silent(known, is_idle, lacking));
    going
}

/// Those of them that can go, `count` at the most, whoever gave no sign for the longest time first.
fn longest_silent(
    mut states: Vec<(u64, State)>,
    can_go: impl Fn(&State) -> bool,
    count: usize,
) -> Vec<u64> {
    states.retain(|(_, state)| can_go(state));
    states.sort_unstable_by_key(|(number, state)| (state.since, *number));
    let numbers = states.into_iter().map(|(number, _)| number);
    numbers.take(count).collect()
}

impl Stay {
    pub(crate) fn new() -> Arc<Self> {
        let now = Instant::now();
        Arc::new(Self {
            state: Mutex::new(State {
                is_known: false,
                has_asked: false,
                requests: 0,
                entered: now,
                since: now,
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
        // One letter for each place: a stranger or somebody known; `+` if a request is under way; when the place was taken
        // and when the last sign was given, in tenths of a second before now.
        for (stays, expected) in [
            ("s:50:50 s:70:70 k:99:99", vec![1, 0]),
            ("s+:80:80 s:70:70 k+:99:99", vec![0, 1]),
            ("k:60:60 k+:99:99 k:80:80 k:70:70", vec![2, 3]),
            ("k+:99:99 k+:99:99", vec![]),
            ("k+:99:99 k:99:99 k:98:98", vec![1, 2]),
            // Strangers who have just come stay, and those that are known keep all but their share.
            ("s:9:9 s:9:9 k:99:99", vec![]),
            ("s:9:9 s:10:10 k:99:99", vec![1]),
            ("s:9:9 k:99:99 k:98:98", vec![1]),
            ("s:50:50 k:99:99 k:98:98", vec![0, 1]),
            // A request is a sign, but nobody arrives anew by it.
            ("s:99:0 s:50:50 k:99:99", vec![1, 0]),
            // An answer may still be on its way.
            ("k:99:49 k:99:0", vec![]),
            ("k:99:50 k:99:49", vec![0]),
        ] {
            let now = Instant::now() + Duration::from_secs(60);
            let ago = |tenths: &str| now - Duration::from_millis(100) * tenths.parse().unwrap();
            let states = stays.split(' ').zip(0..).map(|(stay, number)| {
                let [who, entered, since] = stay.splitn(3, ':').collect::<Vec<_>>()[..] else {
                    panic!("{stay}");
                };
                let requests = usize::from(who.ends_with('+'));
                let state = State {
                    is_known: who.starts_with('k'),
                    has_asked: requests > 0,
                    requests,
                    entered: ago(entered),
                    since: ago(since),
                    leaves: false,
                };
                (number, state)
            });
            let mut states: Vec<(u64, State)> = states.collect();
            assert_eq!(who_goes(states.clone(), 2, now), expected, "{stays}");
            states[0].1.leaves = true;
            let is_held_up = stays.starts_with("k+");
            let expected = if is_held_up { expected } else { Vec::new() };
            assert_eq!(who_goes(states, 2, now), expected, "one leaves: {stays}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_newcomer_gets_the_place_of_a_stranger_and_waits_for_that_of_a_friend() {
        let places = Places::new(2);
        let (friend, stranger) = (places.enter().await, places.enter().await);
        friend.stay.vouch();
        let busy = friend.stay.begin();
        let began = Instant::now();
        let leaving = async {
            stranger.stay.is_told_to_leave().await;
            assert!(began.elapsed() >= ARRIVING, "nobody has a chance before");
            drop(stranger);
        };
        let (third, ()) = tokio::join!(places.enter(), leaving);
        third.stay.vouch();
        let _asking = third.stay.begin();
        let patience = Duration::from_secs(3600);
        let fourth = tokio::time::timeout(patience, places.enter()).await;
        assert!(fourth.is_err(), "both are known and busy");
        drop(busy);
        let began = Instant::now();
        let leaving = async {
            friend.stay.is_told_to_leave().await;
            assert!(began.elapsed() >= SENDING, "the answer is on its way");
            drop(friend);
        };
        tokio::join!(places.enter(), leaving);
    }
}
