//! What changed, and whom that wakes.

use std::sync::Arc;

use kinds::DEFINITIONS;
use object::Value;
use serve::cache::{self, Cache, Change};
use serve::record::Record;
use serve::resource::Table;

use crate::garbage::{Collector, Followed, Route, Spot};

/// As many changes as are taken from a collection at a time.
const BATCH: usize = 1024;

impl Collector {
    /// Begins to follow collections that are new in the table, and looks again at what may have waited for them. Those
    /// that are no longer in the table are followed on: what is in them may still be somebody's.
    pub(super) fn follow(&mut self, table: &Table, cache: &Cache) {
        for (name, waiting) in [
            ("core/namespaces", &mut self.namespaces),
            (DEFINITIONS, &mut self.definitions),
        ] {
            let snapshot = cache.collection(name).snapshot();
            let ending = snapshot.objects.values();
            let ending = ending.filter(|record| record.head().terminating);
            waiting.extend(ending.map(|record| Arc::from(record.key())));
        }
        for resource in table.iter().filter(|resource| resource.rules.is_stored()) {
            // Kinds that are kept as another one are followed as that one.
            if *resource.collection != *cache::name_of(&resource.group, &resource.plural)
                || self.followed.contains_key(&resource.collection)
            {
                continue;
            }
            let version = resource.versions.iter().find(|version| version.served);
            let Some(version) = version else { continue };
            let api_version = resource.api_version(&version.name);
            let root = if resource.group.is_empty() {
                format!("/api/{api_version}")
            } else {
                format!("/apis/{api_version}")
            };
            let collection = cache.collection(&resource.collection);
            let (snapshot, place) = collection.begin();
            let route = Route {
                group: Arc::clone(&resource.group),
                kind: Arc::clone(&resource.kind),
                root: root.into(),
                plural: Arc::clone(&resource.plural),
                namespaced: resource.namespaced,
            };
            let name = Arc::clone(&resource.collection);
            for record in snapshot.objects.values() {
                self.note(&name, &record.key().into(), None, Some(record));
            }
            self.followed.insert(
                name,
                Followed {
                    collection,
                    place,
                    route,
                },
            );
        }
    }

    pub(super) fn pull(&mut self) {
        let mut changes: Vec<(Arc<str>, Arc<Change>)> = Vec::new();
        let mut lost: Vec<Arc<str>> = Vec::new();
        for (name, followed) in &mut self.followed {
            loop {
                let Ok((batch, next)) = followed.collection.changes(followed.place, BATCH) else {
                    followed.place = followed.collection.begin().1;
                    lost.push(Arc::clone(name));
                    break;
                };
                followed.place = next;
                let count = batch.len();
                changes.extend(batch.into_iter().map(|change| (Arc::clone(name), change)));
                if count < BATCH {
                    break;
                }
            }
        }
        for (name, change) in changes {
            let (before, after) = (change.previous.as_ref(), change.current.as_ref());
            let Some(record) = after.or(before) else {
                continue;
            };
            let key = key_of(record);
            self.note(&name, &key, before, after);
        }
        for name in lost {
            self.relearn(&name);
        }
    }

    /// Looks at everything in a collection that changed too fast to be followed, and at all that may have lost an owner.
    fn relearn(&mut self, name: &Arc<str>) {
        let Some(followed) = self.followed.get(name) else {
            return;
        };
        let snapshot = followed.collection.snapshot();
        for record in snapshot.objects.values() {
            self.note(name, &record.key().into(), None, Some(record));
        }
        let everything: Vec<Spot> = self.dependents.values().flatten().cloned().collect();
        self.due.extend(everything);
    }

    fn note(
        &mut self,
        name: &Arc<str>,
        key: &Arc<str>,
        before: Option<&Arc<Record>>,
        after: Option<&Arc<Record>>,
    ) {
        let spot = (Arc::clone(name), Arc::clone(key));
        let mut has_left = false;
        for owner in before.iter().flat_map(|record| record.head().owners) {
            if let Some(spots) = self.dependents.get_mut(owner) {
                spots.remove(&spot);
                if spots.is_empty() {
                    self.dependents.remove(owner);
                }
            }
            has_left |= after.is_none_or(|after| !after.head().owners.contains(owner));
        }
        // An owner that waits for its dependents may have waited for this one.
        if has_left {
            self.wake_owner(before);
        }
        match after {
            Some(record) => {
                for owner in record.head().owners {
                    let spots = self.dependents.entry(owner.into()).or_default();
                    spots.insert(spot.clone());
                }
                // An object that stays and keeps its owners needs no look: what becomes of them wakes it.
                let owners = record.head().owners;
                let is_settled = before.is_some_and(|before| before.head().owners == owners);
                if record.head().terminating || !(owners.is_empty() || is_settled) {
                    self.due.insert(spot);
                }
                if &**name == "core/namespaces" && record.head().terminating {
                    self.namespaces.insert(Arc::clone(key));
                }
                if &**name == DEFINITIONS && record.head().terminating {
                    self.definitions.insert(Arc::clone(key));
                }
                if record.head().terminating {
                    self.wake_dependents(record.head().uid);
                    // It may have let go of an owner that waits for it: one that owns it in turn.
                    self.wake_owner(after);
                }
            }
            None => {
                if let Some(record) = before {
                    let head = record.head();
                    self.wake_dependents(head.uid);
                    if !head.namespace.is_empty() {
                        self.namespaces.insert(Arc::from(head.namespace));
                    }
                    // The name of a definition is made of those of its kind and group.
                    if let Some(followed) = self.followed.get(name)
                        && !followed.route.group.is_empty()
                    {
                        let (plural, group) = (&followed.route.plural, &followed.route.group);
                        self.definitions.insert(format!("{plural}.{group}").into());
                    }
                }
            }
        }
    }

    fn wake_dependents(&mut self, uid: &str) {
        if let Some(spots) = self.dependents.get(uid) {
            self.due.extend(spots.iter().cloned());
        }
    }

    fn wake_owner(&mut self, record: Option<&Arc<Record>>) {
        let Some(record) = record else { return };
        let value = record.value();
        let owners = value.pointer("/metadata/ownerReferences");
        for owner in owners.and_then(Value::as_array).into_iter().flatten() {
            if let Some((spot, _)) = self.find_owner(owner, record.head().namespace) {
                self.due.insert(spot);
            }
        }
    }
}

fn key_of(record: &Record) -> Arc<str> {
    record.key().into()
}
