//! Objects read without what is not kept. What is left out is skipped in the text and never built: `managedFields` are
//! often longer than the rest of an object.

use std::borrow::Cow;
use std::fmt;

use object::{Map, Object, Value};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use crate::cache::Detail;

/// Reads an object as far as it is kept.
pub(crate) fn read(text: &[u8], detail: Detail) -> Result<Object, serde_json::Error> {
    if detail == Detail::Whole {
        return serde_json::from_slice(text);
    }
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let fields = Fields {
        detail,
        inside: Inside::Object,
    }
    .deserialize(&mut deserializer)?;
    deserializer.end()?;
    Object::from_value(Value::Object(fields)).map_err(serde_json::Error::custom)
}

struct Fields {
    detail: Detail,
    inside: Inside,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Object,
    Metadata,
}

impl Fields {
    fn keeps(&self, name: &str) -> bool {
        match self.inside {
            Inside::Object => self.detail.keeps(name),
            Inside::Metadata => self.detail.keeps_of_metadata(name),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Fields {
    type Value = Map;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Map, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields {
    type Value = Map;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Map, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = access.next_key::<Cow<'_, str>>()? {
            if !self.keeps(&name) {
                access.next_value::<IgnoredAny>()?;
                continue;
            }
            let value = if self.inside == Inside::Object && name == "metadata" {
                Value::Object(access.next_value_seed(Fields {
                    detail: self.detail,
                    inside: Inside::Metadata,
                })?)
            } else {
                access.next_value()?
            };
            fields.insert(name.into_owned(), value);
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TEXT: &str = r#"{"kind":"X","apiVersion":"v1","metadata":{"managedFields":[{"manager":"m"}],"name":"n","uid":"u","labels":{"a":"b"},"deletionTimestamp":"t"},"spec":{"metadata":{"managedFields":1}}}"#;

    #[test]
    fn what_is_read_is_what_trimming_would_leave() {
        for detail in [
            Detail::Whole,
            Detail::WithoutManagedFields,
            Detail::Metadata,
            Detail::Identity,
        ] {
            let whole: Object = serde_json::from_str(TEXT).unwrap();
            assert_eq!(
                read(TEXT.as_bytes(), detail).unwrap(),
                detail.trim(whole),
                "{detail:?}"
            );
        }
    }

    #[test]
    fn identity_is_little() {
        let read = read(TEXT.as_bytes(), Detail::Identity)
            .unwrap()
            .into_value();
        let expected = json!({
            "kind": "X", "apiVersion": "v1",
            "metadata": {"name": "n", "uid": "u", "deletionTimestamp": "t"},
        });
        assert_eq!(read, expected);
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in ["[]", "1", "{", r#"{"metadata":[]}"#, "{} {}"] {
            assert!(read(text.as_bytes(), Detail::Identity).is_err(), "{text}");
        }
    }
}
