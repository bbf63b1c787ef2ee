//! A YAML text put together again.

use std::fmt::Write as _;

use object::{Map, Value};

use super::{Document, Leaf};

/// No text of a configuration file is longer than this, so none is broken into lines.
const NEVER_FOLDED: usize = 1 << 30;
/// How far what is inside a mapping or a list stands to the right of it.
const STEP: usize = 2;

/// Block style, as Kubernetes' tools write it: lists stand no further to the right than their keys.
pub(super) fn write(document: &Document) -> String {
    let mut writer = Writer {
        document,
        out: String::new(),
    };
    if let Some(version) = document.version {
        let (major, minor) = (version.major, version.minor);
        writer.out = format!("%YAML {major}.{minor}\n---\n");
    }
    match &document.root {
        Value::Object(fields) if !fields.is_empty() => writer.fields(fields, 0),
        Value::Array(items) if !items.is_empty() => writer.items(items, 0),
        other => writer.leaf(other, 0),
    }
    writer.out
}

/// A number, yes, no or nothing, as any reader understands it.
pub(super) fn bare(value: &Value) -> String {
    let mut written = serialized(value);
    written.truncate(written.trim_end().len());
    written
}

/// A text in quotes, on one line.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Whether a text would be something else if it stood there without quotes.
pub(super) fn has_quotes(text: &str) -> bool {
    serialized(&Value::from(text)).trim_end() != text
}

/// A leaf as if it were a whole document: a text of several lines has a head, and its lines stand one step to the right.
fn serialized(value: &Value) -> String {
    let options = serde_saphyr::ser_options! { folded_wrap_chars: NEVER_FOLDED };
    serde_saphyr::to_string_with_options(value, options)
        .expect("invariant: leaves can be written to memory")
}

struct Writer<'d> {
    document: &'d Document,
    out: String,
}

impl Writer<'_> {
    /// The first field stands where the text has got to, the others below it.
    fn fields(&mut self, fields: &Map, indent: usize) {
        for (position, (key, value)) in fields.iter().enumerate() {
            self.align(position, indent);
            self.key(key);
            self.out.push(':');
            match value {
                Value::Object(fields) if !fields.is_empty() => {
                    self.line(indent + STEP);
                    self.fields(fields, indent + STEP);
                }
                Value::Array(items) if !items.is_empty() => {
                    self.line(indent);
                    self.items(items, indent);
                }
                other => {
                    self.out.push(' ');
                    self.leaf(other, indent);
                }
            }
        }
    }

    fn items(&mut self, items: &[Value], indent: usize) {
        for (position, item) in items.iter().enumerate() {
            self.align(position, indent);
            self.out.push_str("- ");
            match item {
                Value::Object(fields) if !fields.is_empty() => self.fields(fields, indent + STEP),
                Value::Array(items) if !items.is_empty() => self.items(items, indent + STEP),
                other => self.leaf(other, indent),
            }
        }
    }

    fn align(&mut self, position: usize, indent: usize) {
        if position > 0 {
            let _ = write!(self.out, "{:indent$}", "");
        }
    }

    fn line(&mut self, indent: usize) {
        let _ = write!(self.out, "\n{:indent$}", "");
    }

    fn key(&mut self, key: &str) {
        if self.document.bare_keys.get(key) == Some(&true) || !has_quotes(key) {
            self.out.push_str(key);
            return;
        }
        let written = serialized(&Value::from(key));
        if written.starts_with(['"', '\'']) {
            self.out.push_str(written.trim_end());
        } else {
            self.out.push_str(&quoted(key));
        }
    }

    /// What is written on one line, or at least begun on this one; with the end of its line.
    fn leaf(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Object(_) => self.out.push_str("{}\n"),
            Value::Array(_) => self.out.push_str("[]\n"),
            number => match self.document.leaves.at(number) {
                Leaf::Bare(bare) => {
                    self.out.push_str(bare);
                    self.out.push('\n');
                }
                Leaf::Text(text) => self.text(text, indent),
            },
        }
    }

    fn text(&mut self, text: &str, indent: usize) {
        let written = serialized(&Value::from(text));
        for (position, line) in written.split_inclusive('\n').enumerate() {
            // An empty line may have the step, which it does not need.
            if position > 0 && line.trim_end_matches('\n').len() <= STEP {
                self.out.push('\n');
                continue;
            }
            if position > 0 {
                let _ = write!(self.out, "{:indent$}", "");
            }
            self.out.push_str(line);
        }
        if !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }
}
