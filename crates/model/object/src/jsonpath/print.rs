//! How values print, to the letter as from Kubernetes' own tools.

use std::fmt::Write;

use serde_json::Number;

use crate::Value;

/// Appends a value: strings as they are, objects and lists as JSON with sorted fields.
pub(super) fn push_value(out: &mut String, value: &Value) {
    match value {
        Value::String(text) => out.push_str(text),
        Value::Number(number) => push_number(out, number, Style::Plain),
        other => push_json(out, other),
    }
}

/// Floats are written in two ways: by themselves as Go formats them, inside of JSON as Go encodes them.
#[derive(Clone, Copy, PartialEq)]
enum Style {
    Plain,
    Json,
}

fn push_json(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => push_number(out, number, Style::Json),
        Value::String(text) => push_quoted(out, text),
        Value::Array(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                push_json(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
            sorted.sort_unstable_by_key(|(name, _)| *name);
            out.push('{');
            for (position, (name, field)) in sorted.into_iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                push_quoted(out, name);
                out.push(':');
                push_json(out, field);
            }
            out.push('}');
        }
    }
}

/// A string in quotes; what could be taken for markup is escaped too.
fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                push_formatted(out, format_args!("\\u{:04x}", u32::from(character)));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

fn push_number(out: &mut String, number: &Number, style: Style) {
    let float = match number.as_f64() {
        Some(float) if number.is_f64() => float,
        _ => return push_formatted(out, format_args!("{number}")),
    };
    // Rust's exponent form has the shortest digits that read back as the same float, as Go's has.
    let scientific = format!("{float:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let (is_plain, least_exponent_digits) = match style {
        Style::Plain => ((-4..6).contains(&exponent), 2),
        Style::Json => (float == 0.0 || (-6..21).contains(&exponent), 1),
    };
    if is_plain {
        return push_formatted(out, format_args!("{float}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    push_formatted(
        out,
        format_args!(
            "{digits}e{sign}{:0least_exponent_digits$}",
            exponent.unsigned_abs()
        ),
    );
}

fn push_formatted(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    out.write_fmt(arguments)
        .expect("invariant: writing to a string does not fail");
}
