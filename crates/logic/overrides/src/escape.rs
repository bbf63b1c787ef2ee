//! JSON as Go's encoder writes it: `<`, `>`, `&` and two line separators are escaped.
//!
//! The same text, byte for byte, spares a rollout when an existing installation is taken over.

use std::io;

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
