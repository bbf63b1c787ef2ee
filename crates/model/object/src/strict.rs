//! Reading a value as a type without the liberties a general reader takes.
//!
//! A general reader fills a struct from a list, position by position, and takes an object for the name of a choice. Neither
//! is what the author of such an object meant, and it would make the order of fields part of the API.

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    Visitor, value::StrDeserializer,
};
use serde::forward_to_deserialize_any;
use serde_json::Error;

use crate::{Map, Value};

/// A value to be read as a type: structs from objects, lists from lists, choices from text, and nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Strict<'v>(Source<'v>);

#[derive(Clone, Copy, Debug)]
enum Source<'v> {
    Value(&'v Value),
    Fields(&'v Map),
}

impl<'v> From<&'v Value> for Strict<'v> {
    fn from(value: &'v Value) -> Self {
        match value {
            Value::Object(fields) => Self(Source::Fields(fields)),
            other => Self(Source::Value(other)),
        }
    }
}

impl<'v> From<&'v Map> for Strict<'v> {
    fn from(fields: &'v Map) -> Self {
        Self(Source::Fields(fields))
    }
}

impl<'v> Strict<'v> {
    /// What was found, for messages about what was expected.
    fn unexpected(self) -> Unexpected<'v> {
        match self.0 {
            Source::Fields(_) | Source::Value(Value::Object(_)) => Unexpected::Map,
            Source::Value(Value::Null) => Unexpected::Unit,
            Source::Value(Value::Bool(flag)) => Unexpected::Bool(*flag),
            Source::Value(Value::String(text)) => Unexpected::Str(text),
            Source::Value(Value::Array(_)) => Unexpected::Seq,
            Source::Value(Value::Number(number)) => match (number.as_i64(), number.as_u64()) {
                (Some(whole), _) => Unexpected::Signed(whole),
                (None, Some(whole)) => Unexpected::Unsigned(whole),
                (None, None) => Unexpected::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
        }
    }
}

impl<'de> Deserializer<'de> for Strict<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Source::Fields(fields) => visitor.visit_map(Fields {
                left: fields.iter(),
                value: None,
            }),
            Source::Value(Value::Array(items)) => visitor.visit_seq(Items { left: items.iter() }),
            Source::Value(other) => other.deserialize_any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0 {
            Source::Fields(_) => self.deserialize_any(visitor),
            Source::Value(_) => Err(Error::invalid_type(self.unexpected(), &visitor)),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0 {
            Source::Value(Value::String(text)) => {
                let text: StrDeserializer<'de, Error> = text.as_str().into_deserializer();
                visitor.visit_enum(text)
            }
            _ => Err(Error::invalid_type(self.unexpected(), &"a text")),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Source::Value(Value::Null) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

struct Fields<'v> {
    left: serde_json::map::Iter<'v>,
    value: Option<&'v Value>,
}

impl<'v> MapAccess<'v> for Fields<'v> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'v>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some((name, value)) = self.left.next() else {
            return Ok(None);
        };
        self.value = Some(value);
        let name: serde::de::value::BorrowedStrDeserializer<'v, Error> =
            serde::de::value::BorrowedStrDeserializer::new(name);
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'v>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let value = self
            .value
            .take()
            .ok_or_else(|| Error::custom("a value was asked for before its name"))?;
        seed.deserialize(Strict::from(value))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

struct Items<'v> {
    left: std::slice::Iter<'v, Value>,
}

impl<'v> SeqAccess<'v> for Items<'v> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'v>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        self.left
            .next()
            .map(|item| seed.deserialize(Strict::from(item)))
            .transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default)]
    struct Outer {
        name: String,
        inner: Option<Inner>,
        list: Vec<Inner>,
        map: BTreeMap<String, i64>,
        choice: Option<Choice>,
        wide: Option<f64>,
    }

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default)]
    struct Inner {
        size: i32,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    enum Choice {
        Always,
    }

    fn read(value: &Value) -> Result<Outer, String> {
        Outer::deserialize(Strict::from(value)).map_err(|error| error.to_string())
    }

    #[test]
    fn what_fits_is_read_as_anywhere() {
        let value = json!({
            "name": "a", "inner": {"size": 1}, "list": [{"size": 2}, {}], "map": {"x": 3}, "choice": "Always",
            "wide": 1.5, "unknown": [{}],
        });
        assert_eq!(
            read(&value).unwrap(),
            serde_json::from_value(value).unwrap()
        );
        assert_eq!(
            read(&json!({"inner": null, "choice": null})).unwrap(),
            Outer::default()
        );
    }

    #[test]
    fn a_list_is_no_struct_and_an_object_no_choice() {
        for (value, problem) in [
            (json!([]), "invalid type: sequence, expected struct Outer"),
            (
                json!({"inner": [1]}),
                "invalid type: sequence, expected struct Inner",
            ),
            (
                json!({"list": [[2]]}),
                "invalid type: sequence, expected struct Inner",
            ),
            (
                json!({"list": {"0": {}}}),
                "invalid type: map, expected a sequence",
            ),
            (
                json!({"choice": {"Always": null}}),
                "invalid type: map, expected a text",
            ),
            (
                json!({"choice": 3}),
                "invalid type: integer `3`, expected a text",
            ),
            (
                json!({"inner": "x"}),
                "invalid type: string \"x\", expected struct Inner",
            ),
            (
                json!({"inner": {"size": 4_000_000_000_u32}}),
                "invalid value: integer `4000000000`, expected i32",
            ),
        ] {
            assert_eq!(read(&value).unwrap_err(), problem, "{value}");
        }
    }
}
