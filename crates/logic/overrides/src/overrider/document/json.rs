//! Changes inside JSON texts.
//!
//! Only the objects and lists that a change leads through are opened. Everything else is a piece of the text and is
//! written as it was: numbers with all their digits, texts with their escapes.

use std::{borrow::Cow, fmt};

use api::policy::DocumentPatch;
use object::{
    Map, Value,
    field::FieldPath,
    parse::{DEPTH_LIMIT, ParseError, parse_json},
    patch::Replace,
};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{leaves::Leaves, patch};
use crate::{escape, problem::Problem};

/// Compact, in the order of the fields as they were.
pub(super) fn rewrite(text: &str, changes: &[DocumentPatch]) -> Result<String, Problem> {
    let mut leaves = Leaves::new();
    let patch = patch(changes, |value| {
        leaves.keep_all(value, |leaf| Cow::Owned(escape::to_json(leaf)))
    })?;
    let whole = serde_json::from_str(text).map_err(|error| not_json(text, &error))?;
    let ways: Vec<&[String]> = patch.0.iter().map(|step| step.path().tokens()).collect();
    let mut opening = Opening {
        leaves,
        place: Vec::new(),
    };
    let document = opening.open(whole, &ways)?;
    let changed = patch
        .apply(&document, Replace::Existing)
        .map_err(Box::new)?;
    let mut written = String::with_capacity(text.len());
    write(&changed, &opening.leaves, &mut written);
    Ok(written)
}

struct Opening<'t> {
    leaves: Leaves<Cow<'t, str>>,
    place: Vec<String>,
}

impl<'t> Opening<'t> {
    /// Takes apart what the ways lead through: each is the rest of a path from here on.
    fn open(&mut self, piece: &'t RawValue, ways: &[&[String]]) -> Result<Value, Problem> {
        let text = piece.get();
        let is_left_alone = ways.iter().all(|way| way.is_empty());
        if is_left_alone || !text.starts_with(['{', '[']) {
            return Ok(self.leaves.keep(Cow::Borrowed(text)));
        }
        if self.place.len() >= DEPTH_LIMIT {
            let path = FieldPath::root();
            return Err(Problem::Json(Box::new(ParseError::TooDeep { path })));
        }
        if text.starts_with('{') {
            self.open_object(text, ways)
        } else {
            self.open_list(text, ways)
        }
    }

    fn open_object(&mut self, text: &'t str, ways: &[&[String]]) -> Result<Value, Problem> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let fields = deserializer
            .deserialize_map(Fields)
            .map_err(|error| not_json(text, &error))?;
        let mut opened = Map::new();
        for (name, piece) in fields {
            let further: Vec<&[String]> = ways
                .iter()
                .filter_map(|way| way.split_first().filter(|(first, _)| **first == name))
                .map(|(_, rest)| rest)
                .collect();
            self.place.push(name.clone());
            if opened.contains_key(&name) {
                return Err(Problem::unkept(&self.place, "it is given twice"));
            }
            opened.insert(name, self.open(piece, &further)?);
            self.place.pop();
        }
        Ok(Value::Object(opened))
    }

    /// Earlier steps may move what a later one finds at a position, so what leads into one element may lead into all.
    fn open_list(&mut self, text: &'t str, ways: &[&[String]]) -> Result<Value, Problem> {
        let pieces: Vec<&RawValue> =
            serde_json::from_str(text).map_err(|error| not_json(text, &error))?;
        let further: Vec<&[String]> = ways
            .iter()
            .filter_map(|way| way.split_first())
            .map(|(_, rest)| rest)
            .collect();
        let mut opened = Vec::with_capacity(pieces.len());
        for (position, piece) in pieces.into_iter().enumerate() {
            self.place.push(position.to_string());
            opened.push(self.open(piece, &further)?);
            self.place.pop();
        }
        Ok(Value::Array(opened))
    }
}

/// The fields of an object in order, each value as a piece of the text.
struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = access.next_entry()? {
            fields.push(field);
        }
        Ok(fields)
    }
}

/// What is wrong with the text, and at which field if a closer look shows it.
fn not_json(text: &str, error: &serde_json::Error) -> Problem {
    let seen = parse_json(text.as_bytes())
        .err()
        .unwrap_or_else(|| ParseError::Syntax {
            path: FieldPath::root(),
            problem: error.to_string(),
            line: error.line(),
            column: error.column(),
        });
    Problem::Json(Box::new(seen))
}

fn write(value: &Value, leaves: &Leaves<Cow<'_, str>>, out: &mut String) {
    match value {
        Value::Object(fields) => {
            out.push('{');
            for (position, (name, value)) in fields.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                out.push_str(&escape::to_json(&Value::from(name.as_str())));
                out.push(':');
                write(value, leaves, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                write(item, leaves, out);
            }
            out.push(']');
        }
        leaf => escape::compact(leaves.at(leaf), out),
    }
}
