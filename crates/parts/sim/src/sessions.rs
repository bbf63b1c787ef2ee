//! Sessions in containers that ended with the container: a shell somebody was attached to and left.
//!
//! Streams note how they ended, kubelets read it and write the container's status. Nothing is stored: what is running
//! when a member restarts goes on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use object::time::Time;
use tokio::sync::watch;

/// How sessions ended. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Sessions {
    ended: Arc<Mutex<BTreeMap<Container, i64>>>,
    changes: watch::Sender<u64>,
}

/// One run of a container: the pod's uid, the container's name, when it was started.
type Container = (String, String, Time);

/// As many endings as are remembered. One is read within a moment; those beyond are of pods that are gone.
const MOST: usize = 1_000;

impl Default for Sessions {
    fn default() -> Self {
        Self {
            ended: Arc::default(),
            changes: watch::Sender::new(0),
        }
    }
}

impl Sessions {
    /// Notes that a container ended with its session, and with what.
    pub(crate) fn leave(&self, uid: &str, container: &str, since: Time, code: i64) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if ended.len() >= MOST {
            ended.clear();
        }
        ended.insert((uid.to_owned(), container.to_owned(), since), code);
        drop(ended);
        self.changes.send_modify(|count| *count += 1);
    }

    /// What a container that has been running since a time was left with.
    pub(crate) fn left(&self, uid: &str, container: &str, since: Time) -> Option<i64> {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if ended.is_empty() {
            return None;
        }
        let run = (uid.to_owned(), container.to_owned(), since);
        ended.get(&run).copied()
    }

    /// Wakes whoever waits on it after every ending.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_is_of_one_run_of_one_container() {
        let (sessions, at) = (Sessions::default(), Time::from_unix_seconds);
        sessions.leave("u", "c", at(1), 3);
        for (uid, container, since, left) in [
            ("u", "c", at(1), Some(3)),
            ("u", "c", at(2), None),
            ("u", "d", at(1), None),
            ("v", "c", at(1), None),
        ] {
            assert_eq!(sessions.left(uid, container, since), left);
        }
    }
}
