//! What is known of an object without opening it.
//!
//! A server holds one of these for every object, so it is kept as one run of bytes: the uid, the owners and the labels one
//! after the other, each behind its length. The object's names are in its key already.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// What selection, preconditions and garbage collection need of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head<'r> {
    /// Unique in its namespace.
    pub name: &'r str,
    /// Empty for cluster-scoped objects.
    pub namespace: &'r str,
    /// Distinguishes objects of one name in time.
    pub uid: &'r str,
    /// The uids of the owners.
    pub owners: Strings<'r>,
    /// Whether deletion has been asked for.
    pub terminating: bool,
    /// Keys and values by turns, sorted by key.
    labels: Strings<'r>,
}

impl<'r> Head<'r> {
    /// The value of a label.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&'r str> {
        let mut labels = self.labels;
        while let (Some(label), Some(value)) = (labels.next(), labels.next()) {
            if label == key {
                return Some(value);
            }
        }
        None
    }
}

/// Some texts, read from where they are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strings<'r>(&'r [u8]);

impl Strings<'_> {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this is one of them.
    #[must_use]
    pub fn contains(mut self, text: &str) -> bool {
        self.any(|known| known == text)
    }
}

impl<'r> Iterator for Strings<'r> {
    type Item = &'r str;

    fn next(&mut self) -> Option<&'r str> {
        let (text, rest) = split(self.0)?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }
}

/// A head at rest, without what the object's key says.
#[derive(Debug)]
pub(crate) struct Facts {
    bytes: Box<[u8]>,
    terminating: bool,
}

impl Facts {
    /// Reads them from the text of an object.
    pub(crate) fn read(text: &[u8]) -> Result<Self, serde_json::Error> {
        let text = std::str::from_utf8(text).map_err(serde::de::Error::custom)?;
        let skimmed: Skimmed<'_> = serde_json::from_str(text)?;
        // Whoever reads it whole later can be told of no damage. Halves of characters are all that skipping overlooks.
        if text.contains("\\ud") || text.contains("\\uD") {
            serde_json::from_str::<object::Value>(text)?;
        }
        Ok(skimmed.metadata.facts())
    }

    /// The head of the object of these names.
    pub(crate) fn head<'r>(&'r self, namespace: &'r str, name: &'r str) -> Head<'r> {
        let (uid, rest) = split(&self.bytes).unwrap_or_default();
        let (owners, labels) = split(rest).unwrap_or_default();
        Head {
            name,
            namespace,
            uid: std::str::from_utf8(uid).unwrap_or_default(),
            owners: Strings(owners),
            terminating: self.terminating,
            labels: Strings(labels),
        }
    }
}

/// Takes the first run of bytes off: its length, seven bits a byte with the lowest first, and itself.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut length = 0_usize;
    for (position, byte) in bytes.iter().enumerate() {
        length |= usize::from(byte & 0x7f).checked_shl(7 * u32::try_from(position).ok()?)?;
        if byte & 0x80 == 0 {
            return bytes.get(position + 1..)?.split_at_checked(length);
        }
    }
    None
}

/// Appends a run of bytes behind its length.
fn append(run: impl AsRef<[u8]>, out: &mut Vec<u8>) {
    let run = run.as_ref();
    let mut length = run.len();
    while length > 0x7f {
        out.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(run);
}

/// An object as far as a head needs it; the rest is skipped without building it.
#[derive(Deserialize)]
struct Skimmed<'t> {
    #[serde(borrow, default)]
    metadata: Metadata<'t>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'t> {
    #[serde(borrow)]
    uid: Option<Text<'t>>,
    #[serde(borrow)]
    labels: Option<BTreeMap<Text<'t>, Text<'t>>>,
    #[serde(borrow)]
    owner_references: Option<Vec<Owner<'t>>>,
    deletion_timestamp: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Owner<'t> {
    #[serde(borrow)]
    uid: Option<Text<'t>>,
}

/// A text that is copied only if it was written with escapes.
#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Text<'t>(#[serde(borrow)] Cow<'t, str>);

impl Metadata<'_> {
    fn facts(&self) -> Facts {
        let mut owners = Vec::new();
        for owner in self.owner_references.iter().flatten() {
            if let Some(uid) = &owner.uid {
                append(uid, &mut owners);
            }
        }
        let mut bytes = Vec::new();
        append(self.uid.as_ref().map_or("", |uid| &uid.0), &mut bytes);
        append(owners, &mut bytes);
        let labels = self.labels.iter().flatten();
        for text in labels.flat_map(|(key, value)| [key, value]) {
            append(text, &mut bytes);
        }
        Facts {
            bytes: bytes.into_boxed_slice(),
            terminating: self.deletion_timestamp.is_some(),
        }
    }
}

impl AsRef<[u8]> for Text<'_> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_head_has_what_selection_needs() {
        let text = json!({
            "metadata": {
                "name": "p", "namespace": "d", "uid": "u\u{e4}", "labels": {"b": "2", "a": "1", "empty": ""},
                "ownerReferences": [{"uid": "o1"}, {"name": "without"}, {"uid": "o2"}],
                "deletionTimestamp": "2026-01-01T00:00:00Z",
            },
            "spec": {"metadata": {"uid": "another"}},
        });
        let facts = Facts::read(text.to_string().as_bytes()).unwrap();
        let head = facts.head("d", "p");
        assert_eq!((head.name, head.namespace, head.uid), ("p", "d", "u\u{e4}"));
        for (label, expected) in [
            ("a", Some("1")),
            ("b", Some("2")),
            ("empty", Some("")),
            ("c", None),
            ("1", None),
        ] {
            assert_eq!(head.label(label), expected, "{label}");
        }
        assert_eq!(head.owners.collect::<Vec<_>>(), ["o1", "o2"]);
        assert!(head.owners.contains("o2") && !head.owners.contains("o"));
        assert!(head.terminating);
    }

    #[test]
    fn what_is_not_there_is_empty() {
        for text in [
            r#"{}"#,
            r#"{"metadata":{}}"#,
            r#"{"metadata":{"labels":null,"ownerReferences":null,"deletionTimestamp":null}}"#,
        ] {
            let facts = Facts::read(text.as_bytes()).unwrap();
            let head = facts.head("", "n");
            assert_eq!((head.uid, head.label("a")), ("", None), "{text}");
            assert!(head.owners.is_empty() && !head.terminating, "{text}");
        }
    }

    #[test]
    fn long_texts_are_kept_whole() {
        for length in [0, 1, 127, 128, 129, 16_383, 16_384, 100_000] {
            let value = "x".repeat(length);
            let text = json!({"metadata": {"uid": value, "labels": {"a": value, "b": "last"}}});
            let facts = Facts::read(text.to_string().as_bytes()).unwrap();
            let head = facts.head("", "n");
            assert_eq!(head.uid, value);
            assert_eq!(head.label("a"), Some(&*value));
            assert_eq!(head.label("b"), Some("last"), "{length}");
        }
    }
}
