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

impl Ring {
    /// Whether a decision says what the last two have said already.
    fn is_again(&self, record: &Record) -> bool {
        let mut last = self.records.iter().rev().take(2);
        last.len() == 2 && last.all(|known| known.is_like(record))
    }
}

impl Rings {
    /// Adds a decision; of more than `most` bindings, and of too many bytes, the oldest go. Of those in a row that say the
    /// same the first and the last are kept, so that they do not drive out what came before.
    pub(super) fn put(&mut self, mut record: Arc<Record>, most: usize) {
        self.count += 1;
        let key: Arc<str> = record.binding.as_str().into();
        let ring = self.by_binding.entry(Arc::clone(&key)).or_default();
        self.by_age.remove(&ring.last);
        ring.last = self.count;
        self.by_age.insert(self.count, key);
        let mut gone = None;
        if ring.is_again(&record) {
            gone = ring.records.pop_back();
            let before = gone.as_ref().map_or(0, |gone| gone.again);
            Arc::make_mut(&mut record).again = before + 1;
        } else if ring.records.len() >= KEPT {
            gone = ring.records.pop_front();
        }
        let (come, gone) = (record.weight(), gone.map_or(0, |gone| gone.weight()));
        ring.bytes = (ring.bytes + come).saturating_sub(gone);
        self.bytes = (self.bytes + come).saturating_sub(gone);
        ring.records.push_back(record);
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
