//! Owners that went a moment ago so that what they owned stays (`Orphan`).
//!
//! The bonds are cut of all that is in view when an owner goes. What was made in the same moment, and what is given to it by
//! somebody who has not seen it go, comes into view later, with an owner that is not there, and would be taken for garbage.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long a write that was decided on before an owner went may take until it is seen. Upstream: not at all.
const REMEMBERED: Duration = Duration::from_secs(10);

/// The uids of such owners.
#[derive(Default)]
pub(super) struct Left {
    uids: Mutex<HashMap<String, Instant>>,
}

impl Left {
    pub(super) fn add(&self, uid: &str) {
        let mut uids = self.lock();
        // Nobody comes back for the old ones, so that there are never more than go in that time.
        uids.retain(|_, since| since.elapsed() < REMEMBERED);
        uids.insert(uid.to_owned(), Instant::now());
    }

    pub(super) fn remove(&self, uid: &str) {
        self.lock().remove(uid);
    }

    pub(super) fn contains(&self, uid: &str) -> bool {
        let since = self.lock().get(uid).copied();
        since.is_some_and(|since| since.elapsed() < REMEMBERED)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.uids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn they_are_remembered_for_a_while() {
        let left = Left::default();
        for uid in ["a", "b"] {
            left.add(uid);
        }
        left.remove("b");
        assert!(left.contains("a") && !left.contains("b") && !left.contains("c"));
        tokio::time::advance(REMEMBERED).await;
        assert!(!left.contains("a"));
        left.add("c");
        assert_eq!(left.lock().len(), 1);
    }
}
