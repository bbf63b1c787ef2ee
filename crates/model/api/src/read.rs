//! Between dynamic objects and types.
//!
//! Objects belong to their authors: a type knows some of their fields, never all. So an object is read into a type to
//! look at it, and changed through [`edit`], which carries over only what the change touched.

use object::{Object, parse::ShapeError, patch, strict::Strict};
use serde::Serialize;
use serde_json::Value;

use crate::kind::Kind;

/// Why an object could not be read as a type, or written from one.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The object is of another kind.
    #[error("expected {expected}, found {found}")]
    Kind {
        /// API version and kind that were asked for.
        expected: String,
        /// What the object says it is.
        found: String,
    },
    /// A field does not fit the type.
    #[error("cannot read {kind}")]
    Field {
        /// The kind that was asked for.
        kind: &'static str,
        /// Where, and what was found there.
        source: ShapeError,
    },
}

/// Reads an object as its type. The object must say that it is of that kind and version, or nothing at all.
pub fn read<T: Kind>(object: &Object) -> Result<T, ReadError> {
    let (api_version, kind) = (object.api_version(), object.kind());
    let differs = |found: &str, expected: &str| !found.is_empty() && found != expected;
    if differs(api_version, T::API_VERSION) || differs(kind, T::KIND) {
        return Err(ReadError::Kind {
            expected: format!("{}, Kind={}", T::API_VERSION, T::KIND),
            found: format!("{api_version}, Kind={kind}"),
        });
    }
    // The quick way first: keeping track of the path costs more than the reading itself, and matters only to say
    // where it failed.
    T::deserialize(Strict::from(object.fields()))
        .or_else(|_| object.read())
        .map_err(|source| ReadError::Field {
            kind: T::KIND,
            source,
        })
}

/// Writes a value as a dynamic object.
#[must_use]
pub fn write<T: Kind>(value: &T) -> Object {
    Object::from_value(to_value(value)).expect("invariant: kinds are written as JSON objects")
}

/// Changes an object through its type: `change` sees what the type knows, and what it alters is carried over; all
/// other fields stay, in their order.
pub fn edit<T: Kind>(object: &Object, change: impl FnOnce(&mut T)) -> Result<Object, ReadError> {
    let mut value: T = read(object)?;
    let before = to_value(&value);
    change(&mut value);
    let after = to_value(&value);
    let raw = Value::Object(object.fields().clone());
    let edited = patch::overlay(raw, &before, &after);
    Object::from_value(edited).map_err(|source| ReadError::Field {
        kind: T::KIND,
        source,
    })
}

fn to_value<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).expect(
        "invariant: kinds have text keys and finite numbers, so they can be written as JSON",
    )
}
