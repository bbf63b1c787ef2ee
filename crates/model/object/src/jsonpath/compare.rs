//! Comparing two values in a filter.

use std::cmp::Ordering;

use super::{evaluate::EvaluateError, node::Comparison};
use crate::Value;

/// Whether the comparison holds; an error if there is none between such values.
pub(super) fn compare(
    left: &Value,
    comparison: Comparison,
    right: &Value,
) -> Result<bool, EvaluateError> {
    let order = match (left, right) {
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        // Upstream: refuses to compare an integer with a float.
        (Value::Number(left), Value::Number(right)) => match (left.as_i128(), right.as_i128()) {
            (Some(left), Some(right)) => Some(left.cmp(&right)),
            _ => left.as_f64().partial_cmp(&right.as_f64()),
        },
        (Value::Bool(left), Value::Bool(right)) => match comparison {
            Comparison::Equal => return Ok(left == right),
            Comparison::NotEqual => return Ok(left != right),
            _ => return Err(EvaluateError::Incomparable { found: "boolean" }),
        },
        (Value::Null | Value::Array(_) | Value::Object(_), _) => {
            return Err(EvaluateError::Incomparable {
                found: type_name(left),
            });
        }
        (_, Value::Null | Value::Array(_) | Value::Object(_)) => {
            return Err(EvaluateError::Incomparable {
                found: type_name(right),
            });
        }
        _ => {
            return Err(EvaluateError::Incompatible {
                left: type_name(left),
                right: type_name(right),
            });
        }
    };
    Ok(match comparison {
        Comparison::Equal => order == Some(Ordering::Equal),
        Comparison::NotEqual => order != Some(Ordering::Equal),
        Comparison::Less => order == Some(Ordering::Less),
        Comparison::LessOrEqual => order.is_some_and(Ordering::is_le),
        Comparison::Greater => order == Some(Ordering::Greater),
        Comparison::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
    })
}

/// What a value is, for messages.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}
