//! Where our keys lie in an etcd that may have other tenants.
//!
//! Below a prefix `/karavel`, the key `pods/a` is etcd's `/karavel/pods/a`. What the client itself keeps there begins
//! with `/karavel` and a zero byte instead of the slash, so it can never be mistaken for an entry, and one range
//! holds both.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::proto::KeyValue;
use crate::entry::Entry;
use crate::key::{Key, Revision};
use crate::query::Span;

/// The place of the store inside etcd.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// The prefix and the slash.
    root: Bytes,
}

/// A range of etcd's keys; without an end it is one key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct KeyRange {
    pub(super) start: Bytes,
    pub(super) end: Bytes,
}

impl Layout {
    /// Trailing slashes of the prefix make no difference.
    pub(super) fn below(prefix: &str) -> Self {
        Self {
            root: format!("{}/", prefix.trim_end_matches('/')).into(),
        }
    }

    /// What etcd calls a key, or the beginning of keys.
    pub(super) fn outer(&self, key: &[u8]) -> Bytes {
        let mut outer = BytesMut::with_capacity(self.root.len().saturating_add(key.len()));
        outer.extend_from_slice(&self.root);
        outer.extend_from_slice(key);
        outer.freeze()
    }

    /// What we call a key of etcd; `None` when it is none of ours.
    pub(super) fn inner<'a>(&self, outer: &'a [u8]) -> Option<&'a [u8]> {
        outer.strip_prefix(&*self.root)
    }

    /// A key of the client's own, beside all entries.
    pub(super) fn reserved(&self, name: &str) -> Bytes {
        let mut key = BytesMut::from(self.prefix());
        key.extend_from_slice(&[0]);
        key.extend_from_slice(name.as_bytes());
        key.freeze()
    }

    /// The keys of a span; `None` when it is empty whatever the store holds.
    pub(super) fn span(&self, span: &Span) -> Option<KeyRange> {
        let end = match span.end() {
            Some(end) => self.outer(&end),
            None => self.beyond(),
        };
        let start = self.outer(span.start());
        (start < end).then_some(KeyRange { start, end })
    }

    /// All entries and the client's own keys.
    pub(super) fn everything(&self) -> KeyRange {
        KeyRange {
            start: self.reserved(""),
            end: self.beyond(),
        }
    }

    /// The entry etcd shows; `None` when the key is none of ours. Key and value get memory of their own: sharing that
    /// of the message would keep the whole message for as long as any of its entries lives.
    pub(super) fn entry(&self, kv: &KeyValue) -> Option<Arc<Entry>> {
        let key = Key::new(Bytes::copy_from_slice(self.inner(&kv.key)?)).ok()?;
        Some(Arc::new(Entry {
            key,
            value: Bytes::copy_from_slice(&kv.value),
            created: revision(kv.create_revision),
            modified: revision(kv.mod_revision),
            version: kv.version.try_into().unwrap_or_default(),
        }))
    }

    fn prefix(&self) -> &[u8] {
        self.root.split_last().map_or(&[], |(_, prefix)| prefix)
    }

    /// The least key after all of ours: the slash raised by one.
    fn beyond(&self) -> Bytes {
        let mut end = BytesMut::from(self.prefix());
        end.extend_from_slice(&[b'/' + 1]);
        end.freeze()
    }
}

/// etcd's revisions are never negative.
pub(super) fn revision(number: i64) -> Revision {
    Revision(number.try_into().unwrap_or_default())
}

/// The number to ask etcd for; `None` when it is beyond all that etcd can count. To etcd zero means *now*, therefore
/// the empty state before all changes is asked for as revision 1, which is the same.
pub(super) fn wire(revision: Revision) -> Option<i64> {
    i64::try_from(revision.0.max(1)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_lie_below_the_prefix_and_come_back_without_it() {
        for (prefix, outer) in [
            ("/karavel", "/karavel/a"),
            ("/karavel/", "/karavel/a"),
            ("", "/a"),
            ("x//", "x/a"),
        ] {
            let layout = Layout::below(prefix);
            assert_eq!(layout.outer(b"a"), outer);
            assert_eq!(layout.inner(outer.as_bytes()), Some(&b"a"[..]));
        }
        let layout = Layout::below("/karavel");
        for foreign in ["/karavel2/a", "/karavel", "/other", ""] {
            assert_eq!(layout.inner(foreign.as_bytes()), None, "{foreign}");
        }
        assert_eq!(layout.inner(&layout.reserved("x")), None);
    }

    #[test]
    fn spans_stay_below_the_prefix() {
        let layout = Layout::below("/k");
        let cases: [(Span, Option<(&str, &str)>); 6] = [
            (Span::default(), Some(("/k/", "/k0"))),
            (Span::Prefix("a".into()), Some(("/k/a", "/k/b"))),
            (
                Span::Prefix(Bytes::from_static(b"\xff")),
                Some(("/k/\u{ff}", "/k0")),
            ),
            (
                Span::Between("a".into(), "c".into()),
                Some(("/k/a", "/k/c")),
            ),
            (Span::Between("c".into(), "a".into()), None),
            (Span::Between("a".into(), "".into()), None),
        ];
        for (span, expected) in cases {
            // `\u{ff}` stands for the byte, which no text can hold.
            let expected = expected.map(|(start, end)| KeyRange {
                start: start.chars().map(|letter| letter as u8).collect(),
                end: Bytes::copy_from_slice(end.as_bytes()),
            });
            assert_eq!(layout.span(&span), expected, "{span:?}");
        }
    }

    #[test]
    fn everything_holds_entries_and_our_own_keys_and_nothing_of_others() {
        let layout = Layout::below("/k");
        let KeyRange { start, end } = layout.everything();
        let holds = |key: &[u8]| *start <= *key && *key < *end;
        assert!(holds(&layout.outer(b"\xff")) && holds(&layout.reserved("x")));
        assert!(!holds(b"/k0/a") && !holds(b"/k2/a") && !holds(b"/k"));
    }
}
