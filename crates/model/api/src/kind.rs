//! What every kind has: a name, an API version, metadata, and a place in the registry.

use std::{fmt, marker::PhantomData};

use object::ObjectMeta;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeOwned, Error, Unexpected, Visitor},
};

use crate::{registry::Resource, schema::optional};

/// A type whose values say what they are: `apiVersion` and `kind`.
pub trait TypeName {
    /// Such as `policy.karmada.io/v1alpha1`.
    const API_VERSION: &'static str;
    /// Such as `PropagationPolicy`.
    const KIND: &'static str;
}

/// A kind of object that is stored and served.
pub trait Kind:
    TypeName + Clone + fmt::Debug + Default + PartialEq + Serialize + DeserializeOwned + JsonSchema
{
    /// What the registry knows of the kind: names, scope, versions.
    const RESOURCE: &'static Resource;
    /// Such as `v1alpha1`.
    const VERSION: &'static str;

    /// The object's metadata.
    fn metadata(&self) -> &ObjectMeta;

    /// The object's metadata, to change it.
    fn metadata_mut(&mut self) -> &mut ObjectMeta;
}

/// The `apiVersion` field of `T`. It holds nothing, because it can have one value only; reading refuses any other.
pub struct ApiVersion<T>(PhantomData<fn() -> T>);

/// The `kind` field of `T`. It holds nothing, because it can have one value only; reading refuses any other.
pub struct KindName<T>(PhantomData<fn() -> T>);

/// Implements for both markers what `derive` would only give for a `T` that has it too.
macro_rules! marker {
    ($marker:ident, $text:ident) => {
        impl<T> Default for $marker<T> {
            fn default() -> Self {
                Self(PhantomData)
            }
        }

        impl<T> Clone for $marker<T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $marker<T> {}

        impl<T> PartialEq for $marker<T> {
            fn eq(&self, _: &Self) -> bool {
                true
            }
        }

        impl<T> Eq for $marker<T> {}

        impl<T: TypeName> fmt::Debug for $marker<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(T::$text)
            }
        }

        impl<T: TypeName> Serialize for $marker<T> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(T::$text)
            }
        }

        impl<'de, T: TypeName> Deserialize<'de> for $marker<T> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Exactly { text: T::$text })?;
                Ok(Self(PhantomData))
            }
        }

        impl<T> JsonSchema for $marker<T> {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($marker).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                // Always written, but need not be given.
                let mut schema = json_schema!({ "type": "string" });
                optional(&mut schema);
                schema
            }
        }
    };
}

marker!(ApiVersion, API_VERSION);
marker!(KindName, KIND);

/// Accepts one text. Absence is accepted too (Go leaves the fields out of items in lists), and so is what reads as
/// absence: `null` and the empty text.
struct Exactly {
    text: &'static str,
}

impl Visitor<'_> for Exactly {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        if text.is_empty() || text == self.text {
            return Ok(());
        }
        Err(E::invalid_value(Unexpected::Str(text), &self))
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::policy::PropagationPolicy;

    fn read(value: Value) -> Result<PropagationPolicy, serde_json::Error> {
        serde_json::from_value(value)
    }

    #[test]
    fn an_object_of_another_kind_or_version_is_refused() {
        for (value, expected) in [
            (
                json!({"kind": "Work"}),
                r#"invalid value: string "Work", expected "PropagationPolicy""#,
            ),
            (
                json!({"apiVersion": "policy.karmada.io/v2"}),
                r#"invalid value: string "policy.karmada.io/v2", expected "policy.karmada.io/v1alpha1""#,
            ),
            (
                json!({"kind": 1}),
                r#"invalid type: integer `1`, expected "PropagationPolicy""#,
            ),
        ] {
            assert_eq!(read(value).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn an_object_that_does_not_say_what_it_is_is_taken_as_asked_and_says_so_when_written() {
        for value in [json!({}), json!({"kind": null, "apiVersion": ""})] {
            let written = serde_json::to_value(read(value).unwrap()).unwrap();
            assert_eq!(written["kind"], "PropagationPolicy");
            assert_eq!(written["apiVersion"], "policy.karmada.io/v1alpha1");
        }
    }
}
