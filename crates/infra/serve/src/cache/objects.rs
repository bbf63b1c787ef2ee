//! Objects in the order of their keys. Clones share everything, and an object costs one pointer: its key is in it.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use imbl::OrdSet;

use crate::record::Record;

/// Objects of one resource, by `namespace/name`, or `name` for cluster-scoped resources.
#[derive(Clone, Debug, Default)]
pub struct Objects(OrdSet<Item>);

/// An object, ordered and found by its key.
#[derive(Clone, Debug)]
struct Item(Arc<Record>);

impl Objects {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The object with a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Arc<Record>> {
        self.0.get(key.as_bytes()).map(|item| &item.0)
    }

    /// Whether there is an object with a key.
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        self.0.contains(key.as_bytes())
    }

    /// All of them, by key.
    pub fn values(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.0.iter().map(|item| &item.0)
    }

    /// Those with a key not before this one, by key.
    pub fn from<'o>(&'o self, key: &str) -> impl Iterator<Item = &'o Arc<Record>> + use<'o> {
        let range = (Bound::Included(key.as_bytes()), Bound::Unbounded);
        self.0.range::<_, [u8]>(range).map(|item| &item.0)
    }

    /// Those of a namespace, by name.
    pub fn in_namespace<'o>(
        &'o self,
        namespace: &str,
    ) -> impl Iterator<Item = &'o Arc<Record>> + use<'o> {
        let prefix = format!("{namespace}/");
        let from = self.from(&prefix);
        from.take_while(move |record| record.key_bytes().starts_with(prefix.as_bytes()))
    }

    /// Puts an object in the place of the one with its key.
    pub(crate) fn insert(&mut self, record: Arc<Record>) {
        self.0.insert(Item(record));
    }

    /// Takes an object out.
    pub(crate) fn remove(&mut self, key: &str) {
        self.0.remove(key.as_bytes());
    }
}

impl Extend<Arc<Record>> for Objects {
    fn extend<I: IntoIterator<Item = Arc<Record>>>(&mut self, records: I) {
        self.0.extend(records.into_iter().map(Item));
    }
}

impl Borrow<[u8]> for Item {
    fn borrow(&self) -> &[u8] {
        self.0.key_bytes()
    }
}

impl PartialEq for Item {
    fn eq(&self, other: &Self) -> bool {
        self.0.key_bytes() == other.0.key_bytes()
    }
}

impl Eq for Item {}

impl PartialOrd for Item {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Item {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.key_bytes().cmp(other.0.key_bytes())
    }
}
