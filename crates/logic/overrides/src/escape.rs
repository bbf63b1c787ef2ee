//! JSON as Go's encoder writes it: `<`, `>`, `&` and two line separators are escaped.
//!
//! The same text, byte for byte, spares a rollout when an existing installation is taken over.

use std::{fmt::Write, io};

use object::Value;
use serde_json::ser::{Formatter, Serializer};

/// The value as compact JSON.
pub(crate) fn to_json(value: &Value) -> String {
    let mut text = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut text, Escaping);
    serde::Serialize::serialize(value, &mut serializer)
        .expect("invariant: a value can be written to memory");
    String::from_utf8(text).expect("invariant: JSON is text")
}

/// A JSON text without the white space around its parts, and with what is escaped as above; nothing else of it changes.
pub(crate) fn compact(text: &str, out: &mut String) {
    let mut is_quoted = false;
    let mut is_escaped = false;
    for character in text.chars() {
        match character {
            ' ' | '\t' | '\n' | '\r' if !is_quoted => continue,
            '"' if !is_escaped => is_quoted = !is_quoted,
            // Outside of texts JSON has none of these.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(character));
                is_escaped = false;
                continue;
            }
            _ => {}
        }
        is_escaped = character == '\\' && !is_escaped;
        out.push(character);
    }
}

struct Escaping;

impl Formatter for Escaping {
    fn write_string_fragment<W>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + io::Write,
    {
        let mut rest = fragment;
        while let Some(position) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            let (plain, found) = rest.split_at(position);
            writer.write_all(plain.as_bytes())?;
            let mut characters = found.chars();
            if let Some(character) = characters.next() {
                write!(writer, "\\u{:04x}", u32::from(character))?;
            }
            rest = characters.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}
