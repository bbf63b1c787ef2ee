//! What expressions compute: values that borrow from the objects they come from as far as they can.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;

use object::quantity::Quantity;

use crate::authorizer::{Check, Decision};
use crate::functions::names::Format;
use crate::functions::net::Cidr;
use crate::functions::semver::Semver;
use crate::functions::url::Url;
use crate::json;
use crate::ty::{Opaque, Type};

/// A value. It borrows from the objects given to a program, and from the program.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// Nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A signed number.
    Int(i64),
    /// An unsigned number.
    Uint(u64),
    /// A number with a fraction.
    Double(f64),
    /// A text.
    String(Text<'a>),
    /// A run of bytes.
    Bytes(Arc<[u8]>),
    /// A point in time.
    Timestamp(jiff::Timestamp),
    /// A span of time in nanoseconds.
    Duration(i64),
    /// A list.
    List(List<'a>),
    /// A map, or an object.
    Map(Map<'a>),
    /// A value, or none.
    Optional(Option<Arc<Value<'a>>>),
    /// A type.
    Type(Arc<str>),
    /// A resource quantity.
    Quantity(Quantity),
    /// An address of the web.
    Url(Arc<Url>),
    /// An address of the internet protocol.
    Ip(IpAddr),
    /// A range of such addresses.
    Cidr(Cidr),
    /// A version number.
    Semver(Arc<Semver>),
    /// A named rule for texts.
    Format(Format),
    /// A question about permissions, as far as it has been put.
    Check(Arc<Check<'a>>),
    /// Its answer.
    Decision(Arc<Decision>),
}

/// A text, borrowed or shared.
#[derive(Clone, Debug)]
pub enum Text<'a> {
    /// Part of an object or a program.
    Borrowed(&'a str),
    /// Computed.
    Shared(Arc<str>),
}

/// A list, as it stands in an object or computed.
#[derive(Clone, Debug)]
pub enum List<'a> {
    /// Part of an object, with what its elements hold.
    Json(&'a [object::Value], &'a Type),
    /// Computed.
    Made(Arc<Vec<Value<'a>>>),
}

/// A map or object, as it stands in an object or computed.
#[derive(Clone, Debug)]
pub enum Map<'a> {
    /// Part of an object, with its type.
    Json(&'a object::Map, &'a Type),
    /// Computed.
    Made(Arc<BTreeMap<Key<'a>, Value<'a>>>),
}

/// What a value in a map is found by.
#[derive(Clone, Debug)]
pub enum Key<'a> {
    /// `true` or `false`.
    Bool(bool),
    /// A number; signed and unsigned ones are told apart by their value alone.
    Number(i128),
    /// A text.
    String(Text<'a>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl<'a> From<String> for Value<'a> {
    fn from(text: String) -> Self {
        Self::String(Text::Shared(text.into()))
    }
}

impl<'a> From<bool> for Value<'a> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl<'a> From<i64> for Value<'a> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl<'a> From<Vec<Value<'a>>> for Value<'a> {
    fn from(items: Vec<Value<'a>>) -> Self {
        Self::List(List::Made(Arc::new(items)))
    }
}

impl<'a> Value<'a> {
    /// A size as a number.
    pub(crate) fn size(length: usize) -> Self {
        Self::Int(i64::try_from(length).unwrap_or(i64::MAX))
    }

    /// A value that is there.
    pub(crate) fn some(self) -> Self {
        Self::Optional(Some(Arc::new(self)))
    }

    /// The text, if it is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The answer, if it is one.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The value as JSON; what JSON has no form for is its text.
    #[must_use]
    pub fn to_json(&self) -> object::Value {
        json::written(self)
    }

    /// What `type()` calls it.
    pub(crate) fn type_name(&self) -> &str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::List(_) => "list",
            Self::Map(Map::Json(_, Type::Object(object))) => &object.name,
            Self::Map(_) => "map",
            Self::Optional(_) => "optional_type",
            Self::Type(_) => "type",
            Self::Quantity(_) => Opaque::Quantity.name(),
            Self::Url(_) => Opaque::Url.name(),
            Self::Ip(_) => Opaque::Ip.name(),
            Self::Cidr(_) => Opaque::Cidr.name(),
            Self::Semver(_) => Opaque::Semver.name(),
            Self::Format(_) => Opaque::Format.name(),
            Self::Check(check) => check.type_name(),
            Self::Decision(_) => Opaque::Decision.name(),
        }
    }

    /// Whether two values are the same. Values of different types are not; numbers are compared by value.
    #[must_use]
    pub fn is_equal(&self, other: &Value<'_>) -> bool {
        match (self, other) {
            (Self::Null, Value::Null) => true,
            (Self::Bool(a), Value::Bool(b)) => a == b,
            (Self::String(a), Value::String(b)) => **a == **b,
            (Self::Bytes(a), Value::Bytes(b)) => a == b,
            (Self::Timestamp(a), Value::Timestamp(b)) => a == b,
            (Self::Duration(a), Value::Duration(b)) => a == b,
            (Self::List(a), Value::List(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.is_equal(&b))
            }
            (Self::Map(a), Value::Map(b)) => {
                a.len() == b.len()
                    && a.iter()
                        .all(|(key, a)| b.value(&key).is_some_and(|b| a.is_equal(&b)))
            }
            (Self::Optional(a), Value::Optional(b)) => match (a, b) {
                (Some(a), Some(b)) => a.is_equal(b),
                (None, None) => true,
                _ => false,
            },
            (Self::Type(a), Value::Type(b)) => a == b,
            (Self::Quantity(a), Value::Quantity(b)) => a == b,
            (Self::Url(a), Value::Url(b)) => a == b,
            (Self::Ip(a), Value::Ip(b)) => a == b,
            (Self::Cidr(a), Value::Cidr(b)) => a == b,
            (Self::Semver(a), Value::Semver(b)) => a.cmp(b) == Ordering::Equal,
            (Self::Format(a), Value::Format(b)) => a == b,
            (Self::Decision(a), Value::Decision(b)) => a == b,
            (a, b) => a.compare(b) == Some(Ordering::Equal),
        }
    }

    /// Which of two values of ordered types comes first.
    #[must_use]
    pub fn compare(&self, other: &Value<'_>) -> Option<Ordering> {
        match (self, other) {
            (Self::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
            (Self::String(a), Value::String(b)) => Some((**a).cmp(&**b)),
            (Self::Bytes(a), Value::Bytes(b)) => Some(a.cmp(b)),
            (Self::Timestamp(a), Value::Timestamp(b)) => Some(a.cmp(b)),
            (Self::Duration(a), Value::Duration(b)) => Some(a.cmp(b)),
            (Self::Double(a), Value::Double(b)) => a.partial_cmp(b),
            (Self::Double(a), b) => Some(compare_with_whole(*a, b.whole()?)?),
            (a, Value::Double(b)) => compare_with_whole(*b, a.whole()?).map(Ordering::reverse),
            (a, b) => Some(a.whole()?.cmp(&b.whole()?)),
        }
    }

    fn whole(&self) -> Option<i128> {
        match self {
            Self::Int(number) => Some(i128::from(*number)),
            Self::Uint(number) => Some(i128::from(*number)),
            _ => None,
        }
    }

    /// The value as a key, if maps may have it as one.
    pub(crate) fn as_key(&self) -> Option<Key<'a>> {
        match self {
            Self::Bool(value) => Some(Key::Bool(*value)),
            Self::Int(number) => Some(Key::Number(i128::from(*number))),
            Self::Uint(number) => Some(Key::Number(i128::from(*number))),
            // A fraction finds nothing; a whole number finds what its equal does.
            #[expect(clippy::cast_possible_truncation, reason = "whole and within range")]
            Self::Double(number) if number.fract() == 0.0 && number.abs() < 1e18 => {
                Some(Key::Number(*number as i128))
            }
            Self::String(text) => Some(Key::String(text.clone())),
            _ => None,
        }
    }
}

/// A fraction against a whole number, exactly.
fn compare_with_whole(fraction: f64, whole: i128) -> Option<Ordering> {
    if fraction.is_nan() {
        return None;
    }
    if fraction.abs() > 1e30 {
        return Some(if fraction > 0.0 {
            Ordering::Greater
        } else {
            Ordering::Less
        });
    }
    #[expect(clippy::cast_possible_truncation, reason = "within range, and floored")]
    let floor = fraction.floor() as i128;
    Some(floor.cmp(&whole).then(if fraction.fract() == 0.0 {
        Ordering::Equal
    } else {
        Ordering::Greater
    }))
}

impl<'a> List<'a> {
    /// How many elements there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Json(items, _) => items.len(),
            Self::Made(items) => items.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at a place.
    #[must_use]
    pub fn at(&self, place: usize) -> Option<Value<'a>> {
        match self {
            Self::Json(items, ty) => items.get(place).map(|item| json::read(item, ty)),
            Self::Made(items) => items.get(place).cloned(),
        }
    }

    /// All elements, in order.
    pub fn iter(&self) -> impl Iterator<Item = Value<'a>> {
        let list = self.clone();
        (0..self.len()).filter_map(move |place| list.at(place))
    }
}

impl<'a> Map<'a> {
    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Json(fields, _) => fields.len(),
            Self::Made(entries) => entries.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a key.
    pub(crate) fn value(&self, key: &Key<'_>) -> Option<Value<'a>> {
        match self {
            Self::Json(..) => match key {
                Key::String(name) => self.field(name),
                _ => None,
            },
            Self::Made(entries) => entries.get(key.as_lookup()).cloned(),
        }
    }

    /// The value of a field, by the name expressions use.
    pub(crate) fn field(&self, name: &str) -> Option<Value<'a>> {
        match self {
            Self::Json(fields, Type::Object(object)) => {
                let field = object.fields.get(name)?;
                let value = fields.get(&*field.name)?;
                Some(json::read(value, &field.ty))
            }
            Self::Json(fields, Type::Map(_, values)) => {
                fields.get(name).map(|value| json::read(value, values))
            }
            Self::Json(fields, _) => fields.get(name).map(|value| json::read(value, &Type::Dyn)),
            Self::Made(entries) => {
                let key: Key<'a> = Key::String(Text::Shared(name.into()));
                entries.get(&key).cloned()
            }
        }
    }

    /// All entries, by key.
    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = (Key<'a>, Value<'a>)> + '_> {
        match self {
            Self::Json(fields, Type::Object(object)) => {
                Box::new(object.fields.iter().filter_map(|(name, field)| {
                    let value = fields.get(&*field.name)?;
                    let key = Key::String(Text::Borrowed(name));
                    Some((key, json::read(value, &field.ty)))
                }))
            }
            Self::Json(fields, ty) => {
                let values = match ty {
                    Type::Map(_, values) => &**values,
                    _ => &Type::Dyn,
                };
                Box::new(fields.iter().map(move |(name, value)| {
                    (Key::String(Text::Borrowed(name)), json::read(value, values))
                }))
            }
            Self::Made(entries) => Box::new(
                entries
                    .iter()
                    .map(|(key, value)| (key.clone(), value.clone())),
            ),
        }
    }
}

impl<'a> Key<'a> {
    /// The key as a value.
    pub(crate) fn into_value(self) -> Value<'a> {
        match self {
            Self::Bool(value) => Value::Bool(value),
            Self::Number(number) => match i64::try_from(number) {
                Ok(number) => Value::Int(number),
                Err(_) => Value::Uint(u64::try_from(number).unwrap_or(u64::MAX)),
            },
            Self::String(text) => Value::String(text),
        }
    }

    /// Keys are compared by what they say, not by how long it lives.
    fn as_lookup<'b>(&'b self) -> &'b Key<'b> {
        self
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key<'_> {}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Number(a), Self::Number(b)) => a.cmp(b),
            (Self::String(a), Self::String(b)) => (**a).cmp(&**b),
            (Self::Bool(_), _) | (Self::Number(_), Self::String(_)) => Ordering::Less,
            _ => Ordering::Greater,
        }
    }
}
