//! A store whose values are encrypted below some prefixes before they reach whatever keeps them.
//!
//! Readers, watchers and writers see values in the clear; the engine, its files, its backups and its peers see them
//! sealed. Values written before sealing began are read as they are; [`reseal`] seals them, and those sealed with a key
//! that is no longer the first.

mod keyring;
mod reseal;

use std::sync::Arc;

use bytes::Bytes;

pub use keyring::{KeyFileError, KeyId, Keyring, SealError};
pub use reseal::{Resealed, reseal};

use crate::embedded::Arrivals;
use crate::entry::{Changes, Entry, Event};
use crate::error::{CommitError, ReadError, WatchError};
use crate::key::{Key, Revision};
use crate::query::{Page, Query};
use crate::status::Notice;
use crate::store::{Store, Watch};
use crate::txn::{Committed, Op, Txn};

/// A store with sealed values. Clones are the same store.
#[derive(Clone, Debug)]
pub struct Sealed {
    store: Box<Store>,
    seal: Arc<Seal>,
}

/// What is sealed, and with what.
#[derive(Debug)]
struct Seal {
    ring: Keyring,
    prefixes: Vec<Bytes>,
}

/// A watch on a store with sealed values.
#[derive(Debug)]
pub struct SealedWatch {
    watch: Box<Watch>,
    seal: Arc<Seal>,
}

impl Sealed {
    /// Seals what is written below these prefixes.
    #[must_use]
    pub fn new(store: Store, ring: Keyring, prefixes: Vec<Bytes>) -> Self {
        Self {
            store: Box::new(store),
            seal: Arc::new(Seal { ring, prefixes }),
        }
    }

    /// The store below, which sees what is sealed as it is kept.
    #[must_use]
    pub fn below(&self) -> &Store {
        &self.store
    }

    pub(crate) async fn get(
        &self,
        key: &Key,
        at: Option<Revision>,
    ) -> Result<Option<Arc<Entry>>, ReadError> {
        let entry = Box::pin(self.store.get(key, at)).await?;
        self.seal.open_some(entry).map_err(unreadable)
    }

    pub(crate) async fn range(&self, query: &Query) -> Result<Page, ReadError> {
        let mut page = Box::pin(self.store.range(query)).await?;
        for entry in &mut page.entries {
            if let Some(opened) = self.seal.open(entry).map_err(unreadable)? {
                *entry = opened;
            }
        }
        Ok(page)
    }

    pub(crate) async fn commit(&self, mut txn: Txn) -> Result<Committed, CommitError> {
        let unsealable = |error| CommitError::Unavailable {
            source: Arc::new(error),
        };
        for op in &mut txn.ops {
            if let Op::Put { key, value, .. } = op
                && self.seal.covers(key)
            {
                *value = self.seal.ring.seal(key, value).map_err(unsealable)?;
            }
        }
        // What was written is written: a value that cannot be shown afterwards leaves it unknown what happened.
        let unshowable = |error| CommitError::Unknown {
            source: Arc::new(error),
        };
        match Box::pin(self.store.commit(txn)).await {
            Ok(mut committed) => {
                for outcome in &mut committed.outcomes {
                    let (current, previous) = (outcome.current.take(), outcome.previous.take());
                    outcome.current = self.seal.open_some(current).map_err(unshowable)?;
                    outcome.previous = self.seal.open_some(previous).map_err(unshowable)?;
                }
                Ok(committed)
            }
            Err(CommitError::Conflict(mut conflict)) => {
                let current = conflict.current.take();
                conflict.current = self.seal.open_some(current).map_err(unsealable)?;
                Err(CommitError::Conflict(conflict))
            }
            Err(other) => Err(other),
        }
    }

    pub(crate) async fn watch(
        &self,
        prefix: Bytes,
        after: Revision,
    ) -> Result<SealedWatch, WatchError> {
        Ok(SealedWatch {
            watch: Box::new(Box::pin(self.store.watch(prefix, after)).await?),
            seal: Arc::clone(&self.seal),
        })
    }
}

impl SealedWatch {
    pub(crate) async fn next(&mut self) -> Result<Notice, WatchError> {
        let notice = Box::pin(self.watch.next()).await?;
        self.open(notice)
    }

    pub(crate) fn arrivals(&self) -> Option<Arrivals> {
        self.watch.arrivals()
    }

    pub(crate) fn take(&mut self) -> Result<Option<Notice>, WatchError> {
        let notice = self.watch.take()?;
        notice.map(|notice| self.open(notice)).transpose()
    }

    fn open(&self, notice: Notice) -> Result<Notice, WatchError> {
        let Notice::Changes(changes) = notice else {
            return Ok(notice);
        };
        let opened = self.seal.open_changes(changes);
        opened
            .map(Notice::Changes)
            .map_err(|error| WatchError::Unavailable {
                source: Arc::new(error),
            })
    }

    pub(crate) fn request_progress(&mut self) {
        self.watch.request_progress();
    }
}

impl Seal {
    fn covers(&self, key: &Key) -> bool {
        let is_below = |prefix: &Bytes| key.as_bytes().starts_with(prefix);
        self.prefixes.iter().any(is_below)
    }

    /// The entry in the clear; `None` if it is in the clear already.
    fn open(&self, entry: &Entry) -> Result<Option<Arc<Entry>>, SealError> {
        // Also outside the prefixes: what was sealed once opens although it would no longer be sealed.
        if keyring::sealed_with(&entry.value).is_none() {
            return Ok(None);
        }
        let value = self.ring.open(&entry.key, &entry.value)?;
        Ok(Some(Arc::new(Entry {
            value,
            ..entry.clone()
        })))
    }

    fn open_some(&self, entry: Option<Arc<Entry>>) -> Result<Option<Arc<Entry>>, SealError> {
        let Some(entry) = entry else { return Ok(None) };
        Ok(Some(self.open(&entry)?.unwrap_or(entry)))
    }

    fn open_changes(&self, changes: Changes) -> Result<Changes, SealError> {
        let is_sealed = |entry: &Option<Arc<Entry>>| {
            let entry = entry.as_ref();
            entry.is_some_and(|entry| keyring::sealed_with(&entry.value).is_some())
        };
        let any = |event: &Event| is_sealed(&event.current) || is_sealed(&event.previous);
        if !changes.events.iter().any(any) {
            return Ok(changes);
        }
        let events = changes.events.iter().map(|event| {
            Ok(Event {
                key: event.key.clone(),
                current: self.open_some(event.current.clone())?,
                previous: self.open_some(event.previous.clone())?,
            })
        });
        Ok(Changes {
            revision: changes.revision,
            events: events.collect::<Result<_, SealError>>()?,
        })
    }
}

fn unreadable(error: SealError) -> ReadError {
    ReadError::Unavailable {
        source: Arc::new(error),
    }
}
