//! The one type callers hold, whatever keeps the bytes.

use std::sync::Arc;

use bytes::Bytes;

use crate::embedded::{Arrivals, Embedded, EmbeddedWatch};
use crate::entry::Entry;
use crate::error::{CommitError, CompactError, ReadError, RenewError, WatchError};
use crate::etcd::{Etcd, EtcdWatch};
use crate::key::{Key, Revision};
use crate::memory::{Memory, MemoryWatch};
use crate::query::{Page, Query};
use crate::sealed::{Sealed, SealedWatch};
use crate::status::{Notice, Status};
use crate::txn::{Committed, Txn};

/// A store. Clones are the same store.
#[derive(Clone, Debug)]
pub enum Store {
    /// In a directory of this machine.
    Embedded(Embedded),
    /// In memory alone, for as long as the process lasts.
    Memory(Memory),
    /// In an etcd.
    Etcd(Etcd),
    /// In one of the others, with some values encrypted.
    Sealed(Sealed),
}

impl Store {
    /// What keeps the bytes, below any encryption.
    #[must_use]
    pub fn engine(&self) -> &Self {
        match self {
            Self::Sealed(store) => store.below().engine(),
            engine => engine,
        }
    }

    /// What a key holds now, or held at a revision.
    ///
    /// # Errors
    /// When the revision is compacted or in the future, or the store is closed or cannot be reached.
    pub async fn get(
        &self,
        key: &Key,
        at: Option<Revision>,
    ) -> Result<Option<Arc<Entry>>, ReadError> {
        match self {
            Self::Embedded(store) => store.get(key, at),
            Self::Memory(store) => store.get(key, at),
            Self::Etcd(store) => store.get(key, at).await,
            Self::Sealed(store) => store.get(key, at).await,
        }
    }

    /// Entries of many keys, all as of one revision.
    ///
    /// # Errors
    /// When the revision is compacted or in the future, or the store is closed or cannot be reached.
    pub async fn range(&self, query: &Query) -> Result<Page, ReadError> {
        match self {
            Self::Embedded(store) => store.range(query),
            Self::Memory(store) => store.range(query),
            Self::Etcd(store) => store.range(query).await,
            Self::Sealed(store) => store.range(query).await,
        }
    }

    /// Performs a transaction and waits until it is durable. Once begun it may happen even if the future is dropped.
    ///
    /// # Errors
    /// See [`CommitError`]: only [`CommitError::Unknown`] leaves it open whether anything happened.
    pub async fn commit(&self, txn: Txn) -> Result<Committed, CommitError> {
        match self {
            Self::Embedded(store) => store.commit(txn).await,
            Self::Memory(store) => store.commit(txn),
            Self::Etcd(store) => store.commit(txn).await,
            Self::Sealed(store) => store.commit(txn).await,
        }
    }

    /// Gives a key its whole time to live again. Takes no revision and is not seen by watchers.
    ///
    /// # Errors
    /// When there is no such key, it has no limit, or the renewal could not be made durable.
    pub async fn renew(&self, key: &Key) -> Result<(), RenewError> {
        match self {
            Self::Embedded(store) => store.renew(key.clone()).await,
            Self::Memory(store) => store.renew(key.clone()),
            Self::Etcd(store) => store.renew(key).await,
            Self::Sealed(store) => Box::pin(store.below().renew(key)).await,
        }
    }

    /// Lets go of history before a revision, whose own state stays readable. Does nothing when that is so already.
    ///
    /// # Errors
    /// When the revision is in the future or the decision could not be made durable.
    pub async fn compact(&self, revision: Revision) -> Result<(), CompactError> {
        match self {
            Self::Embedded(store) => store.compact(revision).await,
            Self::Memory(store) => store.compact(revision),
            Self::Etcd(store) => store.compact(revision).await,
            Self::Sealed(store) => Box::pin(store.below().compact(revision)).await,
        }
    }

    /// Follows the changes to keys with a prefix after a revision: that of a [`Page`], or the last one seen.
    ///
    /// # Errors
    /// When those changes are no longer known, or the store is closed or cannot be reached.
    pub async fn watch(
        &self,
        prefix: impl Into<Bytes>,
        after: Revision,
    ) -> Result<Watch, WatchError> {
        match self {
            Self::Embedded(store) => store.watch(prefix.into(), after).map(Watch::Embedded),
            Self::Memory(store) => store.watch(prefix.into(), after).map(Watch::Memory),
            Self::Etcd(store) => store.watch(prefix.into(), after).await.map(Watch::Etcd),
            Self::Sealed(store) => store.watch(prefix.into(), after).await.map(Watch::Sealed),
        }
    }

    /// The newest revision.
    ///
    /// # Errors
    /// When the store is closed or cannot be reached.
    pub async fn revision(&self) -> Result<Revision, ReadError> {
        match self {
            Self::Embedded(store) => store.revision(),
            Self::Memory(store) => store.revision(),
            Self::Etcd(store) => store.revision().await,
            Self::Sealed(store) => Box::pin(store.below().revision()).await,
        }
    }

    /// The store at a glance.
    ///
    /// # Errors
    /// When the store is closed or cannot be reached.
    pub async fn status(&self) -> Result<Status, ReadError> {
        match self {
            Self::Embedded(store) => store.status(),
            Self::Memory(store) => store.status(),
            Self::Etcd(store) => store.status().await,
            Self::Sealed(store) => Box::pin(store.below().status()).await,
        }
    }

    /// Does what is queued, takes no more and ends all watches.
    pub async fn close(&self) {
        match self {
            Self::Embedded(store) => store.close().await,
            Self::Memory(store) => store.close(),
            Self::Etcd(store) => store.close().await,
            Self::Sealed(store) => Box::pin(store.below().close()).await,
        }
    }
}

/// A watch on a store. Dropping it ends it.
#[derive(Debug)]
pub enum Watch {
    /// On an embedded store.
    Embedded(EmbeddedWatch),
    /// On a store in memory.
    Memory(MemoryWatch),
    /// On a store in etcd.
    Etcd(EtcdWatch),
    /// On a store with encrypted values.
    Sealed(SealedWatch),
}

impl Watch {
    /// Waits for the next notice. Safe to cancel: nothing is lost by dropping the future.
    ///
    /// # Errors
    /// When the watch cannot go on; it then says so every time.
    pub async fn next(&mut self) -> Result<Notice, WatchError> {
        match self {
            Self::Embedded(watch) => watch.next().await,
            Self::Memory(watch) => watch.next().await,
            Self::Etcd(watch) => watch.next().await,
            Self::Sealed(watch) => watch.next().await,
        }
    }

    /// A way to hear of arrivals without holding the watch, where [`Watch::take`] gives all that a waiting reader would
    /// get; `None` for stores that are elsewhere or have more to do while they wait.
    #[must_use]
    pub fn arrivals(&self) -> Option<Arrivals> {
        match self {
            Self::Embedded(watch) => Some(watch.arrivals()),
            Self::Sealed(watch) => watch.arrivals(),
            Self::Memory(_) | Self::Etcd(_) => None,
        }
    }

    /// The next notice, if it is there already.
    ///
    /// # Errors
    /// When the watch cannot go on; it then says so every time.
    pub fn take(&mut self) -> Result<Option<Notice>, WatchError> {
        match self {
            Self::Embedded(watch) => watch.take(),
            Self::Memory(watch) => watch.take(),
            Self::Etcd(watch) => watch.take(),
            Self::Sealed(watch) => watch.take(),
        }
    }

    /// Asks for a [`Notice::Progress`] once everything acknowledged before this call has been delivered.
    pub fn request_progress(&mut self) {
        match self {
            Self::Embedded(watch) => watch.request_progress(),
            Self::Memory(watch) => watch.request_progress(),
            Self::Etcd(watch) => watch.request_progress(),
            Self::Sealed(watch) => watch.request_progress(),
        }
    }
}
