//! What the store holds and how it tells of change.

use std::sync::Arc;

use bytes::Bytes;

use crate::key::{Key, Revision};

/// One key and its value as of one revision. Never changes once written: a new value is a new entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The name.
    pub key: Key,
    /// What was put, shared and never copied on the way out.
    pub value: Bytes,
    /// When the key last came into being.
    pub created: Revision,
    /// When this value was put.
    pub modified: Revision,
    /// How often the key was put since it came into being: 1 on creation.
    pub version: u64,
}

/// One key changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Which key.
    pub key: Key,
    /// What it holds now; `None` when it was deleted or expired.
    pub current: Option<Arc<Entry>>,
    /// What it held before; `None` when the key is new. A deletion always had something before, but an etcd that
    /// compacted it meanwhile can no longer say what.
    pub previous: Option<Arc<Entry>>,
}

impl Event {
    /// Whether the key is gone.
    #[must_use]
    pub fn is_delete(&self) -> bool {
        self.current.is_none()
    }

    /// Whether the key came into being.
    #[must_use]
    pub fn is_create(&self) -> bool {
        self.current
            .as_ref()
            .is_some_and(|entry| entry.version == 1)
    }
}

/// Everything one transaction changed among the watched keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Changes {
    /// The revision of the transaction.
    pub revision: Revision,
    /// Its changes, in the order the transaction listed them; at most one for each key, never empty.
    pub events: Arc<[Event]>,
}
