//! The last decisions about each binding, in memory.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
};

use super::Record;

/// How many decisions about one binding are kept.
pub const KEPT: usize = 8;

/// How much of all decisions is kept in memory. The binding that was not decided for longest is forgotten first; the files
/// have more.
pub(super) const MOST_BYTES: usize = 32 << 20;

/// The last decisions about each binding.
#[derive(Debug, Default)]
pub(super) struct Rings {
    by_binding: HashMap<Arc<str>, Ring>,
    /// By the number of the last decision, so that the binding longest untouched is found at once.
    by_age: BTreeMap<u64, Arc<str>>,
    count: u64,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Ring {
    last: u64,
    bytes: usize,
    records: VecDeque<Arc<Record>>,
}

impl Rings {
    /// Adds a decision; of more than `most` bindings, and of too many bytes, the oldest go.
    pub(super) fn put(&mut self, record: Arc<Record>, most: usize) {
        self.count += 1;
        let key: Arc<str> = record.binding.as_str().into();
        let ring = self.by_binding.entry(Arc::clone(&key)).or_default();
        self.by_age.remove(&ring.last);
        ring.last = self.count;
        self.by_age.insert(self.count, key);
        let bytes = record.weight();
        ring.bytes += bytes;
        self.bytes += bytes;
        ring.records.push_back(record);
        if ring.records.len() > KEPT
            && let Some(old) = ring.records.pop_front()
        {
            let bytes = old.weight();
            ring.bytes = ring.bytes.saturating_sub(bytes);
            self.bytes = self.bytes.saturating_sub(bytes);
        }
        while self.by_binding.len() > most || self.bytes > MOST_BYTES {
            let Some((_, oldest)) = self.by_age.pop_first() else {
                return;
            };
            if let Some(gone) = self.by_binding.remove(&oldest) {
                self.bytes = self.bytes.saturating_sub(gone.bytes);
            }
        }
    }

    /// The last decisions about a binding, the newest first.
    pub(super) fn last(&self, binding: &str) -> Vec<Arc<Record>> {
        let ring = self.by_binding.get(binding);
        ring.into_iter()
            .flat_map(|ring| ring.records.iter().rev().cloned())
            .collect()
    }

    /// How many bindings are remembered, and how many bytes of them.
    #[cfg(test)]
    pub(super) fn size(&self) -> (usize, usize) {
        assert_eq!(self.by_binding.len(), self.by_age.len());
        (self.by_binding.len(), self.bytes)
    }
}
