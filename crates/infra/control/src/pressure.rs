//! Whether more waits of what everybody waits for than can be done at once.
//!
//! Some controllers bring things on their way, and others tell what became of them. What is told can wait a moment, and is
//! told once for several changes then; so those who tell ask here first, and few of them write at once.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runtime::{Queue, Turns};
use tokio::sync::{Semaphore, SemaphorePermit};

/// So many keys that are due are more than the workers are about to take.
const HIGH: usize = 8;

/// What waits in the queues of all urgent controllers, and who may report; clones are the same.
#[derive(Clone)]
pub struct Pressure {
    queues: Arc<Mutex<Queues>>,
    turns: Arc<Semaphore>,
    /// Who may look at what was there before anybody looked.
    pub(crate) background: Turns,
}

/// Lets its holder write a report.
#[must_use = "others wait for the turn until it is dropped"]
pub struct Turn<'p> {
    _permit: SemaphorePermit<'p>,
}

#[derive(Default)]
struct Queues {
    next: u64,
    waiting: BTreeMap<u64, Box<dyn Fn() -> usize + Send>>,
}

/// Counts a queue for as long as it is held.
#[must_use = "a queue presses no longer when this is dropped"]
pub struct Counted {
    pressure: Pressure,
    id: u64,
}

impl Pressure {
    /// With so many looks in the background at once.
    #[cfg(test)]
    pub(crate) fn for_looks(at_once: usize) -> Self {
        Self {
            background: Turns::new(at_once),
            ..Self::default()
        }
    }

    /// Whether those who can wait should.
    #[must_use]
    pub fn is_high(&self) -> bool {
        self.lock()
            .waiting
            .values()
            .any(|waiting| waiting() >= HIGH)
    }

    /// Waits until it is one's turn to write a report.
    pub async fn turn(&self) -> Turn<'_> {
        let permit = self.turns.acquire().await;
        Turn {
            _permit: permit.expect("invariant: nobody closes the semaphore"),
        }
    }

    /// Counts a queue too.
    pub(crate) fn count<K>(&self, queue: &Queue<K>) -> Counted
    where
        K: Clone + Eq + Hash + Send + 'static,
    {
        let queue = queue.clone();
        self.count_by(move || queue.counts().ready)
    }

    /// Counts what waits in somebody's own sort of queue. It is asked often, and must not ask here in turn.
    pub fn count_by(&self, waiting: impl Fn() -> usize + Send + 'static) -> Counted {
        let mut queues = self.lock();
        let id = queues.next;
        queues.next += 1;
        queues.waiting.insert(id, Box::new(waiting));
        drop(queues);
        Counted {
            pressure: self.clone(),
            id,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        // Nothing that runs under the lock leaves it half changed.
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Pressure {
    fn default() -> Self {
        Self {
            queues: Arc::default(),
            turns: Arc::new(Semaphore::new(turns())),
            background: Turns::new(looks()),
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.pressure.lock().waiting.remove(&self.id);
    }
}

impl fmt::Debug for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counted").finish_non_exhaustive()
    }
}

impl fmt::Debug for Pressure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pressure").finish_non_exhaustive()
    }
}

/// How many reports are written at once, in all parts together: enough to keep the processors busy when there is nothing
/// else, since each waits for the disk more than it computes, and few enough that whatever comes is not behind hundreds of
/// them. More wait for their turn, in order.
fn turns() -> usize {
    const PER_PROCESSOR: usize = 4;
    processors() * PER_PROCESSOR
}

/// How many looks in the background are under way at once, in all parts together: enough to keep the processors busy, since
/// most of them only compute.
fn looks() -> usize {
    const PER_PROCESSOR: usize = 2;
    processors() * PER_PROCESSOR
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(2, std::num::NonZero::get)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use runtime::RetryAfter;

    use super::*;

    #[test]
    fn only_keys_that_wait_for_a_worker_press() {
        let pressure = Pressure::default();
        let (one, other) = (
            Queue::new(RetryAfter::default()),
            Queue::new(RetryAfter::default()),
        );
        let counted = (pressure.count(&one), pressure.count(&other));
        for key in 0..HIGH {
            assert!(!pressure.is_high());
            one.add(key);
            other.add_after(key, Duration::from_secs(60));
        }
        assert!(pressure.is_high());
        // Whoever is gone presses no longer.
        drop(counted);
        assert!(!pressure.is_high());
    }

    #[tokio::test(start_paused = true)]
    async fn few_report_at_once() {
        let pressure = Pressure::default();
        let mut held = Vec::new();
        for _ in 0..turns() {
            held.push(pressure.turn().await);
        }
        let next = tokio::time::timeout(Duration::from_secs(1), pressure.turn());
        assert!(next.await.is_err());
        held.clear();
        let _turn = pressure.turn().await;
    }
}
