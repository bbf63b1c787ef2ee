//! One step of a path into an object, as ownership is recorded: by field, by key, by value or by position.

use std::{cmp::Ordering, fmt, fmt::Write, sync::Arc};

use object::Value;
use serde_json::Number;

use crate::canonical;

/// A step from a value to one inside it.
#[derive(Clone, Debug)]
pub enum PathElement {
    /// A field of an object.
    Field(Arc<str>),
    /// An element of a list, by the values of its key fields, sorted by name.
    Key(Arc<[(Arc<str>, Value)]>),
    /// An element of a set, by itself.
    Value(Arc<Value>),
    /// An element of a list, by its position.
    Index(i64),
}

/// Why a text is no path element.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathElementError {
    /// It does not start with a letter and a colon.
    #[error("path element {text:?} has no type")]
    Untyped {
        /// The text.
        text: String,
    },
    /// Its type is not known; a newer server may have written it.
    #[error("path element {text:?} has an unknown type")]
    Unknown {
        /// The text.
        text: String,
    },
    /// What follows the type cannot be read.
    #[error("path element {text:?} cannot be read: {problem}")]
    Malformed {
        /// The text.
        text: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl PathElement {
    /// A field's name.
    #[must_use]
    pub fn field(name: &str) -> Self {
        Self::Field(Arc::from(name))
    }

    /// Reads the form used as a field name in `fieldsV1`: `f:name`, `k:{…}`, `v:…`, `i:0`.
    ///
    /// # Errors
    /// When it is none of these.
    pub fn parse(text: &str) -> Result<Self, PathElementError> {
        let malformed = |problem: String| PathElementError::Malformed {
            text: text.to_owned(),
            problem,
        };
        let Some((kind, body)) = text.split_at_checked(2) else {
            return Err(PathElementError::Untyped {
                text: text.to_owned(),
            });
        };
        match kind {
            "f:" => Ok(Self::field(body)),
            "v:" => {
                let value =
                    serde_json::from_str(body).map_err(|error| malformed(error.to_string()))?;
                Ok(Self::Value(Arc::new(value)))
            }
            "k:" => {
                let fields: object::Map =
                    serde_json::from_str(body).map_err(|error| malformed(error.to_string()))?;
                Ok(Self::key(
                    fields.into_iter().map(|(name, value)| (name.into(), value)),
                ))
            }
            "i:" => {
                let index = body
                    .parse()
                    .map_err(|error| malformed(format!("{error}")))?;
                Ok(Self::Index(index))
            }
            _ if kind.ends_with(':') => Err(PathElementError::Unknown {
                text: text.to_owned(),
            }),
            _ => Err(PathElementError::Untyped {
                text: text.to_owned(),
            }),
        }
    }

    /// The element with these key fields.
    pub(super) fn key(fields: impl IntoIterator<Item = (Arc<str>, Value)>) -> Self {
        let mut fields: Vec<(Arc<str>, Value)> = fields.into_iter().collect();
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        Self::Key(fields.into())
    }

    /// The form [`PathElement::parse`] reads.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut text = String::new();
        match self {
            Self::Field(name) => {
                text.push_str("f:");
                text.push_str(name);
            }
            Self::Key(fields) => {
                text.push_str("k:{");
                for (place, (name, value)) in fields.iter().enumerate() {
                    if place > 0 {
                        text.push(',');
                    }
                    canonical::write_string(name, &mut text);
                    text.push(':');
                    canonical::write(value, &mut text);
                }
                text.push('}');
            }
            Self::Value(value) => {
                text.push_str("v:");
                canonical::write(value, &mut text);
            }
            Self::Index(index) => {
                let _infallible = write!(text, "i:{index}");
            }
        }
        text
    }
}

impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                f.write_str("[")?;
                for (place, (name, value)) in fields.iter().enumerate() {
                    let comma = if place > 0 { "," } else { "" };
                    write!(f, "{comma}{name}={}", show(value))?;
                }
                f.write_str("]")
            }
            Self::Value(value) => write!(f, "[={}]", show(value)),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// A value inside a path.
fn show(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        other => canonical::text(other),
    }
}

// Invariant: this is the order `fieldsV1` is written in: fields, keys, values, positions.
impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => {
                let pairs = a.iter().zip(b.iter());
                let first = pairs.map(|(a, b)| a.0.cmp(&b.0).then_with(|| compare(&a.1, &b.1)));
                first
                    .into_iter()
                    .find(|order| order.is_ne())
                    .unwrap_or(a.len().cmp(&b.len()))
            }
            (Self::Value(a), Self::Value(b)) => compare(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PathElement {}

impl PathElement {
    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

/// Orders any two values: numbers, strings, booleans, lists, objects, null. `1` and `1.0` are equal.
pub(super) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let pairs = a.iter().zip(b).map(|(a, b)| compare(a, b));
            pairs
                .into_iter()
                .find(|order| order.is_ne())
                .unwrap_or(a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let sorted = |fields: &object::Map| {
                let mut fields: Vec<(String, Value)> = fields
                    .iter()
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect();
                fields.sort_by(|a, b| a.0.cmp(&b.0));
                fields
            };
            let (a, b) = (sorted(a), sorted(b));
            let pairs = a
                .iter()
                .zip(&b)
                .map(|(a, b)| a.0.cmp(&b.0).then_with(|| compare(&a.1, &b.1)));
            pairs
                .into_iter()
                .find(|order| order.is_ne())
                .unwrap_or(a.len().cmp(&b.len()))
        }
        (a, b) => rank(a).cmp(&rank(b)),
    }
}

fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64()) {
        return a.cmp(&b);
    }
    let float = |number: &Number| number.as_f64().unwrap_or(f64::NAN);
    float(a).total_cmp(&float(b))
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

/// Equal as far as ownership is concerned: the order of fields means nothing, `1` and `1.0` are one number.
pub(super) fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, a)| b.get(name).is_some_and(|b| is_same(a, b)))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b).is_eq(),
        (a, b) => a == b,
    }
}

/// Equal down to the order of fields: quick to tell, and most of two objects is.
pub(crate) fn is_identical(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|(a, b)| a.0 == b.0 && is_identical(a.1, b.1))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_identical(a, b))
        }
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn elements_are_read_and_written() {
        for (text, shown) in [
            ("f:spec", ".spec"),
            ("f:a.b/c", ".a.b/c"),
            (r#"k:{"name":"x","port":80}"#, r#"[name="x",port=80]"#),
            (r#"v:"a\"b""#, r#"[="a\"b"]"#),
            ("v:1.5", "[=1.5]"),
            ("v:true", "[=true]"),
            ("i:-3", "[-3]"),
            ("f:", "."),
        ] {
            let element = PathElement::parse(text).unwrap();
            assert_eq!(element.encode(), text);
            assert_eq!(element.to_string(), shown);
        }
        let sorted = PathElement::parse(r#"k:{"b":1,"a":2}"#).unwrap();
        assert_eq!(sorted.encode(), r#"k:{"a":2,"b":1}"#);
    }

    #[test]
    fn other_texts_are_refused() {
        assert!(matches!(
            PathElement::parse(""),
            Err(PathElementError::Untyped { .. })
        ));
        assert!(matches!(
            PathElement::parse("spec"),
            Err(PathElementError::Untyped { .. })
        ));
        assert!(matches!(
            PathElement::parse("z:1"),
            Err(PathElementError::Unknown { .. })
        ));
        for text in ["i:x", "v:", "v:{", "k:[]", "k:{} x"] {
            assert!(
                matches!(
                    PathElement::parse(text),
                    Err(PathElementError::Malformed { .. })
                ),
                "{text}"
            );
        }
    }

    #[test]
    fn elements_sort_by_type_then_content() {
        let texts = [
            "f:a",
            "f:b",
            r#"k:{"a":1}"#,
            r#"k:{"a":1,"b":0}"#,
            r#"k:{"a":2}"#,
            "v:1",
            "v:2.5",
            r#"v:"a""#,
            "v:false",
            "i:1",
            "i:10",
        ];
        let elements: Vec<PathElement> = texts
            .iter()
            .map(|text| PathElement::parse(text).unwrap())
            .collect();
        assert!(elements.is_sorted_by(|a, b| a < b));
        assert_eq!(
            PathElement::Value(Arc::new(json!(1))),
            PathElement::Value(Arc::new(json!(1.0)))
        );
    }
}
