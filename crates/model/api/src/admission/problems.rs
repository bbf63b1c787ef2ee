//! From what is wrong with a text to errors of a field.

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
    Some(FieldError::invalid(path, number, PORT_RANGE))
}

/// What ports may be.
pub(super) const PORT_RANGE: &str = "must be between 1 and 65535, inclusive";

/// A value as an error shows it.
pub(super) fn shown<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}
