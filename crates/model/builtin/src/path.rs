//! Reading a value at a plain path such as `spec.ports[0].name`.

use object::Value;

/// The value at `path`, which may start with a dot; `None` where anything on the way is missing.
#[must_use]
pub(crate) fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let mut value = value;
    for step in path.trim_start_matches('.').split('.') {
        let (name, index) = match step.split_once('[') {
            Some((name, index)) => (name, Some(index.strip_suffix(']')?.parse::<usize>().ok()?)),
            None => (step, None),
        };
        value = value.get(name)?;
        if let Some(index) = index {
            value = value.get(index)?;
        }
    }
    Some(value)
}

/// The text at `path`; empty where there is none.
#[must_use]
pub(crate) fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    at(value, path).and_then(Value::as_str).unwrap_or("")
}

/// The number at `path`; zero where there is none.
#[must_use]
pub(crate) fn number(value: &Value, path: &str) -> i64 {
    at(value, path).and_then(Value::as_i64).unwrap_or(0)
}

/// The flag at `path`; false where there is none.
#[must_use]
pub(crate) fn flag(value: &Value, path: &str) -> bool {
    at(value, path).and_then(Value::as_bool).unwrap_or(false)
}

/// The elements of the list at `path`; none where there is no list.
#[must_use]
pub(crate) fn list<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    at(value, path)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Whether there is a value at `path` other than `null`.
#[must_use]
pub(crate) fn is_set(value: &Value, path: &str) -> bool {
    at(value, path).is_some_and(|value| !value.is_null())
}
