//! A member that does not answer those who are sent through to it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::apply::breaker::Breaker;

/// Whether a member is worth a call, and why not.
#[derive(Debug, Default)]
pub(super) struct Silence {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    breaker: Breaker,
    cause: String,
}

impl Silence {
    /// How long the member is still spared, and what it last failed with; `None` if it may be called.
    pub(super) fn lasts(&self) -> Option<(Duration, String)> {
        let mut state = self.lock();
        let wait = state.breaker.wait(Instant::now())?;
        Some((wait, state.cause.clone()))
    }

    /// It answered, whatever it was.
    pub(super) fn is_over(&self) {
        self.lock().breaker.answered();
    }

    /// It did not answer. One that is known not to be well gets no second chance.
    pub(super) fn goes_on(&self, cause: &str, is_well: bool) {
        let mut state = self.lock();
        cause.clone_into(&mut state.cause);
        match is_well {
            true => state.breaker.silent(Instant::now()),
            false => state.breaker.still_silent(Instant::now()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that runs under the lock leaves it half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
