//! How fields travel: the rules the kinds share for writing zero values and for reading `null`.
//!
//! Writing follows Go's encoder, because stored objects and other people's clients expect its shape: an optional
//! field is left out when it holds its zero value, a required one is always written. A required list that is empty is
//! written as `[]`, where Go may write `null`, because schemas refuse the latter. Reading follows Go's decoder: an
//! absent field, and a `null`, mean the zero value.

use serde::{
    Deserialize, Serialize, Serializer,
    de::{IgnoredAny, MapAccess},
};

/// Whether an optional field is left out of the written object: it holds its zero value.
pub(crate) fn absent<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Reads a value, taking `null` for the zero value.
pub(crate) use object::metadata::null_is_default as nullable;

/// Writes an empty list as `null`, for the few lists that Go declares as required and leaves unset.
pub(crate) fn null_when_empty<S, T>(list: &[T], serializer: S) -> Result<S::Ok, S::Error>
where
    S: Serializer,
    T: Serialize,
{
    if list.is_empty() {
        return serializer.serialize_none();
    }
    list.serialize(serializer)
}

/// A group of fields that another type writes among its own, as Go does with embedded structs.
///
/// Serde's `flatten` would read the same, but it buffers the whole object first and then reports errors without the
/// path of the field.
pub(crate) trait Inline: Default {
    /// Reads the value of the field called `key` if it belongs to this group, and says whether it did.
    fn read_field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        map: &mut A,
    ) -> Result<bool, A::Error>;
}

/// Reads the next value of a map, taking `null` for the zero value.
pub(crate) fn next_nullable<'de, A, T>(map: &mut A) -> Result<T, A::Error>
where
    A: MapAccess<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(map.next_value::<Option<T>>()?.unwrap_or_default())
}

/// Passes over the next value of a map: a field nobody knows.
pub(crate) fn skip<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>().map(drop)
}

/// Implements [`Inline`] for a type whose every field tolerates `null`.
macro_rules! inline_group {
    ($type:ident { $($key:literal => $field:ident),+ $(,)? }) => {
        impl $crate::wire::Inline for $type {
            fn read_field<'de, A: serde::de::MapAccess<'de>>(
                &mut self,
                key: &str,
                map: &mut A,
            ) -> Result<bool, A::Error> {
                match key {
                    $($key => self.$field = $crate::wire::next_nullable(map)?,)+
                    _ => return Ok(false),
                }
                Ok(true)
            }
        }
    };
}

/// Implements `Deserialize` for a type that has some fields of its own and one [`Inline`] group.
macro_rules! read_with_inline {
    ($type:ident { $($key:literal => $field:ident),+ ; $group:ident }) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Fields;

                impl<'de> serde::de::Visitor<'de> for Fields {
                    type Value = $type;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> Result<$type, A::Error> {
                        let mut value = $type::default();
                        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
                            match &*key {
                                $($key => value.$field = $crate::wire::next_nullable(&mut map)?,)+
                                other => {
                                    if !$crate::wire::Inline::read_field(&mut value.$group, other, &mut map)? {
                                        $crate::wire::skip(&mut map)?;
                                    }
                                }
                            }
                        }
                        Ok(value)
                    }
                }

                deserializer.deserialize_map(Fields)
            }
        }
    };
}

pub(crate) use {inline_group, read_with_inline};
