//! Uids that were seen to go. A uid never comes back.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many are remembered; the oldest is forgotten first. Forgetting costs a question to the server and nothing else.
const ROOM: usize = 16_384;

/// Uids that were seen to go.
#[derive(Default)]
pub(super) struct Absent {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    uids: HashSet<String>,
    order: VecDeque<String>,
}

impl Absent {
    pub(super) fn add(&self, uid: &str) {
        let mut inner = self.lock();
        if uid.is_empty() || !inner.uids.insert(uid.to_owned()) {
            return;
        }
        inner.order.push_back(uid.to_owned());
        if inner.order.len() > ROOM
            && let Some(oldest) = inner.order.pop_front()
        {
            inner.uids.remove(&oldest);
        }
    }

    pub(super) fn contains(&self, uid: &str) -> bool {
        self.lock().uids.contains(uid)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_first() {
        let absent = Absent::default();
        absent.add("");
        for number in 0..=ROOM {
            absent.add(&number.to_string());
            absent.add(&number.to_string());
        }
        assert!(!absent.contains("") && !absent.contains("0") && absent.contains("1"));
        assert!(absent.contains(&ROOM.to_string()));
    }
}
