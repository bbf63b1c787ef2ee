//! What a transaction does to the state: preconditions, revisions, times to live. Durability is the caller's.

use std::sync::Arc;

use crate::embedded::clock::to_millis;
use crate::embedded::deadlines::Deadlines;
use crate::embedded::record::{Record, RecordOp};
use crate::embedded::state::State;
use crate::entry::Event;
use crate::error::{CommitError, RenewError};
use crate::key::{Key, Revision};
use crate::txn::{Committed, Conflict, Op, Outcome, Txn};

/// How many keys expire in one transaction.
const EXPIRE_AT_ONCE: usize = 1024;

/// The state being written, which is ahead of the one published, and when its keys expire.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) state: State,
    deadlines: Deadlines,
}

impl Ledger {
    pub(crate) fn new(state: State) -> Self {
        Self {
            deadlines: Deadlines::of(&state),
            state,
        }
    }

    /// When the next key expires.
    pub(crate) fn next_expiry(&self) -> Option<u64> {
        self.deadlines.first()
    }

    /// Performs a transaction; `log` gets what must be kept of it.
    pub(crate) fn commit(
        &mut self,
        txn: Txn,
        now: u64,
        log: impl FnOnce(&Record),
    ) -> Result<Committed, CommitError> {
        self.check(&txn)?;
        // Deletions of nothing are no change, and a transaction without change takes no revision.
        let exists: Vec<bool> = txn
            .ops
            .iter()
            .map(|op| self.changes_something(op))
            .collect();
        let ops: Vec<RecordOp> = txn
            .ops
            .into_iter()
            .zip(&exists)
            .filter(|(_, exists)| **exists)
            .map(|(op, _)| to_record(op, now))
            .collect();
        let events = if ops.is_empty() {
            Arc::from([])
        } else {
            self.write(now, ops, log)
        };
        let mut events = events.iter();
        let outcome = |exists: bool| match exists.then(|| events.next()).flatten() {
            Some(event) => Outcome {
                current: event.current.clone(),
                previous: event.previous.clone(),
            },
            None => Outcome {
                current: None,
                previous: None,
            },
        };
        let outcomes = exists.into_iter().map(outcome).collect();
        Ok(Committed {
            revision: Revision(self.state.revision),
            outcomes,
        })
    }

    /// Gives a key its whole time to live again.
    pub(crate) fn renew(
        &mut self,
        key: Key,
        now: u64,
        log: impl FnOnce(&Record),
    ) -> Result<(), RenewError> {
        if self.state.entry(key.as_ref()).is_none() {
            return Err(RenewError::Missing { key });
        }
        let Some(expiry) = self.state.expiries.get(&key).copied() else {
            return Err(RenewError::Lasting { key });
        };
        let deadline = now.saturating_add(expiry.ttl);
        self.state.renew(&key, expiry.modified, deadline);
        self.deadlines
            .change(&key, Some(expiry.deadline), self.deadline(&key));
        log(&Record::Renew {
            key,
            modified: expiry.modified,
            deadline,
        });
        Ok(())
    }

    /// Deletes what is due.
    pub(crate) fn expire(&mut self, now: u64, log: impl FnOnce(&Record)) {
        let mut due = self.deadlines.due(now, EXPIRE_AT_ONCE);
        if due.is_empty() {
            return;
        }
        due.sort_unstable();
        let ops = due.into_iter().map(|key| RecordOp::Delete { key });
        self.write(now, ops.collect(), log);
    }

    fn check(&self, txn: &Txn) -> Result<(), CommitError> {
        for (index, check) in txn.checks.iter().enumerate() {
            let current = self.state.entry(check.key.as_ref());
            if !check.expect.holds(current.map(|entry| &**entry)) {
                let revision = Revision(self.state.revision);
                let conflict = Conflict {
                    index,
                    check: check.clone(),
                    current: current.cloned(),
                    revision,
                };
                return Err(CommitError::Conflict(Box::new(conflict)));
            }
        }
        Ok(())
    }

    fn changes_something(&self, op: &Op) -> bool {
        match op {
            Op::Put { .. } => true,
            Op::Delete { key } => self.state.entry(key.as_ref()).is_some(),
        }
    }

    fn write(&mut self, now: u64, ops: Vec<RecordOp>, log: impl FnOnce(&Record)) -> Arc<[Event]> {
        for op in &ops {
            let (key, after) = match op {
                RecordOp::Put { key, deadline, .. } => (key, (*deadline > 0).then_some(*deadline)),
                RecordOp::Delete { key } => (key, None),
            };
            // A transaction names no key twice, so the state knows what each one's deadline is.
            self.deadlines.change(key, self.deadline(key), after);
        }
        let record = Record::Txn {
            revision: self.state.revision.saturating_add(1),
            time: now,
            ops,
        };
        log(&record);
        let Record::Txn { ops, .. } = record else {
            return Arc::from([]);
        };
        self.state.apply(now, ops)
    }

    fn deadline(&self, key: &Key) -> Option<u64> {
        self.state.expiries.get(key).map(|expiry| expiry.deadline)
    }
}

fn to_record(op: Op, now: u64) -> RecordOp {
    match op {
        Op::Delete { key } => RecordOp::Delete { key },
        Op::Put { key, value, ttl } => {
            let ttl = ttl.map_or(0, to_millis);
            let deadline = if ttl == 0 { 0 } else { now.saturating_add(ttl) };
            RecordOp::Put {
                key,
                value,
                ttl,
                deadline,
            }
        }
    }
}
