//! Objects seen as values, by what their schema says, and values written as JSON.

use object::time::Time;

use crate::functions::convert;
use crate::ty::Type;
use crate::value::{Key, List, Map, Text, Value};

/// The value of a JSON value that holds `ty`. What does not fit its type is taken as it stands: validation has
/// refused it already, or it never said what it is.
pub(crate) fn read<'a>(json: &'a object::Value, ty: &'a Type) -> Value<'a> {
    match json {
        object::Value::Null => Value::Null,
        object::Value::Bool(value) => Value::Bool(*value),
        object::Value::Number(number) => match ty {
            Type::Double => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
            Type::Uint => number
                .as_u64()
                .map_or_else(|| any_number(number), Value::Uint),
            _ => any_number(number),
        },
        object::Value::String(text) => read_text(text, ty),
        object::Value::Array(items) => Value::List(List::Json(
            items,
            match ty {
                Type::List(item) => item,
                _ => &Type::Dyn,
            },
        )),
        object::Value::Object(fields) => Value::Map(Map::Json(
            fields,
            match ty {
                Type::Object(_) | Type::Map(..) => ty,
                _ => &Type::Dyn,
            },
        )),
    }
}

fn any_number<'a>(number: &serde_json::Number) -> Value<'a> {
    match (number.as_i64(), number.as_u64()) {
        (Some(number), _) => Value::Int(number),
        (None, Some(number)) => Value::Uint(number),
        (None, None) => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
    }
}

fn read_text<'a>(text: &'a str, ty: &Type) -> Value<'a> {
    let read = match ty {
        Type::Bytes => convert::base64_bytes(text).map(|bytes| Value::Bytes(bytes.into())),
        Type::Timestamp => convert::timestamp(text)
            .or_else(|| convert::timestamp(&format!("{text}T00:00:00Z")))
            .map(Value::Timestamp),
        Type::Duration => convert::duration(text).map(Value::Duration),
        _ => None,
    };
    read.unwrap_or(Value::String(Text::Borrowed(text)))
}

/// The value as JSON.
pub(crate) fn written(value: &Value<'_>) -> object::Value {
    match value {
        Value::Null | Value::Optional(None) => object::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(number) => (*number).into(),
        Value::Uint(number) => (*number).into(),
        Value::Double(number) => (*number).into(),
        Value::String(text) => (**text).into(),
        Value::Optional(Some(value)) => written(value),
        Value::List(List::Json(items, _)) => object::Value::Array(items.to_vec()),
        Value::List(list) => list.iter().map(|item| written(&item)).collect(),
        Value::Map(Map::Json(fields, _)) => object::Value::Object((*fields).clone()),
        Value::Map(map) => map
            .iter()
            .map(|(key, value)| (key_text(&key), written(&value)))
            .collect(),
        other => convert::text_of(other).map_or(object::Value::Null, Into::into),
    }
}

fn key_text(key: &Key<'_>) -> String {
    match key {
        Key::Bool(value) => value.to_string(),
        Key::Number(number) => number.to_string(),
        Key::String(text) => text.to_string(),
    }
}

/// Times of objects have whole seconds; kept here so that both directions stand together.
pub(crate) fn timestamp_text(time: jiff::Timestamp) -> String {
    if time.subsec_nanosecond() == 0 {
        return Time::from_unix_seconds(time.as_second()).to_string();
    }
    time.to_string()
}
