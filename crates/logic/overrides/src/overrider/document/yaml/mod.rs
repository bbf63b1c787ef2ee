//! Changes inside YAML texts.
//!
//! The text is written anew in block style, sorted by key, without comments, and with what aliases and merges stand for
//! in their place. A scalar without quotes is written as it was, whatever it means: `0644`, `on` and `1e3` are read in
//! one way by YAML 1.1 and in another by YAML 1.2, and only whoever reads the text knows which it is. Texts keep their
//! content, and have quotes where a reader of either version would take them for something else.
//!
//! Upstream: scalars become what YAML 1.1 takes them for and are written as that, `0644` as `420`.

mod read;
mod write;

use std::collections::BTreeMap;

use api::policy::DocumentPatch;
use granit_parser::YamlVersion;
use object::{Value, patch::Replace};

use self::{read::read, write::write};
use super::{leaves::Leaves, patch};
use crate::problem::Problem;

/// A text, taken apart.
struct Document {
    root: Value,
    leaves: Leaves<Leaf>,
    /// Of the keys that would not be texts without quotes, which ones have none: those are numbers, or yes and no.
    bare_keys: BTreeMap<String, bool>,
    /// The version that the text says it is written in.
    version: Option<YamlVersion>,
}

/// What has no parts.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Leaf {
    /// As it stands, with its tag if it has one.
    Bare(String),
    /// The content of what certainly is a text.
    Text(String),
}

impl Leaf {
    /// What a policy gives.
    fn given(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text.clone()),
            other => Self::Bare(write::bare(other)),
        }
    }
}

/// Sorted by key; comments are lost.
pub(super) fn rewrite(text: &str, changes: &[DocumentPatch]) -> Result<String, Problem> {
    let mut document = read(text)?;
    let patch = patch(changes, |value| {
        document.leaves.keep_all(value, Leaf::given)
    })?;
    document.root = patch
        .apply(&document.root, Replace::Existing)
        .map_err(Box::new)?;
    document.root.sort_all_objects();
    let written = write(&document);
    // Invariant: what is read from the new text is what was to be written.
    same(&document, &read(&written)?)?;
    Ok(written)
}

fn same(wanted: &Document, found: &Document) -> Result<(), Problem> {
    for (key, is_bare) in &found.bare_keys {
        if wanted.bare_keys.get(key).copied().unwrap_or_default() != *is_bare {
            let why = "this key would be read as something else";
            return Err(Problem::unkept(std::slice::from_ref(key), why));
        }
    }
    let mut place = Vec::new();
    if same_value(wanted, &wanted.root, found, &found.root, &mut place) {
        return Ok(());
    }
    Err(Problem::unkept(
        &place,
        "it would be read as something else",
    ))
}

/// Whether both mean the same; if not, the place is where they differ.
fn same_value(
    wanted: &Document,
    here: &Value,
    found: &Document,
    there: &Value,
    place: &mut Vec<String>,
) -> bool {
    match (here, there) {
        (Value::Object(here), Value::Object(there)) => {
            here.len() == there.len()
                && here.iter().all(|(key, value)| {
                    place.push(key.clone());
                    let is_same = there
                        .get(key)
                        .is_some_and(|there| same_value(wanted, value, found, there, place));
                    if is_same {
                        place.pop();
                    }
                    is_same
                })
        }
        (Value::Array(here), Value::Array(there)) => {
            here.len() == there.len()
                && here
                    .iter()
                    .zip(there)
                    .enumerate()
                    .all(|(position, (value, there))| {
                        place.push(position.to_string());
                        let is_same = same_value(wanted, value, found, there, place);
                        if is_same {
                            place.pop();
                        }
                        is_same
                    })
        }
        (Value::Number(_), Value::Number(_)) => {
            match (wanted.leaves.at(here), found.leaves.at(there)) {
                // Written without quotes, as nobody takes it for anything but a text.
                (Leaf::Text(here), Leaf::Bare(there)) => here == there,
                (here, there) => here == there,
            }
        }
        _ => false,
    }
}
