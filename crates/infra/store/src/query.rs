//! Reading many keys at once.

use std::sync::Arc;

use bytes::Bytes;

use crate::entry::Entry;
use crate::key::Revision;

/// Which keys to read, as of when, and how many.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Query {
    /// Where to look.
    pub span: Span,
    /// Stop after this many entries; 0 means all.
    pub limit: usize,
    /// The state to read; `None` is the newest. The state of every revision from the compacted one on can be read.
    pub at: Option<Revision>,
    /// Whether [`Page::remaining`] is wanted: counting costs a walk over the keys left out.
    pub count: bool,
}

/// A contiguous set of keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Span {
    /// Every key that begins with these bytes; no bytes mean every key.
    Prefix(Bytes),
    /// From the first bytes on (inclusive) up to the second (exclusive). Empty when they are the wrong way round.
    Between(Bytes, Bytes),
}

impl Default for Span {
    fn default() -> Self {
        Self::Prefix(Bytes::new())
    }
}

impl Query {
    /// All keys with a prefix, newest state, no limit.
    pub fn prefix(prefix: impl Into<Bytes>) -> Self {
        Self {
            span: Span::Prefix(prefix.into()),
            ..Self::default()
        }
    }

    /// All keys from `start` up to but without `end`, newest state, no limit.
    pub fn between(start: impl Into<Bytes>, end: impl Into<Bytes>) -> Self {
        Self {
            span: Span::Between(start.into(), end.into()),
            ..Self::default()
        }
    }

    /// Reads at most `limit` entries.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Reads an older state.
    #[must_use]
    pub fn at(mut self, revision: Revision) -> Self {
        self.at = Some(revision);
        self
    }

    /// Counts what the limit left out.
    #[must_use]
    pub fn counting(mut self) -> Self {
        self.count = true;
        self
    }
}

impl Span {
    /// The first key that may be inside.
    #[must_use]
    pub fn start(&self) -> &[u8] {
        match self {
            Self::Prefix(start) | Self::Between(start, _) => start,
        }
    }

    /// The first key that is beyond; `None` when nothing is.
    #[must_use]
    pub fn end(&self) -> Option<Bytes> {
        match self {
            Self::Between(_, end) => Some(end.clone()),
            Self::Prefix(prefix) => after_prefix(prefix),
        }
    }

    /// Whether a key is inside.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        match self {
            Self::Prefix(prefix) => key.starts_with(prefix),
            Self::Between(start, end) => *start <= key && key < end,
        }
    }
}

/// The least bytes greater than everything with this prefix: the prefix without its trailing 0xff, last byte raised.
fn after_prefix(prefix: &[u8]) -> Option<Bytes> {
    let last = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut end = prefix.get(..=last)?.to_vec();
    if let Some(byte) = end.last_mut() {
        *byte = byte.saturating_add(1);
    }
    Some(end.into())
}

/// Some of the entries asked for, in the order of their keys, all as of one revision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    /// The entries.
    pub entries: Vec<Arc<Entry>>,
    /// The revision of the state they were read from: ask for it again to continue the list consistently, or watch
    /// after it to follow what comes next.
    pub revision: Revision,
    /// Whether the limit left something out. To continue, start just after the last key (that key and a zero byte).
    pub more: bool,
    /// How many entries the limit left out, if that was asked for.
    pub remaining: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_prefix_is_the_least_key_beyond_it() {
        let cases: [(&[u8], Option<&[u8]>); 5] = [
            (b"", None),
            (b"a", Some(b"b")),
            (b"a\xff", Some(b"b")),
            (b"\xff\xff", None),
            (b"a/", Some(b"a0")),
        ];
        for (prefix, end) in cases {
            assert_eq!(after_prefix(prefix).as_deref(), end, "{prefix:?}");
        }
    }
}
