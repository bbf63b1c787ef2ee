//! What a run may spend, and what it may know of the world.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use object::time::Time;

use crate::script::error::{ScriptError, ScriptProblem};

/// What one run of a script may spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many loop turns, calls and steps of a pattern search. The same script on the same object always spends the
    /// same, so that this limit alone gives the same answer everywhere.
    pub effort: u64,
    /// How many bytes beyond those of its arguments.
    pub memory: usize,
    /// How long, where [`Surroundings`] have a clock. It catches the few operations whose cost grows with their data. The
    /// clock is looked at between steps, so a run lasts longer by what a few calls take, each of them on no more data than
    /// fits into memory.
    pub time: Duration,
    /// How long a script may be, in bytes.
    pub text: usize,
}

/// What scripts can learn of the world, and tell it. The caller has clocks; rules have none.
pub trait Surroundings: Send + Sync {
    /// The time of day for `os.time` and `os.date`; they fail where there is none.
    fn now(&self) -> Option<Time>;

    /// A time that only grows, from any beginning; runs are not timed where there is none.
    fn elapsed(&self) -> Option<Duration>;

    /// Takes a line that a script printed.
    fn print(&self, line: &str);

    /// Learns that a script of a customization gave no answer.
    fn failed(&self, error: &ScriptError) {
        let _ = error;
    }
}

/// No clock, and nobody who listens.
#[derive(Clone, Copy, Debug, Default)]
pub struct Secluded;

/// Counts what the run in one machine spends.
pub(super) struct Meter {
    limits: Limits,
    surroundings: Arc<dyn Surroundings>,
    spent: AtomicU64,
    /// When the run must be over, in nanoseconds of [`Surroundings::elapsed`].
    deadline: AtomicU64,
    stopped: AtomicU8,
    /// The line at which the run was stopped; 0 if that is not known.
    line: AtomicU32,
}

/// A clock is read once in so many steps.
const STEPS_PER_LOOK: u64 = 16;

const RUNNING: u8 = 0;
const BY_EFFORT: u8 = 1;
const BY_TIME: u8 = 2;

impl Default for Limits {
    /// What the reference allows where it sets a limit: a second. A tight loop takes a fraction of that for the effort.
    fn default() -> Self {
        Self {
            effort: 5_000_000,
            memory: 32 << 20,
            time: Duration::from_secs(1),
            text: 512 << 10,
        }
    }
}

impl Surroundings for Secluded {
    fn now(&self) -> Option<Time> {
        None
    }

    fn elapsed(&self) -> Option<Duration> {
        None
    }

    fn print(&self, _: &str) {}
}

impl Meter {
    pub(super) fn new(limits: Limits, surroundings: Arc<dyn Surroundings>) -> Self {
        Self {
            limits,
            surroundings,
            spent: AtomicU64::new(0),
            deadline: AtomicU64::new(u64::MAX),
            stopped: AtomicU8::new(RUNNING),
            line: AtomicU32::new(0),
        }
    }

    /// Begins to count for a new run.
    pub(super) fn start(&self) {
        self.spent.store(0, Ordering::Relaxed);
        self.stopped.store(RUNNING, Ordering::Relaxed);
        self.line.store(0, Ordering::Relaxed);
        let deadline = self.surroundings.elapsed().map_or(u64::MAX, |now| {
            nanoseconds(now.saturating_add(self.limits.time))
        });
        self.deadline.store(deadline, Ordering::Relaxed);
    }

    /// Counts a step; `false` if it is one too many.
    pub(super) fn step(&self) -> bool {
        let spent = self.spent.fetch_add(1, Ordering::Relaxed);
        if spent >= self.limits.effort {
            self.stopped.store(BY_EFFORT, Ordering::Relaxed);
            return false;
        }
        if spent.is_multiple_of(STEPS_PER_LOOK) && self.is_late() {
            self.stopped.store(BY_TIME, Ordering::Relaxed);
            return false;
        }
        self.stopped.load(Ordering::Relaxed) == RUNNING
    }

    /// Notes the line at which the run is stopped. A script that catches the stop meets it again; the first place is
    /// where it spent too much.
    pub(super) fn stop_at(&self, line: impl FnOnce() -> Option<u32>) {
        if self.line.load(Ordering::Relaxed) == 0 {
            self.line
                .store(line().unwrap_or_default(), Ordering::Relaxed);
        }
    }

    /// Why the run was stopped, if it was.
    pub(super) fn verdict(&self) -> Option<ScriptError> {
        let problem = match self.stopped.load(Ordering::Relaxed) {
            BY_EFFORT => ScriptProblem::Effort {
                steps: self.limits.effort,
            },
            BY_TIME => ScriptProblem::Time {
                limit: self.limits.time,
            },
            _ => return None,
        };
        let line = self.line.load(Ordering::Relaxed);
        Some(ScriptError::of(problem, (line > 0).then_some(line)))
    }

    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    pub(super) fn surroundings(&self) -> &dyn Surroundings {
        &*self.surroundings
    }

    fn is_late(&self) -> bool {
        let deadline = self.deadline.load(Ordering::Relaxed);
        if deadline == u64::MAX {
            return false;
        }
        let now = self.surroundings.elapsed();
        now.is_some_and(|now| nanoseconds(now) > deadline)
    }
}

/// Half a thousand years fit.
fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX - 1)
}
