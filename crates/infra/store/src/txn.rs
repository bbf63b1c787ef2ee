//! Transactions: checks and operations that happen together or not at all.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::entry::Entry;
use crate::key::{Key, Revision};

/// The most operations, and the most checks, in one transaction: etcd's own default limit.
pub const MAX_TXN_OPS: usize = 128;

/// The most key and value bytes in one transaction. An etcd is usually set to less and says so itself.
pub const MAX_TXN_BYTES: usize = 8 * 1024 * 1024;

/// The longest time to live: some ten years, so that adding it to a clock cannot overflow.
pub const MAX_TTL: Duration = Duration::from_secs(10 * 366 * 24 * 3600);

/// What should change, provided that what is there is as expected.
///
/// ```
/// use karavel_store::{Expect, Key, Txn};
///
/// let key = Key::new("/pods/default/web")?;
/// let create = Txn::new().check(key.clone(), Expect::Absent).put(key, "{}");
/// assert_eq!(create.ops.len(), 1);
/// # Ok::<(), karavel_store::KeyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Txn {
    /// All of these must hold, or nothing happens.
    pub checks: Vec<Check>,
    /// All of these happen at one revision. No key may be named twice.
    pub ops: Vec<Op>,
}

/// A condition on one key at the moment of the commit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// The key looked at; it need not be one the transaction writes.
    pub key: Key,
    /// What must hold for it.
    pub expect: Expect,
}

/// What must hold for a key. A key without a check may be in any state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expect {
    /// There is no such key.
    Absent,
    /// There is such a key, whatever its value.
    Exists,
    /// The key holds exactly the value put at this revision.
    ModifiedAt(Revision),
}

impl Expect {
    /// Whether the state of a key is the expected one.
    #[must_use]
    pub fn holds(self, current: Option<&Entry>) -> bool {
        match self {
            Self::Absent => current.is_none(),
            Self::Exists => current.is_some(),
            Self::ModifiedAt(revision) => current.is_some_and(|entry| entry.modified == revision),
        }
    }
}

/// A change to one key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// Create the key or replace its value.
    Put {
        /// The name.
        key: Key,
        /// The new value, kept as it is: a slice of a larger buffer keeps that buffer alive.
        value: Bytes,
        /// The key is deleted this long after, unless it is put again or renewed. `None` also ends an earlier limit.
        ttl: Option<Duration>,
    },
    /// Remove the key. Nothing happens if there is none.
    Delete {
        /// The name.
        key: Key,
    },
}

impl Op {
    /// The key that is changed.
    #[must_use]
    pub fn key(&self) -> &Key {
        match self {
            Self::Put { key, .. } | Self::Delete { key } => key,
        }
    }
}

impl Txn {
    /// A transaction that does nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a condition.
    #[must_use]
    pub fn check(mut self, key: Key, expect: Expect) -> Self {
        self.checks.push(Check { key, expect });
        self
    }

    /// Adds the writing of a value that stays.
    #[must_use]
    pub fn put(mut self, key: Key, value: impl Into<Bytes>) -> Self {
        self.ops.push(Op::Put {
            key,
            value: value.into(),
            ttl: None,
        });
        self
    }

    /// Adds the writing of a value that goes after `ttl`.
    #[must_use]
    pub fn put_for(mut self, key: Key, value: impl Into<Bytes>, ttl: Duration) -> Self {
        self.ops.push(Op::Put {
            key,
            value: value.into(),
            ttl: Some(ttl),
        });
        self
    }

    /// Adds the removal of a key.
    #[must_use]
    pub fn delete(mut self, key: Key) -> Self {
        self.ops.push(Op::Delete { key });
        self
    }

    /// How many bytes of keys and values the transaction carries.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let op = |op: &Op| match op {
            Op::Put { key, value, .. } => key.as_bytes().len().saturating_add(value.len()),
            Op::Delete { key } => key.as_bytes().len(),
        };
        let checks = self.checks.iter().map(|check| check.key.as_bytes().len());
        self.ops
            .iter()
            .map(op)
            .chain(checks)
            .fold(0, usize::saturating_add)
    }

    /// Checks what every implementation relies on.
    ///
    /// # Errors
    /// When the transaction is too large, names a key twice or has a time to live that is zero or too long.
    pub fn validate(&self) -> Result<(), TxnError> {
        let count = self.ops.len().max(self.checks.len());
        if count > MAX_TXN_OPS {
            return Err(TxnError::TooMany { count });
        }
        let bytes = self.bytes();
        if bytes > MAX_TXN_BYTES {
            return Err(TxnError::TooLarge { bytes });
        }
        if let [_] = self.ops.as_slice() {
            return self.validate_ttls(); // One operation cannot collide with another: no set to build.
        }
        let mut named = BTreeSet::new();
        for op in &self.ops {
            if !named.insert(op.key()) {
                return Err(TxnError::Twice {
                    key: op.key().clone(),
                });
            }
        }
        self.validate_ttls()
    }

    fn validate_ttls(&self) -> Result<(), TxnError> {
        for op in &self.ops {
            if let Op::Put {
                key,
                ttl: Some(ttl),
                ..
            } = op
                && (ttl.as_millis() == 0 || *ttl > MAX_TTL)
            {
                return Err(TxnError::Ttl {
                    key: key.clone(),
                    ttl: *ttl,
                });
            }
        }
        Ok(())
    }
}

/// Why a transaction cannot be tried at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TxnError {
    /// More than [`MAX_TXN_OPS`] operations or checks.
    #[error("a transaction has {count} operations or checks; at most {MAX_TXN_OPS} are allowed")]
    TooMany {
        /// How many there were.
        count: usize,
    },
    /// More than [`MAX_TXN_BYTES`] of keys and values.
    #[error("a transaction has {bytes} bytes; at most {MAX_TXN_BYTES} are allowed")]
    TooLarge {
        /// How many there were.
        bytes: usize,
    },
    /// More than the etcd below is set to take.
    #[error(
        "etcd refuses the transaction: {detail}; make it smaller, or raise etcd's --max-request-bytes or --max-txn-ops"
    )]
    Refused {
        /// What etcd said.
        detail: Arc<str>,
    },
    /// Two operations on one key: their order would have no revision to show it.
    #[error("a transaction changes key {key} twice")]
    Twice {
        /// The key named twice.
        key: Key,
    },
    /// Shorter than a millisecond or longer than [`MAX_TTL`].
    #[error("key {key} has a time to live of {ttl:?}, which is too short or too long")]
    Ttl {
        /// The key put.
        key: Key,
        /// What was asked for.
        ttl: Duration,
    },
}

/// What a successful commit did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Committed {
    /// The revision of the change; the store's current one when there was nothing to change.
    pub revision: Revision,
    /// One for each operation, in order.
    pub outcomes: Vec<Outcome>,
}

/// What one operation did to its key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// What the key holds now.
    pub current: Option<Arc<Entry>>,
    /// What it held before; both are `None` when there was nothing to delete.
    pub previous: Option<Arc<Entry>>,
}

/// The first check that did not hold, and what was found instead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// Its place among [`Txn::checks`].
    pub index: usize,
    /// The check itself.
    pub check: Check,
    /// What the key holds.
    pub current: Option<Arc<Entry>>,
    /// The revision of the store at which this was found.
    pub revision: Revision,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key::new(name.to_owned()).unwrap()
    }

    #[test]
    fn transactions_out_of_bounds_are_refused_with_the_reason() {
        let many = (0..=MAX_TXN_OPS).fold(Txn::new(), |txn, n| txn.delete(key(&n.to_string())));
        let cases = [
            (Txn::new(), Ok(())),
            (Txn::new().put(key("a"), "1").delete(key("b")), Ok(())),
            (
                Txn::new().put(key("a"), "1").delete(key("a")),
                Err("a transaction changes key a twice"),
            ),
            (
                many,
                Err("a transaction has 129 operations or checks; at most 128 are allowed"),
            ),
            (
                Txn::new().put(key("a"), vec![0; MAX_TXN_BYTES]),
                Err("a transaction has 8388609 bytes; at most 8388608 are allowed"),
            ),
            (
                Txn::new().put_for(key("a"), "1", Duration::ZERO),
                Err("key a has a time to live of 0ns, which is too short or too long"),
            ),
        ];
        for (txn, expected) in cases {
            assert_eq!(
                txn.validate().map_err(|error| error.to_string()),
                expected.map_err(str::to_owned)
            );
        }
    }
}
