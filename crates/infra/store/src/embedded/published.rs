//! What readers see: the newest state, and who is told of the next.

use std::sync::{Arc, PoisonError, RwLock};

use crate::embedded::state::State;
use crate::embedded::watch::Watchers;

/// The state readers read and the watchers of it.
#[derive(Debug)]
pub(crate) struct Published {
    state: RwLock<Arc<State>>,
    pub(crate) watchers: Watchers,
}

impl Published {
    pub(crate) fn new(state: State) -> Self {
        Self {
            watchers: Watchers::new(state.revision),
            state: RwLock::new(Arc::new(state)),
        }
    }

    /// The newest published state.
    pub(crate) fn state(&self) -> Arc<State> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes a state the newest. What it replaces is let go outside the lock.
    pub(crate) fn publish(&self, state: Arc<State>) {
        let mut current = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let replaced = std::mem::replace(&mut *current, state);
        drop(current);
        drop(replaced);
    }
}
