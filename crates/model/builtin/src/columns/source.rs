//! Cells that are read from one place of the object.

use std::collections::BTreeMap;

use object::{Value, field::FieldPath, selector::LabelSelector, time::Time};

use super::{Cell, duration};
use crate::path;

/// Where a column's cells come from.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Source<'a> {
    /// The kind's function.
    Computed,
    /// A place in the object.
    Read(Read<'a>),
}

/// One way of reading a place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Read<'a> {
    how: How,
    paths: Vec<&'a str>,
    otherwise: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Value,
    Text,
    Truth,
    Count,
    Join,
    Age,
    Labels,
    Selector,
    Containers,
    Images,
}

impl<'a> Source<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        if text == "@" {
            return Ok(Self::Computed);
        }
        let (text, otherwise) = match text.split_once(" or ") {
            Some((text, otherwise)) => (text, Some(literal(otherwise))),
            None => (text, None),
        };
        let (how, paths) = match text.split_once(" .") {
            None => (How::Value, text),
            Some((word, _)) => (how(word)?, text.get(word.len() + 1..).unwrap_or("")),
        };
        let paths: Vec<&str> = paths.split(" + ").collect();
        if paths
            .iter()
            .any(|path| !path.starts_with('.') || path.contains(' '))
        {
            return Err(format!("{text} is no path"));
        }
        Ok(Self::Read(Read {
            how,
            paths,
            otherwise,
        }))
    }
}

impl Read<'_> {
    pub(super) fn cell(&self, object: &Value, ty: &str, now: Time) -> Cell {
        let found = self
            .paths
            .first()
            .and_then(|path| path::at(object, path))
            .filter(|value| !value.is_null());
        let cell = match self.how {
            How::Count => {
                let lengths = self
                    .paths
                    .iter()
                    .filter_map(|path| path::at(object, path))
                    .map(length);
                Some(Value::from(lengths.sum::<usize>()))
            }
            How::Value => found.cloned(),
            How::Text => found.map(|value| Value::from(plain_text(value))),
            How::Truth => found.map(|value| {
                Value::from(if *value == Value::Bool(true) {
                    "True"
                } else {
                    "False"
                })
            }),
            How::Join => found.map(|value| Value::from(joined(value, None))),
            How::Containers => found.map(|value| Value::from(joined(value, Some("name")))),
            How::Images => found.map(|value| Value::from(joined(value, Some("image")))),
            How::Age => found
                .and_then(Value::as_str)
                .map(|text| Value::from(duration::age(text, now))),
            How::Labels => found.map(|value| Value::from(labels(value))),
            How::Selector => found.map(|value| Value::from(selector(value))),
        };
        let empty = Value::String(String::new());
        match (cell.filter(|cell| *cell != empty), &self.otherwise) {
            (Some(cell), _) => cell,
            (None, Some(otherwise)) => otherwise.clone(),
            (None, None) => match ty {
                "integer" => Value::from(0),
                "boolean" => Value::from(false),
                _ => empty,
            },
        }
    }
}

/// Labels as text: `a=b,c=d`, sorted.
pub(super) fn labels(value: &Value) -> String {
    let Some(map) = value.as_object() else {
        return String::new();
    };
    let sorted: BTreeMap<&str, &str> = map
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str().unwrap_or("")))
        .collect();
    sorted
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect::<Vec<_>>()
        .join(",")
}

/// A label selector as text; `<error>` where it is none.
pub(super) fn selector(value: &Value) -> String {
    let Ok(selector) = serde_json::from_value::<LabelSelector>(value.clone()) else {
        return "<error>".to_owned();
    };
    selector
        .compile(&FieldPath::root())
        .map_or_else(|_| "<error>".to_owned(), |selector| selector.to_string())
}

/// A value as a reader expects it: texts bare, anything else as JSON.
pub(super) fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn joined(list: &Value, field: Option<&str>) -> String {
    let items = list.as_array().map_or(&[][..], Vec::as_slice);
    let texts = items.iter().map(|item| match field {
        Some(field) => path::text(item, field),
        None => item.as_str().unwrap_or(""),
    });
    texts.collect::<Vec<_>>().join(",")
}

fn length(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        _ => 0,
    }
}

fn how(word: &str) -> Result<How, String> {
    Ok(match word {
        "text" => How::Text,
        "truth" => How::Truth,
        "count" => How::Count,
        "join" => How::Join,
        "age" => How::Age,
        "labels" => How::Labels,
        "selector" => How::Selector,
        "containers" => How::Containers,
        "images" => How::Images,
        _ => return Err(format!("unknown way {word} of reading a cell")),
    })
}

/// Numbers and truth values stand for themselves, anything else is text.
fn literal(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        _ => Value::from(text),
    }
}
