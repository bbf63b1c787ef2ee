//! What a cache holds: plain data that is told what the server says.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;

use imbl::OrdSet;
use object::{Object, ObjectKey};

use super::Change;
use super::packed::Packed;

/// The objects, their indexes, and whether any may be missing.
#[derive(Default)]
pub(crate) struct Content {
    pub(super) objects: OrdSet<Packed>,
    indexes: BTreeMap<&'static str, Index>,
    /// Nothing is missing as of the last the server told.
    pub(crate) complete: bool,
}

/// A change of an object that nobody looks at yet.
pub(crate) struct Step {
    before: Option<Packed>,
    after: Option<Packed>,
}

struct Index {
    keys: fn(&Object) -> Vec<String>,
    entries: HashMap<String, BTreeSet<Packed>>,
}

impl Content {
    /// An object came or changed.
    pub(crate) fn put(&mut self, object: Packed) -> Vec<Step> {
        let before = self.objects.get(object.key()).cloned();
        // The server tells the same state again, as it does after a reconnection.
        if before
            .as_ref()
            .is_some_and(|before| before.is_same(&object))
        {
            return Vec::new();
        }
        self.insert(object.clone(), before.as_ref());
        as_steps(before, object)
    }

    /// An object went. One that is not held, or another of the same name, changes nothing.
    pub(crate) fn take(&mut self, key: &ObjectKey, uid: &str) -> Vec<Step> {
        match self.objects.get(key) {
            Some(held) if held.has_uid(uid) => self.remove(key).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// What is held and not among all there is went.
    pub(super) fn retain(&mut self, found: &BTreeSet<Packed>) -> Vec<Step> {
        let gone: Vec<Packed> = self
            .objects
            .iter()
            .filter(|held| !found.contains(held.key()))
            .cloned()
            .collect();
        let gone = gone.iter().filter_map(|held| self.remove(held.key()));
        gone.collect()
    }

    /// Takes in all there is at once, where that is possible: it is much cheaper than one by one. Else all of it is given
    /// back.
    pub(super) fn fill(&mut self, found: BTreeSet<Packed>) -> Result<Vec<Step>, BTreeSet<Packed>> {
        if !self.objects.is_empty() || !self.indexes.is_empty() {
            return Err(found);
        }
        self.objects = found.into_iter().collect();
        Ok(self.objects.iter().cloned().map(Step::came).collect())
    }

    pub(super) fn index_by(&mut self, name: &'static str, keys: fn(&Object) -> Vec<String>) {
        if self.indexes.contains_key(name) {
            return;
        }
        let mut index = Index {
            keys,
            entries: HashMap::new(),
        };
        for object in &self.objects {
            index.insert(object);
        }
        self.indexes.insert(name, index);
    }

    pub(super) fn indexed(&self, name: &str, key: &str) -> Vec<Packed> {
        let index = self.indexes.get(name);
        let entries = index.and_then(|index| index.entries.get(key));
        entries.into_iter().flatten().cloned().collect()
    }

    pub(super) fn is_indexed(&self, name: &str, text: &str, key: &ObjectKey) -> bool {
        let entries = self.indexes.get(name);
        let entries = entries.and_then(|index| index.entries.get(text));
        entries.is_some_and(|entries| entries.contains(key))
    }

    fn insert(&mut self, after: Packed, before: Option<&Packed>) {
        for index in self.indexes.values_mut() {
            match before {
                Some(before) => index.change(before, &after),
                None => index.insert(&after),
            }
        }
        self.objects.insert(after);
    }

    fn remove(&mut self, key: &ObjectKey) -> Option<Step> {
        let before = self.objects.remove(key)?;
        for index in self.indexes.values_mut() {
            index.remove(&before);
        }
        Some(Step::went(before))
    }
}

impl Step {
    pub(super) fn came(after: Packed) -> Self {
        Self {
            before: None,
            after: Some(after),
        }
    }

    fn went(before: Packed) -> Self {
        Self {
            before: Some(before),
            after: None,
        }
    }

    /// The revision of the object as it is, or as it was when it went.
    pub(super) fn revision(&self) -> u64 {
        let object = self.after.as_ref().or(self.before.as_ref());
        object.map_or(0, Packed::revision)
    }

    /// The change, to be looked at.
    pub(super) fn open(&self) -> Change {
        let open = |packed: &Option<Packed>| packed.as_ref().map(Packed::open);
        Change {
            before: open(&self.before),
            after: open(&self.after),
        }
    }
}

impl Index {
    fn insert(&mut self, object: &Packed) {
        for text in (self.keys)(&object.open()) {
            self.entries.entry(text).or_default().insert(object.clone());
        }
    }

    /// Most changes leave an object where it is found.
    fn change(&mut self, before: &Packed, after: &Packed) {
        let texts = (self.keys)(&after.open());
        if (self.keys)(&before.open()) != texts {
            self.remove(before);
            self.insert(after);
            return;
        }
        for text in &texts {
            if let Some(entry) = self.entries.get_mut(text) {
                entry.replace(after.clone());
            }
        }
    }

    fn remove(&mut self, object: &Packed) {
        for text in (self.keys)(&object.open()) {
            let Some(entry) = self.entries.get_mut(&text) else {
                continue;
            };
            entry.remove(object.key());
            if entry.is_empty() {
                self.entries.remove(&text);
            }
        }
    }
}

/// The objects of one namespace, by name.
pub(super) fn in_namespace(objects: &OrdSet<Packed>, namespace: &str) -> Vec<Packed> {
    let first = ObjectKey::namespaced(namespace, "");
    let range = (Bound::Included(first), Bound::Unbounded);
    objects
        .range::<_, ObjectKey>(range)
        .take_while(|object| object.key().namespace == namespace)
        .cloned()
        .collect()
}

/// An object that took the place of another is no change of it: one went and one came.
fn as_steps(before: Option<Packed>, after: Packed) -> Vec<Step> {
    match before {
        Some(before) if before.is_another(&after) => {
            vec![Step::went(before), Step::came(after)]
        }
        before => vec![Step {
            before,
            after: Some(after),
        }],
    }
}
