//! The sorts of overrider: each edits a document in place, or says what is in its way.

pub(crate) mod containers;
pub(crate) mod document;
pub mod image;
pub(crate) mod keys;
pub(crate) mod plaintext;
pub(crate) mod words;

use object::{Value, patch::Pointer};

/// What stands at a place of a document, to change it. Positions in lists may count from the end, as everywhere in
/// overrides.
fn find_mut<'d>(document: &'d mut Value, path: &Pointer) -> Option<&'d mut Value> {
    path.tokens()
        .iter()
        .try_fold(document, |value, token| match value {
            Value::Object(fields) => fields.get_mut(token),
            Value::Array(items) => {
                let index: isize = token.parse().ok()?;
                let position = if index < 0 {
                    items.len().checked_sub(index.unsigned_abs())?
                } else {
                    index.unsigned_abs()
                };
                items.get_mut(position)
            }
            _ => None,
        })
}
