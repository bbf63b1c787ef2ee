//! What time it is, for times to live and the age of history.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Where a store takes the time from.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The wall clock when the store was opened, then monotonic: setting the clock expires nothing.
    System,
    /// Moves only when told.
    Manual(ManualClock),
}

/// A clock for tests. Clones show the same time.
#[derive(Clone, Default)]
pub struct ManualClock(Arc<Manual>);

#[derive(Default)]
struct Manual {
    millis: AtomicU64,
    wakers: Mutex<Vec<Waker>>,
}

type Waker = Box<dyn Fn() + Send>;

impl std::fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ManualClock({} ms)", self.now())
    }
}

impl ManualClock {
    /// A clock that stands at a time since 1970.
    #[must_use]
    pub fn at(since_epoch: Duration) -> Self {
        let clock = Self::default();
        clock
            .0
            .millis
            .store(to_millis(since_epoch), Ordering::SeqCst);
        clock
    }

    /// Moves the clock and lets every store that uses it look at what is due.
    pub fn advance(&self, by: Duration) {
        self.0.millis.fetch_add(to_millis(by), Ordering::SeqCst);
        let wakers = self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        for wake in wakers.iter() {
            wake();
        }
    }

    pub(crate) fn now(&self) -> u64 {
        self.0.millis.load(Ordering::SeqCst)
    }
}

/// A clock in use: milliseconds since 1970 that never go back.
#[derive(Debug)]
pub(crate) enum Ticker {
    System { epoch: u64, started: Instant },
    Manual(ManualClock),
}

impl Ticker {
    /// Starts reading a clock; `wake` is called when a manual one is moved.
    pub(crate) fn start(clock: Clock, wake: impl Fn() + Send + 'static) -> Self {
        match clock {
            Clock::System => {
                let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
                Self::System {
                    epoch: to_millis(since_epoch.unwrap_or_default()),
                    started: Instant::now(),
                }
            }
            Clock::Manual(manual) => {
                let mut wakers = manual
                    .0
                    .wakers
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                wakers.push(Box::new(wake));
                drop(wakers);
                Self::Manual(manual)
            }
        }
    }

    /// Now, in milliseconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        match self {
            Self::System { epoch, started } => epoch.saturating_add(to_millis(started.elapsed())),
            Self::Manual(manual) => manual.now(),
        }
    }

    /// How long to wait for a moment; `None` when only being woken helps.
    pub(crate) fn wait_until(&self, millis: u64) -> Option<Duration> {
        match self {
            Self::System { .. } => Some(Duration::from_millis(millis.saturating_sub(self.now()))),
            Self::Manual(manual) => (millis <= manual.now()).then_some(Duration::ZERO),
        }
    }
}

/// Whole milliseconds; more than fit are as good as for ever.
pub(crate) fn to_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
