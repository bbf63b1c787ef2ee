//! Reading `fieldsV1` where it stands: what a set says, without making the set.
//!
//! Most entries survive a write as they are. If one is *settled*, reading it, bringing it in line with the schema and
//! writing it again would give the same text, so it need not be done. What cannot be told cheaply counts as unsettled.

use std::collections::BTreeSet;

use object::{Map, Value};

use super::{
    reconcile::{is_whole, type_below},
    typed::Ty,
};

/// Sets nested deeper are left to the decoder, which knows the limit.
const MAX_DEPTH: usize = 200;

/// A path element with an obvious text, in the order path elements have.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Plain<'v> {
    Field(&'v str),
    Key(Vec<(&'v str, Scalar<'v>)>),
    Value(Scalar<'v>),
}

/// A number or a text that has only one way to be written.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Scalar<'v> {
    Number(i64),
    Text(&'v str),
}

/// Whether a set would be written as it stands after being brought in line with the schema.
pub(super) fn is_settled(ty: Ty<'_>, fields: &Map) -> bool {
    !fields.contains_key(".") && is_settled_at(Some(ty), fields, 0)
}

/// Whether all elements of a set have obvious texts, so that equal texts are equal elements.
pub(super) fn is_plain(fields: &Map) -> bool {
    is_settled_at(None, fields, 0)
}

/// Whether two sets have a path in common. Both are plain.
pub(super) fn overlap(a: &Map, b: &Map) -> bool {
    let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    few.iter()
        .any(|(name, below)| name != "." && many.get(name).is_some_and(|other| meet(below, other)))
}

/// Whether all paths of `part` are in `whole`. Both are plain.
pub(super) fn covers(whole: &Map, part: &Map) -> bool {
    part.iter().all(|(name, part)| {
        let (Some(Value::Object(whole)), Value::Object(part)) = (whole.get(name), part) else {
            return name == ".";
        };
        (!is_owned(part) || is_owned(whole)) && covers(whole, part)
    })
}

/// Takes the paths of one set out of another. Both are plain, and what is left is settled if the whole was.
pub(super) fn subtract(from: &mut Map, minus: &Map) {
    let mut gone: BTreeSet<&str> = BTreeSet::new();
    for (name, minus) in minus.iter().filter(|(name, _)| *name != ".") {
        let (Some(Value::Object(below)), Value::Object(minus)) = (from.get_mut(name), minus) else {
            continue;
        };
        let stays_owned = is_owned(below) && !is_owned(minus);
        subtract(below, minus);
        if !stays_owned {
            below.shift_remove(".");
        }
        let has_parts = below.keys().any(|name| name != ".");
        if has_parts {
            continue;
        }
        if stays_owned {
            below.clear(); // Without parts a field says by being there that it is owned.
        } else {
            gone.insert(name);
        }
    }
    // Each that is taken out alone would move all behind it.
    match gone.len() {
        0 => {}
        1 => gone.iter().for_each(|name| drop(from.shift_remove(*name))),
        _ => from.retain(|name, _| !gone.contains(name.as_str())),
    }
}

fn meet(a: &Value, b: &Value) -> bool {
    let (Value::Object(a), Value::Object(b)) = (a, b) else {
        return false;
    };
    (is_owned(a) && is_owned(b)) || overlap(a, b)
}

/// Whether the field with this below it is itself in the set.
fn is_owned(below: &Map) -> bool {
    below.is_empty() || below.contains_key(".")
}

/// `ty` is `None` where the schema has nothing to say.
fn is_settled_at(ty: Option<Ty<'_>>, fields: &Map, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    let mut last: Option<Plain<'_>> = None;
    for (place, (name, below)) in fields.iter().enumerate() {
        let Value::Object(below) = below else {
            return false;
        };
        if name == "." {
            // Alone it would not be written, and it is written first.
            if place > 0 || fields.len() < 2 || !below.is_empty() {
                return false;
            }
            continue;
        }
        let Some(element) = Plain::read(name) else {
            return false;
        };
        if last.as_ref().is_some_and(|last| *last >= element) {
            return false;
        }
        if !below.is_empty() {
            let inner = ty.and_then(|ty| match &element {
                Plain::Field(name) => type_below(ty, Some(name)),
                Plain::Key(_) | Plain::Value(_) => type_below(ty, None),
            });
            if inner.is_some_and(is_whole) || !is_settled_at(inner, below, depth + 1) {
                return false;
            }
        }
        last = Some(element);
    }
    true
}

impl<'v> Plain<'v> {
    fn read(text: &'v str) -> Option<Self> {
        let (kind, body) = text.split_at_checked(2)?;
        match kind {
            "f:" => Some(Self::Field(body)),
            "v:" => {
                let (value, rest) = Scalar::read(body)?;
                rest.is_empty().then_some(Self::Value(value))
            }
            "k:" => Self::read_key(body),
            _ => None,
        }
    }

    fn read_key(body: &'v str) -> Option<Self> {
        let mut rest = body.strip_prefix('{')?.strip_suffix('}')?;
        let mut parts: Vec<(&str, Scalar<'_>)> = Vec::with_capacity(2);
        loop {
            let (Scalar::Text(name), after) = Scalar::read(rest)? else {
                return None;
            };
            let (value, after) = Scalar::read(after.strip_prefix(':')?)?;
            if parts.last().is_some_and(|(last, _)| *last >= name) {
                return None;
            }
            parts.push((name, value));
            if after.is_empty() {
                return Some(Self::Key(parts));
            }
            rest = after.strip_prefix(',')?;
        }
    }
}

impl<'v> Scalar<'v> {
    /// The scalar a text starts with, and the rest.
    fn read(text: &'v str) -> Option<(Self, &'v str)> {
        if let Some(text) = text.strip_prefix('"') {
            let end = text
                .bytes()
                .position(|b| matches!(b, b'"' | b'\\' | ..0x20))?;
            let (text, rest) = text.split_at_checked(end)?;
            return Some((Self::Text(text), rest.strip_prefix('"')?));
        }
        let is_end = |b: u8| !(b.is_ascii_digit() || b == b'-');
        let end = text.bytes().position(is_end).unwrap_or(text.len());
        let (digits, rest) = text.split_at_checked(end)?;
        // Eighteen digits fit any integer; what follows the number says if it was one.
        let number: i64 = digits.parse().ok().filter(|_| digits.len() <= 18)?;
        let has_one_form = match digits.strip_prefix('-').unwrap_or(digits) {
            "0" => digits == "0",
            digits => !digits.starts_with('0'),
        };
        let ends = rest.is_empty() || rest.starts_with(',');
        (has_one_form && ends).then_some((Self::Number(number), rest))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::path::PathElement, *};

    #[test]
    fn plain_elements_are_those_written_as_they_are_read() {
        for text in [
            "f:spec",
            "f:",
            "f:a.b/c",
            "k:{\"name\":\"x\"}",
            "k:{\"containerPort\":80,\"protocol\":\"TCP\"}",
            "v:\"é\"",
            "v:-3",
            "v:0",
        ] {
            assert!(Plain::read(text).is_some(), "{text}");
            assert_eq!(PathElement::parse(text).unwrap().encode(), text);
        }
        for text in [
            "",
            "f",
            "spec",
            "z:1",
            "i:1",
            "k:{}",
            "k:[]",
            "k:{\"a\":1}x",
            "k:{\"b\":1,\"a\":2}",
            "k:{\"a\":1,\"a\":2}",
            "k:{ \"a\":1}",
            "k:{\"a\":1.0}",
            "k:{\"a\":true}",
            "k:{1:1}",
            "k:{\"a\":1,}",
            "v:01",
            "v:-0",
            "v:1e3",
            "v:1.5",
            "v:\"a\\\"\"",
            "v:\"a",
            "v:",
            "v:-",
            "v:1-2",
            "v:+1",
            "v:1234567890123456789",
        ] {
            assert!(Plain::read(text).is_none(), "{text}");
        }
    }

    #[test]
    fn plain_elements_sort_as_path_elements_do() {
        let texts = [
            "f:a",
            "f:b",
            "k:{\"a\":9}",
            "k:{\"a\":9,\"b\":0}",
            "k:{\"a\":10}",
            "k:{\"a\":\"1\"}",
            "k:{\"b\":1}",
            "v:9",
            "v:10",
            "v:\"1\"",
            "v:\"a\"",
        ];
        for pair in texts.windows(2) {
            assert!(Plain::read(pair[0]) < Plain::read(pair[1]), "{pair:?}");
            assert!(PathElement::parse(pair[0]).unwrap() < PathElement::parse(pair[1]).unwrap());
        }
    }
}
