//! Objects taken over as text, without what is not kept.
//!
//! A list of many objects is mostly put to rest unread, so no tree is made of it. What is left out is skipped in the text:
//! `managedFields` are often longer than the rest of an object.

use std::borrow::Cow;
use std::fmt;

use object::{ObjectKey, ResourceType};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::cache::{Detail, MANAGED_FIELDS, STATUS};

/// An object's text as far as it is kept, and what has to be known of it unread.
#[derive(Debug)]
pub(crate) struct Skimmed {
    pub(crate) key: ObjectKey,
    pub(crate) uid: String,
    pub(crate) revision: String,
    /// Invariant: it can be read as a JSON object.
    pub(crate) text: Box<[u8]>,
}

/// Takes an object's text as far as it is kept.
///
/// Servers leave the kind out of some objects, and call bare metadata by a kind of its own; here every object says what it
/// is, first of all.
pub(crate) fn skim(
    text: &[u8],
    detail: Detail,
    resource: &ResourceType,
) -> Result<Skimmed, serde_json::Error> {
    let mut found = Found::default();
    let mut rest = Vec::with_capacity(text.len());
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    Fields {
        inside: Inside::Object,
        detail,
        found: &mut found,
        rest: &mut rest,
    }
    .deserialize(&mut deserializer)?;
    deserializer.end()?;

    let mut text = Vec::with_capacity(rest.len() + 64);
    text.extend_from_slice(b"{\"apiVersion\":");
    if found.is_bare() {
        serde_json::to_writer(&mut text, &resource.kind.api_version())?;
        text.extend_from_slice(b",\"kind\":");
        serde_json::to_writer(&mut text, &resource.kind.kind)?;
    } else {
        serde_json::to_writer(&mut text, &found.api_version)?;
        text.extend_from_slice(b",\"kind\":");
        serde_json::to_writer(&mut text, &found.kind)?;
    }
    text.extend_from_slice(&rest);
    text.push(b'}');
    // What was skipped over was not looked at closely: numbers without end, halves of characters, a thousand brackets.
    serde_json::from_slice::<Readable>(&text)?;

    Ok(Skimmed {
        key: ObjectKey::namespaced(found.namespace, found.name),
        uid: found.uid.into_owned(),
        revision: found.revision.into_owned(),
        text: text.into_boxed_slice(),
    })
}

/// What is looked at on the way. A field that is no text counts as not there.
#[derive(Default)]
struct Found<'a> {
    api_version: Cow<'a, str>,
    kind: Cow<'a, str>,
    namespace: Cow<'a, str>,
    name: Cow<'a, str>,
    uid: Cow<'a, str>,
    revision: Cow<'a, str>,
}

impl<'a> Found<'a> {
    fn is_bare(&self) -> bool {
        self.kind.is_empty()
            || self.api_version.is_empty()
            || self.kind == "PartialObjectMetadata" && self.api_version.starts_with("meta.k8s.io/")
    }

    /// Where a field goes that is looked at.
    fn place(&mut self, inside: Inside, name: &str) -> Option<&mut Cow<'a, str>> {
        Some(match (inside, name) {
            (Inside::Object, "apiVersion") => &mut self.api_version,
            (Inside::Object, "kind") => &mut self.kind,
            (Inside::Metadata, "namespace") => &mut self.namespace,
            (Inside::Metadata, "name") => &mut self.name,
            (Inside::Metadata, "uid") => &mut self.uid,
            (Inside::Metadata, "resourceVersion") => &mut self.revision,
            _ => return None,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Object,
    Metadata,
}

/// Writes the fields of an object, or of its metadata, as far as they are kept.
struct Fields<'f, 'a> {
    inside: Inside,
    detail: Detail,
    found: &'f mut Found<'a>,
    rest: &'f mut Vec<u8>,
}

impl Fields<'_, '_> {
    fn keeps(&self, name: &str) -> bool {
        match self.inside {
            // These two are written first.
            Inside::Object if matches!(name, "apiVersion" | "kind") => false,
            Inside::Object => self.detail.keeps(name),
            Inside::Metadata => self.detail.keeps_of_metadata(name),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Fields<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        // The object's own fields come after those that are written first.
        let mut is_first = self.inside == Inside::Metadata;
        while let Some(Text(name)) = access.next_key()? {
            let is_kept = self.keeps(&name);
            if is_kept {
                if !std::mem::take(&mut is_first) {
                    self.rest.push(b',');
                }
                serde_json::to_writer(&mut *self.rest, &name).map_err(serde::de::Error::custom)?;
                self.rest.push(b':');
            }
            if self.inside == Inside::Object && name == "metadata" {
                self.rest.push(b'{');
                access.next_value_seed(Fields {
                    inside: Inside::Metadata,
                    detail: self.detail,
                    found: &mut *self.found,
                    rest: &mut *self.rest,
                })?;
                self.rest.push(b'}');
                continue;
            }
            let value: &'de RawValue = access.next_value()?;
            if let Some(place) = self.found.place(self.inside, &name) {
                *place = serde_json::from_str(value.get())
                    .map_or_else(|_| Cow::default(), |Text(text)| text);
            }
            if !is_kept {
                continue;
            }
            let is_cut = self.detail == Detail::Authors
                && self.inside == Inside::Metadata
                && name == MANAGED_FIELDS;
            match is_cut.then(|| authors(value.get())).flatten() {
                Some(authors) => self.rest.extend_from_slice(authors.as_bytes()),
                None => self.rest.extend_from_slice(value.get().as_bytes()),
            }
        }
        Ok(())
    }
}

/// The entries of `managedFields` but for those of the status; `None` if it is no list of such, which is then as
/// whoever reads it finds it.
fn authors(entries: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Entry<'a> {
        #[serde(borrow, default)]
        subresource: Option<Text<'a>>,
    }
    let entries: Vec<&RawValue> = serde_json::from_str(entries).ok()?;
    let kept = entries.into_iter().filter(|entry| {
        let part = serde_json::from_str(entry.get()).map(|Entry { subresource }| subresource);
        !part.is_ok_and(|part| part.is_some_and(|Text(part)| part == STATUS))
    });
    let kept: Vec<&str> = kept.map(RawValue::get).collect();
    Some(format!("[{}]", kept.join(",")))
}

/// A text, borrowed where it is written without escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Whatever can be read; nothing is kept of it.
struct Readable;

impl<'de> Deserialize<'de> for Readable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Readable {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Self, A::Error> {
        while access.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self, A::Error> {
        while access.next_entry::<Self, Self>()?.is_some() {}
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use object::{Object, Value};
    use serde_json::json;

    use super::*;

    const TEXT: &str = r#"{"kind":"X","apiVersion":"v1","metadata":{"managedFields":[{"manager":"m"}],"name":"n","namespace":"s\u0070ace","uid":"u","resourceVersion":"7","labels":{"a":"b"},"deletionTimestamp":"t"},"spec":{"metadata":{"managedFields":1}}}"#;

    const AUTHORED: &str = r#"{"kind":"X","apiVersion":"v1","metadata":{"name":"n","managedFields":[{"manager":"a","fieldsV1":{"f:spec":{}}},{"manager":"b","subresource":"st\u0061tus"},{"manager":"c","subresource":""},{"manager":"d","subresource":null},{"manager":"e","subresource":1},{"manager":"f","subresource":"scale"},7]}}"#;

    fn skimmed(text: &str, detail: Detail) -> Result<Skimmed, serde_json::Error> {
        let resource = ResourceType::namespaced("apps", "v1", "Thing", "things");
        skim(text.as_bytes(), detail, &resource)
    }

    fn read(text: &str, detail: Detail) -> Value {
        serde_json::from_slice(&skimmed(text, detail).unwrap().text).unwrap()
    }

    #[test]
    fn what_is_taken_is_what_trimming_would_leave() {
        for detail in [
            Detail::Whole,
            Detail::WithoutManagedFields,
            Detail::Authors,
            Detail::Metadata,
            Detail::Identity,
        ] {
            for text in [TEXT, AUTHORED] {
                let whole: Object = serde_json::from_str(text).unwrap();
                let trimmed = detail.trim(whole).into_value();
                assert_eq!(read(text, detail), trimmed, "{detail:?} of {text}");
            }
        }
    }

    #[test]
    fn authors_are_those_who_wrote_anything_but_the_status() {
        let authors = read(AUTHORED, Detail::Authors);
        let authors = authors.pointer("/metadata/managedFields").unwrap();
        let expected = json!([
            {"manager": "a", "fieldsV1": {"f:spec": {}}},
            {"manager": "c", "subresource": ""},
            {"manager": "d", "subresource": null},
            {"manager": "e", "subresource": 1},
            {"manager": "f", "subresource": "scale"},
            7,
        ]);
        assert_eq!(*authors, expected);
        let odd = read(r#"{"metadata":{"managedFields":"x"}}"#, Detail::Authors);
        assert_eq!(odd["metadata"]["managedFields"], "x");
    }

    #[test]
    fn what_has_to_be_known_is_found_on_the_way() {
        let found = skimmed(TEXT, Detail::Identity).unwrap();
        assert_eq!(found.key, ObjectKey::namespaced("space", "n"));
        assert_eq!((&*found.uid, &*found.revision), ("u", "7"));
    }

    #[test]
    fn identity_is_little() {
        let expected = json!({
            "kind": "X", "apiVersion": "v1",
            "metadata": {"name": "n", "namespace": "space", "uid": "u", "resourceVersion": "7", "deletionTimestamp": "t"},
        });
        assert_eq!(read(TEXT, Detail::Identity), expected);
    }

    #[test]
    fn an_object_says_what_it_is() {
        let thing = json!({"apiVersion": "apps/v1", "kind": "Thing", "metadata": {"name": "n"}});
        for text in [
            r#"{"metadata":{"name":"n"}}"#,
            r#"{"metadata":{"name":"n"},"kind":"Other"}"#,
            r#"{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"n"}}"#,
        ] {
            assert_eq!(read(text, Detail::Whole), thing, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        let nested = format!(r#"{{"a":{}{}}}"#, "[".repeat(200), "]".repeat(200));
        let texts = [
            "[]",
            "1",
            "{",
            r#"{"metadata":[]}"#,
            "{} {}",
            r#"{"a":1e999}"#,
            r#"{"a":"\ud800"}"#,
            &nested,
        ];
        for text in texts {
            assert!(skimmed(text, Detail::Whole).is_err(), "{text}");
        }
    }
}
