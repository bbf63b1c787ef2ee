//! Turns that take long.
//!
//! Nobody can be made to end a turn. So a thread outside of the runtime looks at the turns a hundred times a second: one
//! that takes long no longer counts as a place, and others go on beside it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::Thread;
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::time::Instant;

use super::{Shared, State, Turns};

/// How long a turn may take before it counts as long, and how often somebody looks.
const LONG: Duration = Duration::from_millis(10);
/// After so many looks at nothing the watcher sleeps until there is a turn.
const IDLE_LOOKS: u32 = 100;

/// The thread that looks at the turns, if there is one.
#[derive(Default)]
pub(super) struct Watcher {
    thread: OnceLock<Thread>,
    is_asleep: AtomicBool,
}

impl Turns {
    /// Has the turns watched, in the runtime of the caller. Without a thread to spare, or on a runtime of one thread, where
    /// it would help nobody, they are as they were.
    pub fn watch(&self) {
        let runtime = Handle::try_current();
        if !runtime.is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread) {
            return;
        }
        let shared = Arc::downgrade(&self.shared);
        let builder = std::thread::Builder::new().name("turns".to_owned());
        if let Ok(thread) = builder.spawn(move || look(&shared)) {
            _ = self.shared.watcher.thread.set(thread.thread().clone());
        }
    }
}

impl Watcher {
    /// There is a turn again.
    pub(super) fn wake(&self) {
        if self.is_asleep.load(Ordering::Relaxed)
            && self.is_asleep.swap(false, Ordering::AcqRel)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // It finds that there is nothing left to look at.
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}

fn look(turns: &Weak<Shared>) {
    let (mut known, mut idle) = (0, 0);
    loop {
        std::thread::park_timeout(LONG);
        let Some(shared) = turns.upgrade() else {
            return;
        };
        shared.pass_by_long_turns(Instant::now());
        let (count, is_running) = {
            let state = shared.lock();
            (state.count, !state.running.is_empty())
        };
        idle = if is_running || count != known {
            0
        } else {
            idle + 1
        };
        known = count;
        if idle < IDLE_LOOKS {
            continue;
        }
        shared.watcher.is_asleep.store(true, Ordering::Release);
        // Whoever came since has not seen that there is somebody to wake.
        if shared.lock().count == known {
            drop(shared);
            std::thread::park();
        } else {
            shared.watcher.is_asleep.store(false, Ordering::Release);
        }
        idle = 0;
    }
}

impl Shared {
    /// Lets others go on beside turns that take long.
    pub(super) fn pass_by_long_turns(&self, now: Instant) {
        let mut state = self.lock();
        if state.mark_long(now) {
            self.hand_on(state);
        }
    }
}

impl State {
    /// Marks turns that take long; says whether there are new ones.
    fn mark_long(&mut self, now: Instant) -> bool {
        let mut is_any = false;
        for turn in &mut self.running {
            let is_long = now.saturating_duration_since(turn.since) >= LONG;
            is_any |= is_long && !turn.is_long;
            turn.is_long = is_long;
        }
        is_any
    }
}
