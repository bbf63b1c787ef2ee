//! Every object the server serves, in memory, one copy each.
//!
//! The cache is fed from one watch on the whole store, in the order of revisions. A writer waits until the cache has
//! its own write, so whoever was answered reads what was written; a reader of another replica's writes waits until the
//! cache has reached the revision it asks for.

mod collection;
mod objects;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use store::{Changes, Entry, Revision};
use tokio::sync::watch;

pub use collection::{Change, Collection, FrameForm, Place, RING_LENGTH, Snapshot, TooOld};
pub use objects::Objects;

use crate::record::{Record, RecordError};

/// Every object the server serves.
#[derive(Debug)]
pub struct Cache {
    collections: RwLock<BTreeMap<Arc<str>, Arc<Collection>>>,
    /// The state before the first change the cache was fed.
    base: Revision,
    /// Everything up to here has been taken in.
    progress: watch::Sender<Revision>,
}

/// The resources that changes which came together were about.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    collections: Vec<Arc<Collection>>,
}

impl Touched {
    fn add(&mut self, collection: Arc<Collection>) {
        // A handful, mostly one.
        let is_known = |known: &Arc<Collection>| Arc::ptr_eq(known, &collection);
        if !self.collections.iter().any(is_known) {
            self.collections.push(collection);
        }
    }

    /// Tells watchers.
    pub(crate) fn announce(&self) {
        for collection in &self.collections {
            collection.announce();
        }
    }
}

/// Where all objects are kept in the store.
pub const ROOT: &str = "/registry/";

impl Cache {
    /// A cache of the entries of the store as of a revision.
    ///
    /// # Errors
    /// When an entry is not an object: the server must not start on data it cannot read.
    pub fn load(entries: &[Arc<Entry>], revision: Revision) -> Result<Self, RecordError> {
        let cache = Self {
            collections: RwLock::default(),
            base: revision,
            progress: watch::Sender::new(revision),
        };
        for entry in entries {
            let record = Arc::new(Record::new(Arc::clone(entry))?);
            if let Some((name, _)) = split_key(entry.key.as_ref()) {
                cache.collection(name).load(record);
            }
        }
        Ok(cache)
    }

    /// The objects of a resource, by its [`collection name`](name_of); one without objects is empty.
    #[must_use]
    pub fn collection(&self, name: &str) -> Arc<Collection> {
        let known = self
            .collections
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
            .cloned();
        known.unwrap_or_else(|| {
            let mut collections = self
                .collections
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            Arc::clone(
                collections
                    .entry(Arc::from(name))
                    .or_insert_with(|| Arc::new(Collection::new(self.base))),
            )
        })
    }

    /// All collections there are, by name.
    #[must_use]
    pub fn collections(&self) -> Vec<(Arc<str>, Arc<Collection>)> {
        let collections = self
            .collections
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        collections
            .iter()
            .map(|(name, collection)| (Arc::clone(name), Arc::clone(collection)))
            .collect()
    }

    /// Takes in what one transaction changed.
    ///
    /// # Errors
    /// When an entry is not an object; the cache then stays at the revision before.
    pub fn apply(&self, changes: &Changes) -> Result<(), RecordError> {
        let mut touched = Touched::default();
        self.take_in(changes, &mut touched)?;
        touched.announce();
        self.reach(changes.revision);
        Ok(())
    }

    /// Takes in what one transaction changed, without telling anybody: [`Touched::announce`] and [`Cache::reach`] do, once
    /// for all that came together.
    ///
    /// # Errors
    /// When an entry is not an object.
    pub(crate) fn take_in(
        &self,
        changes: &Changes,
        touched: &mut Touched,
    ) -> Result<(), RecordError> {
        for event in changes.events.iter() {
            let Some((name, object)) = split_key(event.key.as_ref()) else {
                continue;
            };
            let collection = self.collection(name);
            let current = match &event.current {
                Some(entry) => Some(Arc::new(Record::new(Arc::clone(entry))?)),
                None => None,
            };
            let previous = collection.find(object);
            collection.apply(Arc::new(Change::new(changes.revision, current, previous)));
            touched.add(collection);
        }
        Ok(())
    }

    /// Notes that nothing is missing up to a revision.
    pub fn reach(&self, revision: Revision) {
        self.progress.send_if_modified(|reached| {
            let newer = revision > *reached;
            if newer {
                *reached = revision;
            }
            newer
        });
    }

    /// Everything up to here has been taken in.
    #[must_use]
    pub fn revision(&self) -> Revision {
        *self.progress.borrow()
    }

    /// Wakes whoever waits on it after every change of any resource.
    #[must_use]
    pub fn progress(&self) -> watch::Receiver<Revision> {
        self.progress.subscribe()
    }

    /// Waits until a revision has been taken in; `false` when that took longer than `limit`.
    pub async fn wait_for(&self, revision: Revision, limit: Duration) -> bool {
        if self.revision() >= revision {
            return true;
        }
        let mut progress = self.progress.subscribe();
        let reached = progress.wait_for(|reached| *reached >= revision);
        tokio::time::timeout(limit, reached)
            .await
            .is_ok_and(|result| result.is_ok())
    }
}

/// The name of a resource's collection: its group, `core` for the core group, and its plural.
#[must_use]
pub fn name_of(group: &str, resource: &str) -> String {
    let group = if group.is_empty() { "core" } else { group };
    format!("{group}/{resource}")
}

/// The key of an object in its collection.
#[must_use]
pub fn object_key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        name.to_owned()
    } else {
        format!("{namespace}/{name}")
    }
}

/// The key of an object in the store.
#[must_use]
pub fn store_key(collection: &str, namespace: &str, name: &str) -> String {
    format!("{ROOT}{collection}/{}", object_key(namespace, name))
}

/// Splits a key of the store into the collection and the object's key in it.
pub(crate) fn split_key(key: &[u8]) -> Option<(&str, &str)> {
    let below = std::str::from_utf8(key).ok()?.strip_prefix(ROOT)?;
    let group_end = below.find('/')?;
    let resource_end = group_end + 1 + below.get(group_end + 1..)?.find('/')?;
    Some((below.get(..resource_end)?, below.get(resource_end + 1..)?))
}

#[cfg(test)]
mod tests;
