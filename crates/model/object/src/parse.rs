//! Reading objects from bytes nobody has checked.
//!
//! Bad input is an error that names the field and the place; it never panics and never costs more than a small
//! multiple of its own size. A field given twice is reported and the last one wins, so that the caller can refuse,
//! warn or ignore, as `fieldValidation` asks.

use std::fmt;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

use crate::{Map, Value, field::FieldPath, strict::Strict};

/// How deep objects and lists may nest. Real objects stay below 50; the parser recurses once a level.
pub const DEPTH_LIMIT: usize = 120;

/// As many fields given twice are named, and no more bytes of paths than this: a body can repeat a field under a long path
/// very often, and must not cost more than a small multiple of its own size.
const NAMED_DUPLICATES: usize = 64;
const NAMED_BYTES: usize = 64 * 1024;

/// A value read from bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// What was read.
    pub value: Value,
    /// Fields that were given more than once; the last one counts. Of very many only the first are named.
    pub duplicates: Vec<FieldPath>,
}

/// Bytes that are not a value.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// The text breaks JSON's grammar, or a number or string in it cannot be represented.
    #[error("{path}: {problem} at line {line} column {column}")]
    Syntax {
        /// The innermost field being read.
        path: FieldPath,
        /// What is wrong there.
        problem: String,
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
    },
    /// Objects and lists nest deeper than [`DEPTH_LIMIT`].
    #[error("{path}: nested deeper than {DEPTH_LIMIT} levels")]
    TooDeep {
        /// Where the limit was passed.
        path: FieldPath,
    },
}

/// A value that does not have the shape of a type.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct ShapeError {
    /// The field that does not fit.
    pub path: FieldPath,
    /// What was found and what was expected.
    pub problem: String,
}

/// Reads one JSON value; anything but white space after it is an error.
pub fn parse_json(bytes: &[u8]) -> Result<Parsed, ParseError> {
    let mut progress = Progress::default();
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let result = ValueSeed {
        progress: &mut progress,
    }
    .deserialize(&mut deserializer)
    .and_then(|value| deserializer.end().map(|()| value));
    match result {
        Ok(value) => Ok(Parsed {
            value,
            duplicates: progress.duplicates,
        }),
        Err(_) if progress.too_deep => Err(ParseError::TooDeep {
            path: progress.path(),
        }),
        Err(error) => Err(ParseError::Syntax {
            path: progress.path(),
            line: error.line(),
            column: error.column(),
            problem: without_position(&error),
        }),
    }
}

/// Reads a value (or the fields of an object) as a type; the error names the field that does not fit.
pub fn shape<'v, T, V>(value: V) -> Result<T, ShapeError>
where
    T: Deserialize<'v>,
    V: Into<Strict<'v>>,
{
    let value: Strict<'v> = value.into();
    serde_path_to_error::deserialize(value).map_err(|error| ShapeError {
        path: field_path(error.path()),
        problem: error.inner().to_string(),
    })
}

/// What has been read so far; after a failure, where it happened.
#[derive(Default)]
struct Progress {
    segments: Vec<Segment>,
    duplicates: Vec<FieldPath>,
    named_bytes: usize,
    too_deep: bool,
}

enum Segment {
    Field(String),
    Index(usize),
}

impl Progress {
    fn path(&self) -> FieldPath {
        self.segments
            .iter()
            .fold(FieldPath::root(), |path, segment| match segment {
                Segment::Field(name) => path.child(name),
                Segment::Index(position) => path.index(*position),
            })
    }

    fn note_duplicate(&mut self) {
        if self.duplicates.len() < NAMED_DUPLICATES && self.named_bytes < NAMED_BYTES {
            let path = self.path();
            self.named_bytes += path.as_str().len();
            self.duplicates.push(path);
        }
    }

    /// Invariant: every successful entry is left again, so after an error the segments point at the culprit.
    fn enter<E: de::Error>(&mut self, segment: Segment) -> Result<(), E> {
        self.segments.push(segment);
        if self.segments.len() > DEPTH_LIMIT {
            self.too_deep = true;
            return Err(E::custom("nested too deep"));
        }
        Ok(())
    }
}

struct ValueSeed<'p> {
    progress: &'p mut Progress,
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(whole(value).map_or_else(|| Value::from(value), Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        loop {
            self.progress.enter(Segment::Index(items.len()))?;
            let Some(item) = access.next_element_seed(ValueSeed {
                progress: self.progress,
            })?
            else {
                self.progress.segments.pop();
                return Ok(Value::Array(items));
            };
            self.progress.segments.pop();
            items.push(item);
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = access.next_key::<String>()? {
            self.progress.enter(Segment::Field(name.clone()))?;
            let value = access.next_value_seed(ValueSeed {
                progress: self.progress,
            })?;
            if fields.insert(name, value).is_some() {
                self.progress.note_duplicate();
            }
            self.progress.segments.pop();
        }
        Ok(Value::Object(fields))
    }
}

/// Upstream: Go prints `1.0` and `1e3` as `1` and `1000`, so an integral number is an integer after one trip.
fn whole(value: f64) -> Option<Number> {
    /// An integral `f64` below this is some `i64` exactly, so the conversion below loses nothing.
    const EXACT: f64 = 9_223_372_036_854_775_808.0; // 2^63
    if value.fract() != 0.0 || value.abs() >= EXACT {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "integral and within 2^63")]
    Some(Number::from(value as i64))
}

/// The position is a field of the error; its text need not repeat it.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rfind(" at line ")
        .and_then(|end| text.get(..end))
        .map_or(text.clone(), str::to_owned)
}

fn field_path(path: &serde_path_to_error::Path) -> FieldPath {
    use serde_path_to_error::Segment;
    path.iter()
        .fold(FieldPath::root(), |path, segment| match segment {
            Segment::Seq { index } => path.index(*index),
            Segment::Map { key } => path.child(key),
            Segment::Enum { variant } => path.child(variant),
            Segment::Unknown => path,
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(text: &[u8]) -> String {
        parse_json(text).expect_err("must be refused").to_string()
    }

    #[test]
    fn values_are_read_in_order_with_whole_numbers_whole() {
        let parsed =
            parse_json(br#" {"b": 1.0, "a": [1e3, 0.5, -0, null, true, "x", 1e18]} "#).unwrap();
        assert_eq!(
            parsed.value.to_string(),
            r#"{"b":1,"a":[1000,0.5,0,null,true,"x",1000000000000000000]}"#
        );
        assert!(parsed.duplicates.is_empty());
    }

    #[test]
    fn a_field_given_twice_is_named_and_the_last_counts() {
        let parsed = parse_json(br#"{"spec": {"a": 1, "l": [{"x": 1, "x": 2}], "a": 2}}"#).unwrap();
        let names: Vec<String> = parsed.duplicates.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["spec.l[0].x", "spec.a"]);
        assert_eq!(parsed.value, json!({"spec": {"a": 2, "l": [{"x": 2}]}}));
    }

    #[test]
    fn repeating_a_field_under_a_long_path_costs_no_more_than_its_own_size() {
        let name = "x".repeat(1000);
        let repeated = vec!["\"a\":1"; 20_000].join(",");
        let text = format!(
            "{}{{{repeated}}}{}",
            format!("{{\"{name}\":").repeat(110),
            "}".repeat(110)
        );
        let parsed = parse_json(text.as_bytes()).unwrap();
        let bytes: usize = parsed
            .duplicates
            .iter()
            .map(|path| path.as_str().len())
            .sum();
        assert!(
            !parsed.duplicates.is_empty() && bytes < text.len(),
            "{bytes} bytes of {}",
            text.len()
        );
    }

    #[test]
    fn refusals_name_the_field_and_the_place() {
        for (text, expected) in [
            (
                &b""[..],
                "<root>: EOF while parsing a value at line 1 column 0",
            ),
            (
                b"{",
                "<root>: EOF while parsing an object at line 1 column 1",
            ),
            (
                br#"{"a": {"b": [1, }]}}"#,
                "a.b[1]: expected value at line 1 column 17",
            ),
            (
                br#"{"a": 1} x"#,
                "<root>: trailing characters at line 1 column 10",
            ),
            (
                br#"{"a": "x"#,
                "a: EOF while parsing a string at line 1 column 8",
            ),
            (
                br#"{"a": 1e999}"#,
                "a: number out of range at line 1 column 11",
            ),
            (
                b"{\"a\": \"\xff\"}",
                "a: invalid unicode code point at line 1 column 8",
            ),
            (
                br#"{"a": "\ud800"}"#,
                "a: unexpected end of hex escape at line 1 column 14",
            ),
            (b"{\"a\": nul}", "a: expected ident at line 1 column 10"),
        ] {
            assert_eq!(refusal(text), expected, "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn deep_nesting_is_refused_before_the_stack_is_spent() {
        for deep in [DEPTH_LIMIT + 1, 10_000, 1_000_000] {
            for text in ["[".repeat(deep), r#"{"a":"#.repeat(deep)] {
                assert!(refusal(text.as_bytes()).ends_with("nested deeper than 120 levels"));
            }
        }
        let nested = format!(
            "{}{}",
            "[".repeat(DEPTH_LIMIT - 1),
            "]".repeat(DEPTH_LIMIT - 1)
        );
        assert!(parse_json(nested.as_bytes()).is_ok());
    }

    #[test]
    fn a_wrong_shape_names_the_field() {
        #[derive(Debug, serde::Deserialize)]
        #[expect(dead_code, reason = "only read by the parser")]
        struct Shape {
            list: Vec<std::collections::BTreeMap<String, i32>>,
        }
        let problem = |value| {
            shape::<Shape, _>(&value)
                .expect_err("must not fit")
                .to_string()
        };
        assert_eq!(
            problem(json!({"list": [{"a": 1}, {"b": "two"}]})),
            "list[1].b: invalid type: string \"two\", expected i32"
        );
        assert_eq!(
            problem(json!({"list": [{"a": 3_000_000_000_u32}]})),
            "list[0].a: invalid value: integer `3000000000`, expected i32"
        );
        assert_eq!(problem(json!({})), "<root>: missing field `list`");
    }
}
