//! Which keys are due, and which will be.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use object::time::Time;

/// A controller, by its place in the table, and what it is to look at.
pub(crate) type Key = (u8, Arc<str>);

/// Keys that are due now or later; one entry for each, the earlier time wins.
#[derive(Default)]
pub(crate) struct Queue {
    due: BTreeSet<Key>,
    later: BTreeMap<Key, Time>,
    by_time: BTreeSet<(Time, Key)>,
}

impl Queue {
    /// Is due now.
    pub(crate) fn push(&mut self, key: Key) {
        self.due.insert(key);
    }

    /// Is due at a time.
    pub(crate) fn push_at(&mut self, key: Key, time: Time) {
        if let Some(known) = self.later.get(&key) {
            if *known <= time {
                return;
            }
            self.by_time.remove(&(*known, key.clone()));
        }
        self.later.insert(key.clone(), time);
        self.by_time.insert((time, key));
    }

    /// Everything that is due. Whatever else a key waited for is forgotten: its next plan says when to look again.
    pub(crate) fn take_due(&mut self, now: Time) -> Vec<Key> {
        while let Some((time, key)) = self.by_time.first().cloned()
            && time <= now
        {
            self.by_time.remove(&(time, key.clone()));
            self.later.remove(&key);
            self.due.insert(key);
        }
        let due: Vec<Key> = std::mem::take(&mut self.due).into_iter().collect();
        for key in &due {
            if let Some(time) = self.later.remove(key) {
                self.by_time.remove(&(time, key.clone()));
            }
        }
        due
    }

    /// When the next key is due that is not due yet.
    pub(crate) fn next_time(&self) -> Option<Time> {
        self.by_time.first().map(|(time, _)| *time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earlier_time_wins_and_each_key_is_there_once() {
        let at = Time::from_unix_seconds;
        let key = |name: &str| (0, Arc::from(name));
        let mut queue = Queue::default();
        queue.push_at(key("a"), at(30));
        queue.push_at(key("a"), at(20));
        queue.push_at(key("a"), at(40));
        queue.push_at(key("b"), at(25));
        assert_eq!(queue.next_time(), Some(at(20)));
        assert_eq!(queue.take_due(at(19)), []);
        assert_eq!(queue.take_due(at(20)), [key("a")]);
        assert_eq!(queue.take_due(at(24)), []);
        queue.push(key("b"));
        assert_eq!(queue.take_due(at(24)), [key("b")]);
        assert_eq!(queue.next_time(), None);
    }
}
