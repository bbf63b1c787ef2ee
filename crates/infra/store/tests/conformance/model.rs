//! The plainest store there could be: every state it ever had, in a list.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use store::{Changes, Check, Entry, Event, Key, Op, Query, Revision, Txn};

/// What the store under test should hold. It learns revisions from the store, as they need not be consecutive.
#[derive(Debug, Default)]
pub(crate) struct Model {
    /// Revisions and the states they led to, oldest first.
    states: Vec<(Revision, BTreeMap<Key, Arc<Entry>>)>,
    pub(crate) log: Vec<Changes>,
    pub(crate) compacted: Revision,
    now: Duration,
    /// Time to live and deadline.
    expiries: BTreeMap<Key, (Duration, Duration)>,
}

impl Model {
    pub(crate) fn new(revision: Revision) -> Self {
        Self {
            states: vec![(revision, BTreeMap::new())],
            ..Self::default()
        }
    }

    pub(crate) fn revision(&self) -> Revision {
        self.states.last().unwrap().0
    }

    /// A known revision some steps back.
    pub(crate) fn back(&self, steps: usize) -> Revision {
        self.states[self.states.len().saturating_sub(1 + steps)].0
    }

    pub(crate) fn state(&self, at: Revision) -> &BTreeMap<Key, Arc<Entry>> {
        let index = self.states.partition_point(|(revision, _)| *revision <= at);
        &self.states[index.checked_sub(1).unwrap()].1
    }

    pub(crate) fn current(&self) -> &BTreeMap<Key, Arc<Entry>> {
        self.state(self.revision())
    }

    /// The first check that does not hold.
    pub(crate) fn conflict(&self, checks: &[Check]) -> Option<usize> {
        let current = self.current();
        checks.iter().position(|check| {
            !check
                .expect
                .holds(current.get(&check.key).map(|entry| &**entry))
        })
    }

    /// Whether a transaction would change anything.
    pub(crate) fn changes_something(&self, txn: &Txn) -> bool {
        txn.ops
            .iter()
            .any(|op| matches!(op, Op::Put { .. }) || self.current().contains_key(op.key()))
    }

    pub(crate) fn apply(&mut self, revision: Revision, ops: &[Op]) {
        let mut state = self.current().clone();
        let mut events = Vec::new();
        for op in ops {
            let key = op.key().clone();
            let previous = state.get(&key).cloned();
            match op {
                Op::Put { value, ttl, .. } => {
                    let entry = Arc::new(Entry {
                        key: key.clone(),
                        value: value.clone(),
                        created: previous.as_ref().map_or(revision, |entry| entry.created),
                        modified: revision,
                        version: previous.as_ref().map_or(1, |entry| entry.version + 1),
                    });
                    state.insert(key.clone(), Arc::clone(&entry));
                    match ttl {
                        Some(ttl) => self.expiries.insert(key.clone(), (*ttl, self.now + *ttl)),
                        None => self.expiries.remove(&key),
                    };
                    events.push(Event {
                        key,
                        current: Some(entry),
                        previous,
                    });
                }
                Op::Delete { .. } => {
                    self.expiries.remove(&key);
                    if state.remove(&key).is_some() {
                        events.push(Event {
                            key,
                            current: None,
                            previous,
                        });
                    }
                }
            }
        }
        self.states.push((revision, state));
        self.log.push(Changes {
            revision,
            events: events.into(),
        });
    }

    /// Restarts a key's time; `None` when it has none.
    pub(crate) fn renew(&mut self, key: &Key) -> Option<()> {
        let (ttl, deadline) = self.expiries.get_mut(key)?;
        *deadline = self.now + *ttl;
        Some(())
    }

    /// Moves the time and says which keys are due.
    pub(crate) fn pass(&mut self, time: Duration) -> BTreeSet<Key> {
        self.now += time;
        let due = self
            .expiries
            .iter()
            .filter(|(_, (_, deadline))| *deadline <= self.now);
        due.map(|(key, _)| key.clone()).collect()
    }

    /// Entries, and how many were left out.
    pub(crate) fn range(&self, query: &Query) -> (Vec<Arc<Entry>>, usize) {
        let state = self.state(query.at.unwrap_or(self.revision()));
        let all = state
            .values()
            .filter(|entry| query.span.contains(entry.key.as_ref()));
        let limit = if query.limit == 0 {
            usize::MAX
        } else {
            query.limit
        };
        let found: Vec<_> = all.clone().take(limit).cloned().collect();
        let left = all.count() - found.len();
        (found, left)
    }

    /// What a watch should have delivered.
    pub(crate) fn changes(&self, prefix: &[u8], after: Revision) -> Vec<Changes> {
        let concerning = |changes: &Changes| {
            let events = changes
                .events
                .iter()
                .filter(|event| event.key.as_ref().starts_with(prefix));
            Changes {
                revision: changes.revision,
                events: events.cloned().collect(),
            }
        };
        let later = self.log.iter().filter(|changes| changes.revision > after);
        later
            .map(concerning)
            .filter(|changes| !changes.events.is_empty())
            .collect()
    }
}
