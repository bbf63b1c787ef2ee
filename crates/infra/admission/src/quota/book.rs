//! The books of a namespace: what its objects of one resource use, kept up with the cache.

use std::collections::HashMap;
use std::sync::Arc;

use object::time::Time;
use serve::cache::{Change, Collection, Place};
use serve::record::Record;

use crate::amounts::{self, Amounts};

use super::scopes::Scope;
use super::usage::{self, Measured};

/// How many changes are taken at once.
const BATCH: usize = 1024;

/// What the objects of one resource in one namespace use.
pub(crate) struct Book {
    group: String,
    resource: String,
    namespace: String,
    /// How far the cache has been read; `None` before the first look.
    place: Option<Place>,
    /// By uid, with the revision that was measured.
    entries: HashMap<Box<str>, (u64, Measured)>,
    /// What is used by the objects within each list of scopes that was asked for.
    totals: Vec<(Vec<Scope>, Amounts)>,
    /// When the next of them uses less by itself.
    fades: Option<Time>,
}

impl Book {
    pub(crate) fn new(group: &str, resource: &str, namespace: &str) -> Self {
        Self {
            group: group.to_owned(),
            resource: resource.to_owned(),
            namespace: namespace.to_owned(),
            place: None,
            entries: HashMap::new(),
            totals: Vec::new(),
            fades: None,
        }
    }

    /// Takes in what has changed since the last look.
    pub(crate) fn catch_up(&mut self, collection: &Collection, now: Time) {
        while let Some(place) = self.place {
            let Ok((changes, next)) = collection.changes(place, BATCH) else {
                self.place = None;
                break;
            };
            self.place = Some(next);
            for change in &changes {
                self.take(change, now);
            }
            if changes.len() < BATCH {
                break;
            }
        }
        if self.place.is_none() {
            self.read_all(collection, now);
        }
        if self.fades.is_some_and(|fades| fades < now) {
            // Rare: a pod outlived its grace. Everything is measured again.
            self.read_all(collection, now);
        }
    }

    /// What is used by the objects within scopes.
    pub(crate) fn used(&mut self, scopes: &[Scope]) -> &Amounts {
        let known = self.totals.iter().position(|(known, _)| known == scopes);
        let at = known.unwrap_or_else(|| {
            let mut total = Amounts::new();
            for measured in self.measured().filter(|one| covers(scopes, one)) {
                amounts::add(&mut total, &measured.amounts);
            }
            self.totals.push((scopes.to_vec(), total));
            self.totals.len() - 1
        });
        &self.totals[at].1
    }

    /// What one object is known to use, and as of which revision.
    pub(crate) fn entry(&self, uid: &str) -> Option<&(u64, Measured)> {
        self.entries.get(uid)
    }

    fn measured(&self) -> impl Iterator<Item = &Measured> {
        self.entries.values().map(|(_, measured)| measured)
    }

    fn take(&mut self, change: &Change, now: Time) {
        let is_here = |record: &&Arc<Record>| *record.head().namespace == *self.namespace;
        let current = change.current.as_ref().filter(is_here).cloned();
        let previous = change.previous.as_ref().filter(is_here).cloned();
        if let Some(previous) = previous {
            self.remove(previous.head().uid);
        }
        if let Some(current) = current {
            self.insert(&current, now);
        }
    }

    fn read_all(&mut self, collection: &Collection, now: Time) {
        let (snapshot, place) = collection.begin();
        self.place = Some(place);
        self.entries.clear();
        self.totals.clear();
        self.fades = None;
        for record in snapshot.objects.in_namespace(&self.namespace) {
            self.insert(record, now);
        }
    }

    fn insert(&mut self, record: &Record, now: Time) {
        let measured = if usage::is_weighed(&self.group, &self.resource) {
            usage::measure(&self.group, &self.resource, &record.value(), now)
        } else {
            usage::measure(&self.group, &self.resource, &object::Value::Null, now)
        };
        for (scopes, total) in &mut self.totals {
            if covers(scopes, &measured) {
                amounts::add(total, &measured.amounts);
            }
        }
        if let Some(fades) = measured.fades {
            self.fades = Some(self.fades.map_or(fades, |known| known.min(fades)));
        }
        let revision = record.revision().0;
        self.entries
            .insert(record.head().uid.into(), (revision, measured));
    }

    fn remove(&mut self, uid: &str) {
        let Some((_, measured)) = self.entries.remove(uid) else {
            return;
        };
        for (scopes, total) in &mut self.totals {
            if covers(scopes, &measured) {
                amounts::subtract(total, &measured.amounts);
            }
        }
    }
}

fn covers(scopes: &[Scope], measured: &Measured) -> bool {
    scopes.iter().all(|scope| scope.covers(&measured.traits))
}
