//! The state of a store at one revision, with its past. Immutable once published; clones share everything.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use imbl::{OrdMap, OrdSet};

use crate::embedded::history::History;
use crate::embedded::record::RecordOp;
use crate::entry::{Entry, Event};
use crate::error::ReadError;
use crate::key::{Key, Revision};
use crate::query::{Page, Query, Span};

/// Everything there is to know.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) revision: u64,
    entries: OrdSet<Item>,
    pub(crate) expiries: OrdMap<Key, Expiry>,
    pub(crate) history: History,
}

/// When an entry goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Expiry {
    /// Milliseconds from a put or a renewal.
    pub(crate) ttl: u64,
    /// Milliseconds since 1970.
    pub(crate) deadline: u64,
    /// The revision of the entry this is about.
    pub(crate) modified: u64,
}

/// An entry, ordered and found by its key: the set's nodes hold one pointer for each.
#[derive(Clone, Debug)]
struct Item(Arc<Entry>);

impl Borrow<[u8]> for Item {
    fn borrow(&self) -> &[u8] {
        self.0.key.as_ref()
    }
}

impl PartialEq for Item {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
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
        self.0.key.cmp(&other.0.key)
    }
}

impl State {
    /// The state of a checkpoint: entries in the order of their keys, no past.
    pub(crate) fn at(
        revision: u64,
        entries: impl IntoIterator<Item = (Arc<Entry>, Option<Expiry>)>,
    ) -> Self {
        let mut expiries = OrdMap::new();
        let entries = entries.into_iter().map(|(entry, expiry)| {
            if let Some(expiry) = expiry {
                expiries.insert(entry.key.clone(), expiry);
            }
            Item(entry)
        });
        Self {
            revision,
            entries: entries.collect(),
            expiries,
            history: History::after(revision),
        }
    }

    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// What a key holds.
    pub(crate) fn entry(&self, key: &[u8]) -> Option<&Arc<Entry>> {
        self.entries.get(key).map(|item| &item.0)
    }

    /// All entries in the order of their keys, with their expiry.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Arc<Entry>, Option<Expiry>)> {
        self.entries
            .iter()
            .map(|item| (&item.0, self.expiries.get(&item.0.key).copied()))
    }

    /// Performs a transaction as the next revision. Deletions must be of keys that exist.
    pub(crate) fn apply(&mut self, time: u64, ops: Vec<RecordOp>) -> Arc<[Event]> {
        self.revision = self.revision.saturating_add(1);
        let events: Arc<[Event]> = ops.into_iter().map(|op| self.apply_op(op)).collect();
        self.history.push(self.revision, time, Arc::clone(&events));
        events
    }

    fn apply_op(&mut self, op: RecordOp) -> Event {
        match op {
            RecordOp::Delete { key } => {
                let previous = self.entries.remove::<[u8]>(key.as_ref()).map(|item| item.0);
                self.expiries.remove(&key);
                Event {
                    key,
                    current: None,
                    previous,
                }
            }
            RecordOp::Put {
                key,
                value,
                ttl,
                deadline,
            } => {
                let previous = self.entry(key.as_ref()).cloned();
                let (created, version) = match &previous {
                    Some(entry) => (entry.created, entry.version.saturating_add(1)),
                    None => (Revision(self.revision), 1),
                };
                // The key's bytes are shared with the entry replaced, so that a key is in memory once.
                let key = previous.as_ref().map_or(key, |entry| entry.key.clone());
                let modified = Revision(self.revision);
                let entry = Arc::new(Entry {
                    key: key.clone(),
                    value,
                    created,
                    modified,
                    version,
                });
                self.entries.insert(Item(Arc::clone(&entry)));
                if ttl > 0 {
                    self.expiries.insert(
                        key.clone(),
                        Expiry {
                            ttl,
                            deadline,
                            modified: self.revision,
                        },
                    );
                } else if !self.expiries.is_empty() {
                    self.expiries.remove(&key);
                }
                Event {
                    key,
                    current: Some(entry),
                    previous,
                }
            }
        }
    }

    /// Moves the deadline of an entry, if it is still that entry, and says whether it is. The last renewal counts, also
    /// when it brings the deadline nearer because the clock went back.
    pub(crate) fn renew(&mut self, key: &Key, modified: u64, deadline: u64) -> bool {
        let Some(expiry) = self.expiries.get_mut(key) else {
            return false;
        };
        if expiry.modified != modified {
            return false;
        }
        expiry.deadline = deadline;
        true
    }

    /// Lets no entry have more time left than it was given.
    pub(crate) fn cap_deadlines(&mut self, now: u64) {
        let late = |expiry: &Expiry| expiry.deadline > now.saturating_add(expiry.ttl);
        let keys: Vec<Key> = self
            .expiries
            .iter()
            .filter(|(_, expiry)| late(expiry))
            .map(|(key, _)| key.clone())
            .collect();
        for key in keys {
            if let Some(expiry) = self.expiries.get_mut(&key) {
                expiry.deadline = now.saturating_add(expiry.ttl);
            }
        }
    }

    /// What a key held at a revision.
    pub(crate) fn entry_at(
        &self,
        key: &Key,
        at: Option<Revision>,
    ) -> Result<Option<Arc<Entry>>, ReadError> {
        let at = self.readable(at)?;
        let undone = self
            .history
            .moments_after(at)
            .flat_map(|moment| moment.changes.events.iter())
            .find(|event| event.key == *key);
        Ok(match undone {
            Some(event) => event.previous.clone(),
            None => self.entry(key.as_ref()).cloned(),
        })
    }

    /// Entries of a span at a revision.
    pub(crate) fn page(&self, query: &Query) -> Result<Page, ReadError> {
        let at = self.readable(query.at)?;
        let undone = self.undone(&query.span, at);
        let current = self
            .span(&query.span)
            .filter(|entry| !undone.contains_key(&entry.key));
        let past = undone.values().filter_map(|entry| *entry);
        let mut found = Merge {
            left: current.peekable(),
            right: past.peekable(),
        };

        let limit = if query.limit == 0 {
            usize::MAX
        } else {
            query.limit
        };
        let entries: Vec<_> = found.by_ref().take(limit).cloned().collect();
        let more = found.next().is_some();
        let remaining = query.count.then(|| {
            let rest = u64::try_from(found.count()).unwrap_or(u64::MAX);
            rest.saturating_add(u64::from(more))
        });
        Ok(Page {
            entries,
            revision: Revision(at),
            more,
            remaining,
        })
    }

    fn readable(&self, at: Option<Revision>) -> Result<u64, ReadError> {
        let Some(requested) = at else {
            return Ok(self.revision);
        };
        if requested.0 > self.revision {
            return Err(ReadError::Future {
                requested,
                current: Revision(self.revision),
            });
        }
        let compacted = self.history.compacted();
        if requested.0 < compacted {
            return Err(ReadError::Compacted {
                requested,
                compacted: Revision(compacted),
            });
        }
        Ok(requested.0)
    }

    /// What keys of a span that changed after a revision held at it.
    fn undone(&self, span: &Span, at: u64) -> BTreeMap<&Key, Option<&Arc<Entry>>> {
        let mut undone = BTreeMap::new();
        for event in self
            .history
            .moments_after(at)
            .flat_map(|moment| moment.changes.events.iter())
        {
            if span.contains(event.key.as_ref()) {
                // The first change after the revision knows what was there at it; later ones do not.
                undone.entry(&event.key).or_insert(event.previous.as_ref());
            }
        }
        undone
    }

    fn span(&self, span: &Span) -> impl Iterator<Item = &Arc<Entry>> {
        let start = span.start();
        let end = span.end();
        let upper = end
            .as_deref()
            .map_or(Bound::Unbounded, |end| Bound::Excluded(end.max(start)));
        let range: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Included(start), upper);
        self.entries.range::<_, [u8]>(range).map(|item| &item.0)
    }
}

/// Two sequences of entries, each in the order of keys, as one.
struct Merge<L: Iterator, R: Iterator> {
    left: std::iter::Peekable<L>,
    right: std::iter::Peekable<R>,
}

impl<'a, L, R> Iterator for Merge<L, R>
where
    L: Iterator<Item = &'a Arc<Entry>>,
    R: Iterator<Item = &'a Arc<Entry>>,
{
    type Item = &'a Arc<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        match (self.left.peek(), self.right.peek()) {
            (Some(left), Some(right)) if right.key < left.key => self.right.next(),
            (Some(_), _) => self.left.next(),
            (None, _) => self.right.next(),
        }
    }
}
