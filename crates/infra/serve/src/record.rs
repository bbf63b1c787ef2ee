//! One object at one revision: the text handed out, and the little that must be known without parsing it.
//!
//! An object is encoded once, when it is written, and kept packed ([`object::packing`]). The stored text leaves the
//! revision out, because only the store can assign it; [`Record::write_to`] puts it in while unpacking, so get, list and
//! watch share one copy of every object.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use object::packing::{self, NotPacked};
use object::{Map, Value};
use store::{Entry, Revision};

use crate::cache;
use crate::head::{Facts, Head};

/// An object at one revision.
#[derive(Debug)]
pub struct Record {
    entry: Arc<Entry>,
    /// Where the revision belongs: just after the opening brace of `metadata`.
    slot: u16,
    /// Where in the entry's key the names of the object begin.
    names: u16,
    facts: Facts,
}

/// Stored bytes that are no object of ours.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The bytes do not begin as every stored object does.
    #[error(
        "the value under key {key} is not a stored object: it does not begin with apiVersion, kind and metadata"
    )]
    Layout {
        /// Where it was found.
        key: String,
    },
    /// The key does not name a resource and an object of it.
    #[error(
        "the key {key} is none of a stored object: it does not end with a group, a resource and a name"
    )]
    Key {
        /// The key.
        key: String,
    },
    /// The bytes are damaged.
    #[error("the value under key {key} is not a stored object")]
    Packing {
        /// Where it was found.
        key: String,
        /// What is wrong with it.
        source: NotPacked,
    },
    /// The metadata cannot be read.
    #[error("the value under key {key} is not a stored object")]
    Head {
        /// Where it was found.
        key: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// What stands before the slot.
const BEFORE_SLOT: &[u8] = b"\"metadata\":{";
/// The layout puts the slot this near to the beginning: both names before it are short.
const SLOT_WITHIN: usize = 1024;

impl Record {
    /// Reads the head of a stored object.
    pub fn new(entry: Arc<Entry>) -> Result<Self, RecordError> {
        let key = || entry.key.to_string();
        let text = packing::unpack(&entry.value)
            .map_err(|source| RecordError::Packing { key: key(), source })?;
        let start = text.get(..SLOT_WITHIN.min(text.len())).unwrap_or_default();
        let slot = start
            .windows(BEFORE_SLOT.len())
            .position(|window| window == BEFORE_SLOT)
            .and_then(|position| u16::try_from(position + BEFORE_SLOT.len()).ok())
            .ok_or_else(|| RecordError::Layout { key: key() })?;
        let facts =
            Facts::read(&text).map_err(|source| RecordError::Head { key: key(), source })?;
        drop(text);
        let names = cache::split_key(entry.key.as_ref())
            .and_then(|(_, names)| u16::try_from(entry.key.as_ref().len() - names.len()).ok())
            .ok_or_else(|| RecordError::Key { key: key() })?;
        Ok(Self {
            entry,
            slot,
            names,
            facts,
        })
    }

    /// Its key among the objects of its kind: `namespace/name`, or `name` for cluster-scoped ones.
    #[must_use]
    pub fn key(&self) -> &str {
        std::str::from_utf8(self.key_bytes())
            .expect("invariant: the key was text when it was split")
    }

    /// The same, for comparing.
    pub(crate) fn key_bytes(&self) -> &[u8] {
        let key: &[u8] = self.entry.key.as_ref();
        key.get(usize::from(self.names)..).unwrap_or_default()
    }

    /// Whether it is in a namespace.
    #[must_use]
    pub fn is_in(&self, namespace: &str) -> bool {
        let name = self.key_bytes().strip_prefix(namespace.as_bytes());
        name.is_some_and(|name| name.first() == Some(&b'/'))
    }

    /// The stored text, which has no revision in it.
    fn text(&self) -> Cow<'_, [u8]> {
        packing::unpack(&self.entry.value).expect("invariant: the head of this text was read")
    }

    /// Whether it is written in a version, which the layout puts first.
    #[must_use]
    pub fn is_of(&self, api_version: &str) -> bool {
        let text = self.text();
        let rest = text.strip_prefix(b"{\"apiVersion\":\"");
        let rest = rest.and_then(|rest| rest.strip_prefix(api_version.as_bytes()));
        rest.is_some_and(|rest| rest.starts_with(b"\""))
    }

    /// When it was written.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.entry.modified
    }

    /// What is known without parsing.
    #[must_use]
    pub fn head(&self) -> Head<'_> {
        let key = self.key();
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        self.facts.head(namespace, name)
    }

    /// Where the revision belongs.
    fn slot(&self) -> usize {
        usize::from(self.slot)
    }

    /// The entry it was read from.
    #[must_use]
    pub fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }

    /// Appends the JSON of the object as of `revision`, which is its own but for the last state of a deleted object.
    pub fn write_at(&self, revision: Revision, out: &mut Vec<u8>) {
        let text = self.text();
        let (before, after) = text.split_at(self.slot());
        out.reserve(text.len() + REVISION_ROOM);
        out.extend_from_slice(before);
        write_revision(revision, after, out);
        out.extend_from_slice(after);
    }

    /// Appends the JSON of the object without its version and kind, which the layout puts first.
    pub fn write_item(&self, out: &mut Vec<u8>) {
        let metadata = self.slot().saturating_sub(BEFORE_SLOT.len());
        let text = self.text();
        let named = text.get(metadata..).unwrap_or_default();
        let (before, after) = named.split_at(BEFORE_SLOT.len().min(named.len()));
        out.reserve(named.len() + REVISION_ROOM);
        out.push(b'{');
        out.extend_from_slice(before);
        write_revision(self.revision(), after, out);
        out.extend_from_slice(after);
    }

    /// Appends the JSON of the object's metadata alone, as clients that ask for no more are answered.
    pub fn write_metadata_at(&self, revision: Revision, out: &mut Vec<u8>) {
        let text = self.text();
        let after = text.get(self.slot()..).unwrap_or_default();
        let metadata = after.get(..end_of_braces(after)).unwrap_or_default();
        out.reserve(metadata.len() + BARE.len() + REVISION_ROOM);
        out.extend_from_slice(BARE);
        write_revision(revision, metadata, out);
        out.extend_from_slice(metadata);
        out.push(b'}');
    }

    /// Appends the JSON of the object.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        self.write_at(self.revision(), out);
    }

    /// The JSON of the object.
    #[must_use]
    pub fn json(&self) -> Bytes {
        let mut out = Vec::new();
        self.write_to(&mut out);
        out.into()
    }

    /// The object itself, for those who change it.
    #[must_use]
    pub fn value(&self) -> Value {
        let mut value: Value = serde_json::from_slice(&self.text())
            .expect("invariant: the head of this text was read");
        set_revision(&mut value, self.revision());
        value
    }
}

/// Puts a revision into an object.
pub(crate) fn set_revision(object: &mut Value, revision: Revision) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        let revision = Value::from(revision.to_string());
        metadata.insert("resourceVersion".to_owned(), revision);
    }
}

/// `"resourceVersion":"18446744073709551615",` and a little.
const REVISION_ROOM: usize = 48;

/// What stands before the metadata of an object that is shown without the rest.
const BARE: &[u8] =
    br#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"#;

/// Appends the revision, as the first of the fields that follow.
fn write_revision(revision: Revision, following: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"\"resourceVersion\":\"");
    out.extend_from_slice(revision.to_string().as_bytes());
    out.extend_from_slice(match following.first() {
        Some(b'}') => b"\"",
        _ => b"\",",
    });
}

/// How long the rest of an object is, of which the opening brace has been read; with its closing brace.
fn end_of_braces(text: &[u8]) -> usize {
    let (mut depth, mut in_string, mut escaped) = (1_usize, false, false);
    for (position, byte) in text.iter().enumerate() {
        match byte {
            _ if std::mem::take(&mut escaped) => {}
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' if !in_string => depth += 1,
            b'}' if !in_string => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return position + 1;
        }
    }
    text.len()
}

/// The bytes an object is stored as: its text packed, with `apiVersion`, `kind` and `metadata` first, without the revision;
/// the other fields in their own order.
#[must_use]
pub fn encode(object: &Map) -> Bytes {
    let mut out = Vec::with_capacity(512);
    out.push(b'{');
    for name in ["apiVersion", "kind"] {
        write_field(&mut out, name, object.get(name).unwrap_or(&Value::Null));
        out.push(b',');
    }
    out.extend_from_slice(BEFORE_SLOT);
    let mut first = true;
    for (name, value) in object
        .get("metadata")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        if name == "resourceVersion" || name == "selfLink" {
            continue;
        }
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        write_field(&mut out, name, value);
    }
    out.push(b'}');
    for (name, value) in object {
        if matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
            continue;
        }
        out.push(b',');
        write_field(&mut out, name, value);
    }
    out.push(b'}');
    packing::pack(&out).into()
}

fn write_field(out: &mut Vec<u8>, name: &str, value: &Value) {
    serde_json::to_writer(&mut *out, name).expect("invariant: a string always encodes");
    out.push(b':');
    serde_json::to_writer(&mut *out, value).expect("invariant: a value always encodes");
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use store::Key;

    use super::*;

    fn record(object: &Value, revision: u64) -> Record {
        let entry = Entry {
            key: Key::new("/registry/core/things/x").unwrap(),
            value: encode(object.as_object().unwrap()),
            created: Revision(1),
            modified: Revision(revision),
            version: 1,
        };
        Record::new(Arc::new(entry)).unwrap()
    }

    #[test]
    fn damage_anywhere_is_found_when_the_object_is_met() {
        let begin = br#"{"apiVersion":"v1","kind":"Thing","metadata":{"name":"x"},"data":{"k":""#;
        for (rest, is_sound) in [
            (&b"v\"}}"[..], true),
            (b"\\ud83d\\ude00\"}}", true),
            (b"\\\\ud83d\"}}", true),
            (b"\xff\"}}", false),
            (b"\\ud83d\"}}", false),
            (b"v\"}", false),
            (b"v\"}}}", false),
        ] {
            let entry = Entry {
                key: Key::new("/registry/core/things/x").unwrap(),
                value: [&begin[..], rest].concat().into(),
                created: Revision(1),
                modified: Revision(1),
                version: 1,
            };
            let read = Record::new(Arc::new(entry));
            assert_eq!(read.is_ok(), is_sound, "{}", rest.escape_ascii());
            if let Ok(record) = read {
                assert!(record.value().is_object());
            }
        }
    }

    #[test]
    fn an_object_comes_back_with_its_revision_and_its_own_order() {
        let written = json!({
            "spec": {"z": 1, "a": {"metadata": {}}}, "kind": "Thing",
            "metadata": {"labels": {"b": "2", "a": "1"}, "name": "t", "resourceVersion": "5", "novel": [1]},
            "apiVersion": "x/v1", "extra": true,
        });
        let record = record(&written, 42);
        assert_eq!(
            std::str::from_utf8(&record.json()).unwrap(),
            r#"{"apiVersion":"x/v1","kind":"Thing","metadata":{"resourceVersion":"42","labels":{"b":"2","a":"1"},"name":"t","novel":[1]},"spec":{"z":1,"a":{"metadata":{}}},"extra":true}"#
        );
        let mut expected = written;
        expected["metadata"]["resourceVersion"] = json!("42");
        assert_eq!(record.value(), expected);
        assert_eq!(
            serde_json::from_slice::<Value>(&record.json()).unwrap(),
            expected
        );
        let mut item = Vec::new();
        record.write_item(&mut item);
        let fields = expected.as_object_mut().unwrap();
        fields.retain(|name, _| name != "kind" && name != "apiVersion");
        assert_eq!(serde_json::from_slice::<Value>(&item).unwrap(), expected);
    }

    #[test]
    fn an_object_is_known_by_its_key() {
        let rows = [
            ("/registry/core/pods/d/p", Some(("d/p", "d", "p"))),
            ("/registry/core/nodes/n", Some(("n", "", "n"))),
            (
                "/registry/rbac.authorization.k8s.io/clusterroles/system:a",
                Some(("system:a", "", "system:a")),
            ),
            ("/registry/core/pods", None),
            ("/elsewhere/core/pods/d/p", None),
        ];
        for (key, expected) in rows {
            let entry = Entry {
                key: Key::new(key).unwrap(),
                value: encode(json!({"metadata": {}}).as_object().unwrap()),
                created: Revision(1),
                modified: Revision(1),
                version: 1,
            };
            let record = Record::new(Arc::new(entry)).ok();
            let found = record.as_ref().map(|record| {
                let head = record.head();
                assert!(head.namespace.is_empty() || record.is_in(head.namespace));
                assert!(!record.is_in("") && !record.is_in("syste") && !record.is_in(record.key()));
                (record.key(), head.namespace, head.name)
            });
            assert_eq!(found, expected, "{key}");
        }
    }

    #[test]
    fn the_metadata_alone_ends_where_it_ends() {
        let awkward = json!({
            "apiVersion": "v1", "kind": "X", "spec": {"a": "}"},
            "metadata": {"name": "n", "annotations": {"}{\\\"": "\\", "text": "{\"a\":\"}\"}"}, "more": {"deep": {}}},
        });
        for object in [
            awkward,
            json!({"apiVersion": "v1", "kind": "X", "metadata": {}}),
        ] {
            let mut out = Vec::new();
            record(&object, 3).write_metadata_at(Revision(9), &mut out);
            let mut expected = json!({
                "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"],
            });
            expected["metadata"]["resourceVersion"] = json!("9");
            let shown: Value = serde_json::from_slice(&out).unwrap();
            assert_eq!(shown, expected);
        }
    }

    #[test]
    fn empty_metadata_and_foreign_bytes_are_handled() {
        let bare = record(&json!({"apiVersion": "v1", "kind": "X", "metadata": {}}), 7);
        assert_eq!(
            std::str::from_utf8(&bare.json()).unwrap(),
            r#"{"apiVersion":"v1","kind":"X","metadata":{"resourceVersion":"7"}}"#
        );
        for foreign in ["", "k8s\0", "{}", "[\"metadata\":{"] {
            let entry = Entry {
                key: Key::new("/registry/core/things/x").unwrap(),
                value: foreign.into(),
                created: Revision(1),
                modified: Revision(1),
                version: 1,
            };
            assert!(Record::new(Arc::new(entry)).is_err(), "{foreign:?}");
        }
    }
}
