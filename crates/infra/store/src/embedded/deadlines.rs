//! Which keys are due when: exactly one element for each key that has a time to live, however often it is renewed.

use std::collections::BTreeSet;

use crate::embedded::state::State;
use crate::key::Key;

/// Deadlines, soonest first.
#[derive(Debug, Default)]
pub(crate) struct Deadlines(BTreeSet<(u64, Key)>);

impl Deadlines {
    /// Those of a state.
    pub(crate) fn of(state: &State) -> Self {
        let expiries = state.expiries.iter();
        Self(
            expiries
                .map(|(key, expiry)| (expiry.deadline, key.clone()))
                .collect(),
        )
    }

    /// Notes that a key's deadline changes. What it was comes from the state before the change.
    pub(crate) fn change(&mut self, key: &Key, before: Option<u64>, after: Option<u64>) {
        if let Some(before) = before {
            self.0.remove(&(before, key.clone()));
        }
        if let Some(after) = after {
            self.0.insert((after, key.clone()));
        }
    }

    /// The soonest.
    pub(crate) fn first(&self) -> Option<u64> {
        self.0.first().map(|(deadline, _)| *deadline)
    }

    /// The keys that are due, soonest first, at most so many. They stay noted until their deadline changes.
    pub(crate) fn due(&self, now: u64, limit: usize) -> Vec<Key> {
        self.0
            .iter()
            .take_while(|(deadline, _)| *deadline <= now)
            .take(limit)
            .map(|(_, key)| key.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renewing_a_key_any_number_of_times_keeps_one_deadline() {
        let key = Key::new("key").unwrap();
        let mut deadlines = Deadlines::default();
        deadlines.change(&key, None, Some(0));
        for renewal in 1..=1000 {
            deadlines.change(&key, Some(renewal - 1), Some(renewal));
        }
        assert_eq!(deadlines.0.len(), 1);
        assert_eq!(deadlines.first(), Some(1000));
        assert_eq!(deadlines.due(999, 10), []);
        assert_eq!(deadlines.due(1000, 10), std::slice::from_ref(&key));
        deadlines.change(&key, Some(1000), None);
        assert_eq!(deadlines.first(), None);
    }
}
