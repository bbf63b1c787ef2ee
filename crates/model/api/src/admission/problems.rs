//! From what is wrong with a text to errors of a field.

use std::collections::BTreeSet;

use object::field::{FieldError, FieldPath};
use serde::Serialize;
use serde_json::Value;

/// One error for each problem of a value.
pub(super) fn each(
    path: &FieldPath,
    value: &str,
    problems: Vec<String>,
) -> impl Iterator<Item = FieldError> {
    problems
        .into_iter()
        .map(move |problem| FieldError::invalid(path.clone(), value, problem))
}

/// One error for all problems of a value, if there are any.
pub(super) fn joined(
    path: FieldPath,
    value: &str,
    problems: &[String],
    separator: &str,
) -> Option<FieldError> {
    if problems.is_empty() {
        return None;
    }
    Some(FieldError::invalid(path, value, problems.join(separator)))
}

/// The error for a port outside of 1 to 65535.
pub(super) fn port(path: FieldPath, number: i32) -> Option<FieldError> {
    if (1..=65_535).contains(&number) {
        return None;
    }
    let detail = "must be between 1 and 65535, inclusive";
    Some(FieldError::invalid(path, number, detail))
}

/// Tells for each key whether it has been there before.
///
/// Lists are as long as their authors make them, so no rule compares every element with every other.
pub(super) fn repeats<K: Ord>(keys: impl Iterator<Item = K>) -> impl Iterator<Item = bool> {
    let mut seen = BTreeSet::new();
    keys.map(move |key| !seen.insert(key))
}

/// A value as an error shows it.
pub(super) fn shown<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}
