//! Literals: quoted strings with Go's escapes, numbers, booleans.

use std::fmt;

use crate::Value;

/// The text a quoted string stands for, given what is between its quotes; `None` if an escape is wrong.
///
/// Only the kind of quote around the string may be escaped in it, as in Go.
pub(super) fn unquote(inner: &str, quote: char) -> Option<String> {
    let mut bytes = Vec::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            push_char(&mut bytes, character);
            continue;
        }
        match characters.next()? {
            'a' => bytes.push(0x07),
            'b' => bytes.push(0x08),
            'f' => bytes.push(0x0c),
            'n' => bytes.push(b'\n'),
            'r' => bytes.push(b'\r'),
            't' => bytes.push(b'\t'),
            'v' => bytes.push(0x0b),
            '\\' => bytes.push(b'\\'),
            'x' => bytes.push(u8::try_from(number(&mut characters, 2, 16, 0)?).ok()?),
            'u' => push_char(
                &mut bytes,
                char::from_u32(number(&mut characters, 4, 16, 0)?)?,
            ),
            'U' => push_char(
                &mut bytes,
                char::from_u32(number(&mut characters, 8, 16, 0)?)?,
            ),
            first @ '0'..='7' => {
                bytes.push(u8::try_from(number(&mut characters, 2, 8, first.to_digit(8)?)?).ok()?);
            }
            other if other == quote => push_char(&mut bytes, quote),
            _ => return None,
        }
    }
    String::from_utf8(bytes).ok()
}

/// A number as Go's integers or, failing that, floats.
pub(super) fn parse_number(text: &str) -> Option<Value> {
    if let Ok(integer) = text.parse::<i64>() {
        return Some(integer.into());
    }
    let float: f64 = text.parse().ok()?;
    serde_json::Number::from_f64(float).map(Value::Number)
}

/// Prints a literal so that it reads back as the same.
pub(super) fn write_literal(out: &mut impl fmt::Write, value: &Value) -> fmt::Result {
    match value {
        Value::String(text) => write_quoted(out, text),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => write!(out, "{integer}"),
            None => {
                let digits = number.as_f64().unwrap_or_default().to_string();
                let point = if digits.contains('.') { "" } else { ".0" };
                write!(out, "{digits}{point}")
            }
        },
        other => write!(out, "{other}"),
    }
}

fn write_quoted(out: &mut impl fmt::Write, text: &str) -> fmt::Result {
    out.write_str("\"")?;
    for character in text.chars() {
        match character {
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            '"' | '\\' => write!(out, "\\{character}")?,
            // Single quotes would end a quoted key around this literal.
            '\'' => write!(out, "\\u{:04x}", u32::from(character))?,
            _ if character < ' ' => write!(out, "\\u{:04x}", u32::from(character))?,
            _ => out.write_char(character)?,
        }
    }
    out.write_str("\"")
}

fn push_char(bytes: &mut Vec<u8>, character: char) {
    bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Reads exactly `digits` digits and adds them to those read before.
fn number(
    characters: &mut std::str::Chars<'_>,
    digits: u32,
    radix: u32,
    start: u32,
) -> Option<u32> {
    (0..digits).try_fold(start, |number, _| {
        let digit = characters.next()?.to_digit(radix)?;
        number.checked_mul(radix)?.checked_add(digit)
    })
}
