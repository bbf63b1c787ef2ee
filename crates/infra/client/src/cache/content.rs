//! What a cache holds: plain data that is told what the server says.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use object::{Object, ObjectKey};

use super::Change;

/// The objects, their indexes, and whether any may be missing.
#[derive(Default)]
pub(crate) struct Content {
    pub(super) objects: imbl::OrdMap<ObjectKey, Arc<Object>>,
    indexes: BTreeMap<&'static str, Index>,
    /// Nothing is missing as of the last the server told.
    pub(crate) complete: bool,
}

struct Index {
    keys: fn(&Object) -> Vec<String>,
    entries: HashMap<String, BTreeMap<ObjectKey, Arc<Object>>>,
}

impl Content {
    /// An object came or changed.
    pub(crate) fn put(&mut self, object: Object) -> Vec<Change> {
        let key = object.key();
        let before = self.objects.get(&key).cloned();
        if before
            .as_ref()
            .is_some_and(|before| is_same(before, &object))
        {
            return Vec::new();
        }
        let after = Arc::new(object);
        self.insert(key, Arc::clone(&after), before.as_ref());
        as_changes(before, after)
    }

    /// An object went. One that is not held, or another of the same name, changes nothing.
    pub(crate) fn take(&mut self, object: &Object) -> Vec<Change> {
        let key = object.key();
        match self.objects.get(&key) {
            Some(held) if held.uid() == object.uid() => self.remove(&key).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// All there is, from a list that was finished: what is held and not among it went.
    pub(crate) fn replace(&mut self, mut found: BTreeMap<ObjectKey, Object>) -> Vec<Change> {
        let mut changes = Vec::new();
        let gone: Vec<ObjectKey> = self
            .objects
            .keys()
            .filter(|key| !found.contains_key(key))
            .cloned()
            .collect();
        for key in gone {
            changes.extend(self.remove(&key));
        }
        if self.objects.is_empty() && self.indexes.is_empty() {
            // The first list is put together at once, which is much cheaper than one by one.
            let objects: imbl::OrdMap<_, _> = std::mem::take(&mut found)
                .into_iter()
                .map(|(key, object)| (key, Arc::new(object)))
                .collect();
            changes.extend(objects.values().map(|object| Change {
                before: None,
                after: Some(Arc::clone(object)),
            }));
            self.objects = objects;
        }
        for object in found.into_values() {
            changes.extend(self.put(object));
        }
        self.complete = true;
        changes
    }

    pub(super) fn index_by(&mut self, name: &'static str, keys: fn(&Object) -> Vec<String>) {
        if self.indexes.contains_key(name) {
            return;
        }
        let mut index = Index {
            keys,
            entries: HashMap::new(),
        };
        for (key, object) in &self.objects {
            index.insert(key, object);
        }
        self.indexes.insert(name, index);
    }

    pub(super) fn indexed(&self, name: &str, key: &str) -> Vec<Arc<Object>> {
        let entries = self
            .indexes
            .get(name)
            .and_then(|index| index.entries.get(key));
        entries
            .into_iter()
            .flat_map(BTreeMap::values)
            .cloned()
            .collect()
    }

    fn insert(&mut self, key: ObjectKey, after: Arc<Object>, before: Option<&Arc<Object>>) {
        for index in self.indexes.values_mut() {
            match before {
                Some(before) => index.change(&key, before, &after),
                None => index.insert(&key, &after),
            }
        }
        self.objects.insert(key, after);
    }

    fn remove(&mut self, key: &ObjectKey) -> Option<Change> {
        let before = self.objects.remove(key)?;
        for index in self.indexes.values_mut() {
            index.remove(key, &before);
        }
        Some(Change {
            before: Some(before),
            after: None,
        })
    }
}

impl Index {
    fn insert(&mut self, key: &ObjectKey, object: &Arc<Object>) {
        for text in (self.keys)(object) {
            let entry = self.entries.entry(text).or_default();
            entry.insert(key.clone(), Arc::clone(object));
        }
    }

    /// Most changes leave an object where it is found.
    fn change(&mut self, key: &ObjectKey, before: &Object, after: &Arc<Object>) {
        let texts = (self.keys)(after);
        if (self.keys)(before) != texts {
            self.remove(key, before);
            self.insert(key, after);
            return;
        }
        for text in &texts {
            let entry = self.entries.get_mut(text);
            if let Some(held) = entry.and_then(|entry| entry.get_mut(key)) {
                *held = Arc::clone(after);
            }
        }
    }

    fn remove(&mut self, key: &ObjectKey, object: &Object) {
        for text in (self.keys)(object) {
            let Some(entry) = self.entries.get_mut(&text) else {
                continue;
            };
            entry.remove(key);
            if entry.is_empty() {
                self.entries.remove(&text);
            }
        }
    }
}

/// The objects of one namespace, by name.
pub(super) fn in_namespace(
    objects: &imbl::OrdMap<ObjectKey, Arc<Object>>,
    namespace: &str,
) -> Vec<Arc<Object>> {
    let first = ObjectKey::namespaced(namespace, "");
    let range = (Bound::Included(first), Bound::Unbounded);
    objects
        .range(range)
        .take_while(|(key, _)| key.namespace == namespace)
        .map(|(_, object)| Arc::clone(object))
        .collect()
}

/// The server tells the same state again, as it does after a reconnection.
fn is_same(held: &Object, told: &Object) -> bool {
    held.uid() == told.uid()
        && held.resource_version() == told.resource_version()
        && !held.resource_version().is_empty()
}

/// An object that took the place of another is no change of it: one went and one came.
fn as_changes(before: Option<Arc<Object>>, after: Arc<Object>) -> Vec<Change> {
    match before {
        Some(before) if before.uid() != after.uid() => vec![
            Change {
                before: Some(before),
                after: None,
            },
            Change {
                before: None,
                after: Some(after),
            },
        ],
        before => vec![Change {
            before,
            after: Some(after),
        }],
    }
}
