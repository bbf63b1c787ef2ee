//! Keys that want to be looked at: one entry for each, the most urgent first and now and then the least urgent, none twice
//! at once.
//!
//! Adding a key that is already waiting makes it no later and no less urgent, and nothing else: however often a thing
//! changes, it is looked at once. Adding a key that is being looked at lets it be looked at again afterwards. So the queue
//! is never longer than there are keys, which is its bound.

mod state;
#[cfg(test)]
mod tests;
mod turns;

use std::cell::Cell;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

pub use self::state::Counts;
use self::state::State;
pub use self::turns::{Turn, Turns};

/// How urgent a key is: the higher comes first; the same, in the order they came.
pub type Priority = i32;

/// How much less urgent a key is that is added [`in_the_background`]: less than everything else.
const BACKGROUND: Priority = 1_000_000;

/// How urgent a key is beside others of its priority, too: the higher comes first.
type Rank = i64;

thread_local! {
    /// How old that is which is looked at in the background, if anything is.
    static BACKGROUND_AGE: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Keys that are added by `work`, to whichever queue, come after all that are added otherwise. Of those with the same
/// priority the one of the lower age comes first; of one age they keep their order.
///
/// For what was there before anybody looked: after a restart everything is looked at once, and a change that somebody makes
/// meanwhile does not wait behind it, nor does what was changed last, which nobody may have looked at before.
pub fn in_the_background<T>(age: u32, work: impl FnOnce() -> T) -> T {
    /// Also when `work` panics.
    struct Back(Option<u32>);
    impl Drop for Back {
        fn drop(&mut self) {
            BACKGROUND_AGE.set(self.0);
        }
    }
    let _back = Back(BACKGROUND_AGE.replace(Some(age)));
    work()
}

/// A priority, and among equals the age.
fn rank(priority: Priority, age: u32) -> Rank {
    (Rank::from(priority) << u32::BITS) - Rank::from(age)
}

/// Whether a key was added [`in_the_background`].
fn is_in_background(rank: Rank) -> bool {
    rank < self::rank(-BACKGROUND / 2, 0)
}

/// How long a key that failed waits: doubling from `first` to `longest`.
#[derive(Clone, Copy, Debug)]
pub struct RetryAfter {
    /// After the first failure.
    pub first: Duration,
    /// The longest wait.
    pub longest: Duration,
}

/// Upstream: the controllers' default, 5 ms to 1,000 s, is too slow at the end for anybody who waits; a minute is enough to
/// spare whoever is in trouble.
impl Default for RetryAfter {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(5),
            longest: Duration::from_secs(60),
        }
    }
}

/// The queue; clones are the same queue.
pub struct Queue<K> {
    shared: Arc<Shared<K>>,
}

struct Shared<K> {
    state: Mutex<State<K>>,
    /// Something became due earlier than those who wait know.
    changed: Notify,
}

/// Looks at how full a queue is, without keeping it.
pub struct Gauge<K> {
    shared: Weak<Shared<K>>,
}

/// A key in the hands of a worker. Until this is dropped nobody else gets it.
pub struct Taken<K: Clone + Eq + Hash> {
    queue: Queue<K>,
    key: K,
    waited: Duration,
    turn: Option<Turn>,
}

impl<K: Clone + Eq + Hash> Queue<K> {
    /// An empty queue.
    #[must_use]
    pub fn new(retry: RetryAfter) -> Self {
        Self {
            shared: Arc::new(Shared {
                state: Mutex::new(State::new(retry)),
                changed: Notify::new(),
            }),
        }
    }

    /// Wants the key looked at now.
    pub fn add(&self, key: K) {
        self.add_with(key, Instant::now(), 0);
    }

    /// Wants the key looked at after that long at the latest.
    pub fn add_after(&self, key: K, delay: Duration) {
        self.add_with(key, later(Instant::now(), delay), 0);
    }

    /// Wants the key looked at from `due` on, with a priority.
    pub fn add_with(&self, key: K, due: Instant, priority: Priority) {
        let rank = match BACKGROUND_AGE.get() {
            Some(age) => rank(priority.saturating_sub(BACKGROUND), age),
            None => rank(priority, 0),
        };
        if self.lock().add(key, due, rank, Instant::now()) {
            self.shared.changed.notify_one();
        }
    }

    /// Wants the key looked at after a wait that doubles with each call until [`Queue::forget`].
    pub fn retry(&self, key: K) {
        self.retry_with(key, 0);
    }

    /// The same, but at least and at most after these.
    pub fn retry_within(&self, key: K, least: Duration, most: Duration) {
        let now = Instant::now();
        if self.lock().retry(key, rank(0, 0), now, least..=most) {
            self.shared.changed.notify_one();
        }
    }

    /// The same as [`Queue::retry`], with a priority once it is due.
    pub fn retry_with(&self, key: K, priority: Priority) {
        let always = Duration::ZERO..=Duration::MAX;
        if self
            .lock()
            .retry(key, rank(priority, 0), Instant::now(), always)
        {
            self.shared.changed.notify_one();
        }
    }

    /// The key is well: its next failure is the first again.
    pub fn forget(&self, key: &K) {
        self.lock().forget(key);
    }

    /// How often the key failed since it was well.
    #[must_use]
    pub fn failures(&self, key: &K) -> u32 {
        self.lock().failures(key)
    }

    /// Drops a key that waits, as if it had never been added; one that is being looked at is not looked at again.
    pub fn remove(&self, key: &K) {
        self.lock().remove(key);
    }

    /// Waits for a key that is due; `None` once the queue is closed. Dropping the future loses nothing.
    pub async fn take(&self) -> Option<Taken<K>> {
        self.take_by(None).await
    }

    /// The same, but a key that was added [`in_the_background`] only when it is one's turn. Whoever waits for that still
    /// gets other keys.
    pub async fn take_in_turn(&self, turns: &Turns) -> Option<Taken<K>> {
        self.take_by(Some(turns)).await
    }

    async fn take_by(&self, turns: Option<&Turns>) -> Option<Taken<K>> {
        let mut turn = None;
        loop {
            // Registered before looking, so that nothing added in between is missed.
            let changed = self.shared.changed.notified();
            let (next, waits_for_turn) = {
                let mut state = self.lock();
                if state.is_closed() {
                    // Pass it on: each waiter takes one permit.
                    self.shared.changed.notify_one();
                    return None;
                }
                let now = Instant::now();
                if state.has_background(now) {
                    turn = turn.or_else(|| turns?.try_take());
                }
                let is_any = turns.is_none() || turn.is_some();
                if let Some((key, waited, rank)) = state.take(is_any, now) {
                    if state.has_ready() {
                        self.shared.changed.notify_one();
                    }
                    return Some(Taken {
                        queue: self.clone(),
                        key,
                        waited,
                        turn: turn.filter(|_| is_in_background(rank)),
                    });
                }
                (state.next_due(), state.has_ready())
            };
            // Somebody else took what this was for.
            turn = None;
            let due = async {
                match next {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            let next_turn = async {
                match turns.filter(|_| waits_for_turn) {
                    Some(turns) => turns.take().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = changed => {}
                () = due => {}
                taken = next_turn => turn = Some(taken),
            }
        }
    }

    /// Ends the queue: what is added is ignored and everybody who waits is told.
    pub fn close(&self) {
        self.lock().close();
        self.shared.changed.notify_one();
    }

    /// How full it is and what went through.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.lock().counts(Instant::now())
    }

    /// For whoever counts from outside, as long as the queue is there.
    #[must_use]
    pub fn gauge(&self) -> Gauge<K> {
        Gauge {
            shared: Arc::downgrade(&self.shared),
        }
    }

    /// Whether nothing is due at this moment and nobody looks at anything.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let counts = self.counts();
        counts.ready == 0 && counts.running == 0
    }

    fn finish(&self, key: &K) {
        if self.lock().finish(key, Instant::now()) {
            self.shared.changed.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        // Nothing that runs under the lock leaves it half changed.
        let state = self.shared.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Clone + Eq + Hash> Gauge<K> {
    /// How full the queue is and what went through; `None` once it is closed or gone.
    #[must_use]
    pub fn counts(&self) -> Option<Counts> {
        let queue = Queue {
            shared: self.shared.upgrade()?,
        };
        let mut state = queue.lock();
        (!state.is_closed()).then(|| state.counts(Instant::now()))
    }
}

impl<K> Clone for Queue<K> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<K: Clone + Eq + Hash> Default for Queue<K> {
    fn default() -> Self {
        Self::new(RetryAfter::default())
    }
}

impl<K: Clone + Eq + Hash> std::fmt::Debug for Queue<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Queue").field(&self.counts()).finish()
    }
}

impl<K: Clone + Eq + Hash> Taken<K> {
    /// What to look at.
    #[must_use]
    pub fn key(&self) -> &K {
        &self.key
    }

    /// The turn that it was taken in, if it needed one; others wait until it is dropped.
    #[must_use]
    pub fn turn(&mut self) -> Option<Turn> {
        self.turn.take()
    }

    /// How long it was due before a worker took it.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.waited
    }
}

/// Also when a worker panics or is dropped: the key is free again.
impl<K: Clone + Eq + Hash> Drop for Taken<K> {
    fn drop(&mut self) {
        self.queue.finish(&self.key);
    }
}

fn later(now: Instant, delay: Duration) -> Instant {
    // A wait beyond what the clock can count is as good as a century.
    now.checked_add(delay)
        .unwrap_or_else(|| now + Duration::from_secs(100 * 365 * 86_400))
}
