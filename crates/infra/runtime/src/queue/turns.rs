//! How many keys are looked at at once that were added in the background.
//!
//! After a restart everything is looked at once, by thousands of workers if there are as many members. Each of them hands
//! the processor on after every step, but to all the others first: whatever somebody changes meanwhile would wait behind
//! thousands of steps, again and again on its way. So few of these looks are under way at once, in all queues together.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Who may look at a key in the background; clones are the same.
#[derive(Clone, Debug)]
pub struct Turns(Arc<Semaphore>);

/// Lets its holder look at one key.
#[must_use = "others wait for the turn until it is dropped"]
#[derive(Debug)]
pub struct Turn {
    _permit: OwnedSemaphorePermit,
}

impl Turns {
    /// So many at once.
    #[must_use]
    pub fn new(at_once: usize) -> Self {
        Self(Arc::new(Semaphore::new(at_once)))
    }

    /// One's turn if nobody else waits for it.
    pub(super) fn try_take(&self) -> Option<Turn> {
        let permit = Arc::clone(&self.0).try_acquire_owned().ok()?;
        Some(Turn { _permit: permit })
    }

    /// Waits for one's turn, behind all who have waited longer.
    pub(super) async fn take(&self) -> Turn {
        let permit = Arc::clone(&self.0).acquire_owned().await;
        Turn {
            _permit: permit.expect("invariant: nobody closes the semaphore"),
        }
    }
}
