//! Documents taken apart: a table holds what has no parts of its own, and numbers stand for it in the document.
//!
//! A JSON patch moves parts about and looks into none of those in the table, so it is carried out on the numbers, and
//! whatever it leaves alone is written as it was.

use object::Value;

/// The table.
pub(super) struct Leaves<L>(Vec<L>);

impl<L> Leaves<L> {
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }

    /// What stands for a leaf from now on.
    pub(super) fn keep(&mut self, leaf: L) -> Value {
        self.0.push(leaf);
        Value::from(self.0.len() - 1)
    }

    /// The same for all leaves of a value.
    pub(super) fn keep_all(&mut self, value: &Value, leaf: fn(&Value) -> L) -> Value {
        match value {
            Value::Object(fields) => fields
                .iter()
                .map(|(key, value)| (key.clone(), self.keep_all(value, leaf)))
                .collect(),
            Value::Array(items) => items.iter().map(|item| self.keep_all(item, leaf)).collect(),
            other => self.keep(leaf(other)),
        }
    }

    /// The leaf that a number stands for.
    pub(super) fn at(&self, number: &Value) -> &L {
        number
            .as_u64()
            .and_then(|number| self.0.get(usize::try_from(number).ok()?))
            .expect("invariant: nothing but numbers from here stands for leaves")
    }
}
