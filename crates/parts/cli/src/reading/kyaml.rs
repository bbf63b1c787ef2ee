//! The dialect of YAML in which nothing can be misread: braces and brackets instead of indentation, texts always in quotes.
//! Every reader of YAML takes it.

use serde_json::Value;

use crate::yaml;

/// The document, with the line before it that tells it from JSON.
pub(super) fn write(document: &Value) -> String {
    let mut out = "---\n".to_owned();
    value(&mut out, 0, document);
    out.push('\n');
    out
}

fn value(out: &mut String, depth: usize, value: &Value) {
    match value {
        Value::Object(fields) if fields.is_empty() => out.push_str("{}"),
        Value::Object(fields) => {
            out.push_str("{\n");
            for (name, below) in fields {
                pad(out, depth + 1);
                key(out, name);
                out.push_str(": ");
                self::value(out, depth + 1, below);
                out.push_str(",\n");
            }
            pad(out, depth);
            out.push('}');
        }
        Value::Array(items) if items.is_empty() => out.push_str("[]"),
        // What has brackets of its own stands close together.
        Value::Array(items) if items.iter().all(|item| item.is_object() || item.is_array()) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                out.push_str(if position > 0 { ", " } else { "" });
                self::value(out, depth, item);
            }
            out.push(']');
        }
        Value::Array(items) => {
            out.push_str("[\n");
            for item in items {
                pad(out, depth + 1);
                self::value(out, depth + 1, item);
                out.push_str(",\n");
            }
            pad(out, depth);
            out.push(']');
        }
        Value::String(text) if text.contains('\n') => lines(out, depth + 1, text),
        Value::String(text) => quoted(out, text),
        plain => out.push_str(&plain.to_string()),
    }
}

fn pad(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n("  ", depth));
}

/// A name without quotes where everybody reads it as a text.
fn key(out: &mut String, name: &str) {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let is_within = |letter: char| is_word(letter) || matches!(letter, '-' | '.' | '/');
    let begins = name.starts_with(|letter: char| is_word(letter) && !letter.is_ascii_digit());
    let is_plain = begins && name.ends_with(is_word) && name.chars().all(is_within);
    let is_text = || yaml::read_document(name).is_ok_and(|read| read == name);
    match is_plain && name.parse::<f64>().is_err() && is_text() {
        true => out.push_str(name),
        false => quoted(out, name),
    }
}

fn quoted(out: &mut String, text: &str) {
    out.push('"');
    escaped(out, text);
    out.push('"');
}

/// A text of several lines, a line for each of them. Ends of lines that are written out count, and those between them do
/// not; nor does what a line is indented by, so a space that it begins with is written out too.
fn lines(out: &mut String, depth: usize, text: &str) {
    out.push_str("\"\\\n");
    for line in text.split_inclusive('\n') {
        pad(out, depth);
        out.push(if line.starts_with(' ') { '\\' } else { ' ' });
        let bare = line.strip_suffix('\n');
        escaped(out, bare.unwrap_or(line));
        out.push_str(if bare.is_some() { "\\n\\\n" } else { "\\\n" });
    }
    pad(out, depth);
    out.push('"');
}

fn escaped(out: &mut String, text: &str) {
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            // Readers drop or fold these.
            '\u{a0}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            letter if letter.is_control() => {
                out.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            letter => out.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_is_written_so_that_nothing_can_be_misread() {
        let document = json!({
            "apiVersion": "v1", "kind": "Odd",
            "metadata": {"labels": {"app.kubernetes.io/name": "no", "no": "1", "7": "x"}, "annotations": {}},
            "ports": [{"port": 80}, {"port": 81, "on": true}],
            "args": ["a", 1.5, null], "none": [],
            "data": {"text": "a \"b\"\n  c\n", "last": "x\ny"},
        });
        let written = write(&document);
        assert_eq!(
            written,
            r#"---
{
  apiVersion: "v1",
  kind: "Odd",
  metadata: {
    labels: {
      app.kubernetes.io/name: "no",
      "no": "1",
      "7": "x",
    },
    annotations: {},
  },
  ports: [{
    port: 80,
  }, {
    port: 81,
    "on": true,
  }],
  args: [
    "a",
    1.5,
    null,
  ],
  none: [],
  data: {
    text: "\
       a \"b\"\n\
      \  c\n\
      ",
    last: "\
       x\n\
       y\
      ",
  },
}
"#
        );
        assert_eq!(yaml::read_document(&written).unwrap(), document);
    }

    #[test]
    fn whatever_is_written_is_read_back() {
        for text in [
            "",
            " ",
            "\n",
            "\n\n",
            " a",
            "a ",
            "a \n b ",
            "\ta\n\tb\n",
            "\u{1b}[2J\u{7f}",
            "é💥",
            "\u{a0}\u{feff}\u{2028}x\ny",
            "\\",
            "\"",
            "'",
            "# no remark",
            "- a",
            "a: b",
            "{",
            "%",
            "null",
            "y",
            "0644",
            "1:30",
            "inf",
            "2026-01-01",
            "~",
            "a\r\nb",
        ] {
            let document = json!({"value": text, text: [text, [text]]});
            let written = write(&document);
            assert_eq!(
                yaml::read_document(&written).ok(),
                Some(document),
                "{written}"
            );
        }
    }
}
