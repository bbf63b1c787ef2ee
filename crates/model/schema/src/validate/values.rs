//! Checks of one value by itself: its type, its text, its being one of a list.

use object::{
    Value,
    field::{FieldError, FieldErrorKind, FieldPath},
};

use super::{NOWHERE, View, formats, numbers};
use crate::{rules::Rules, trail::Trail};

/// The format that counts for a value of these types; others are documentation.
pub(super) fn effective_format<'r>(types: &[&str], rules: &'r Rules) -> Option<&'r str> {
    let format = rules.format.as_deref()?;
    let counts = match types {
        ["integer"] => matches!(format, "int32" | "int64"),
        ["number"] => matches!(format, "float" | "double"),
        [] | ["string"] | [_, _, ..] => formats::is_valid(format, "").is_some(),
        [_] => false,
    };
    counts.then_some(format)
}

pub(super) fn check_type(
    view: View<'_>,
    format: Option<&str>,
    value: &Value,
    trail: &Trail<'_>,
) -> Option<FieldError> {
    let types = view.types();
    let refuse = |expected: &str, found: &str| {
        let detail = format!(
            "{} in body must be of type {expected}: {found:?}",
            trail.dotted()
        );
        Some(FieldError::type_invalid(dotted_path(trail), found, detail))
    };
    let (found, width) = match value {
        Value::Null if types.is_empty() || view.is_nullable() => return None,
        Value::Null => return refuse(&types.join(","), "null"),
        Value::Bool(_) => ("boolean", ""),
        Value::String(_) => ("string", ""),
        Value::Number(number) if number.is_i64() => ("integer", "int64"),
        Value::Number(_) => ("number", "float64"),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    };
    let has = |name| types.contains(&name);
    let fits = match value {
        Value::Number(number) if found == "number" && has("integer") => {
            has("number") || number.as_f64().is_some_and(numbers::is_whole)
        }
        _ => has(found) || (found == "integer" && has("number")),
    };
    let is_text = matches!(value, Value::String(_) | Value::Array(_));
    if let Some(format) = format {
        if !is_text && !fits && width != format {
            return refuse(format, width);
        }
        if is_text && !has("number") && !has("integer") {
            return None;
        }
    }
    if fits {
        None
    } else {
        refuse(&types.join(","), found)
    }
}

pub(super) fn check_string(rules: &Rules, text: &str, trail: &Trail<'_>) -> Option<FieldError> {
    let length = || i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    if let Some(most) = rules.max_length.filter(|most| length() > *most) {
        return Some(FieldError::too_long(
            dotted_path(trail),
            usize::try_from(most).unwrap_or_default(),
        ));
    }
    if let Some(least) = rules.min_length.filter(|least| length() < *least) {
        let detail = format!(
            "{} in body should be at least {least} chars long",
            trail.dotted()
        );
        return Some(FieldError::invalid(dotted_path(trail), text, detail));
    }
    let pattern = rules
        .pattern
        .as_ref()
        .filter(|pattern| !pattern.is_match(text))?;
    let detail = format!(
        "{} in body should match '{}'",
        trail.dotted(),
        pattern.as_str()
    );
    Some(FieldError::invalid(dotted_path(trail), text, detail))
}

pub(super) fn check_format(format: &str, text: &str, trail: &Trail<'_>) -> Option<FieldError> {
    if formats::is_valid(format, text) != Some(false) {
        return None;
    }
    // Bytes and passwords are what secrets are made of; no error repeats them.
    let text = match format {
        "byte" | "password" if !text.is_empty() => "<redacted>",
        _ => text,
    };
    let detail = format!(
        "{} in body must be of type {format}: {text:?}",
        trail.dotted()
    );
    Some(FieldError::type_invalid(dotted_path(trail), text, detail))
}

pub(super) fn check_enumeration(
    rules: &Rules,
    value: &Value,
    trail: &Trail<'_>,
) -> Option<FieldError> {
    if rules.enumeration.is_empty()
        || rules
            .enumeration
            .iter()
            .any(|allowed| is_same(allowed, value))
    {
        return None;
    }
    let shown: Vec<String> = (rules.enumeration.iter())
        .map(|allowed| {
            allowed
                .as_str()
                .map_or_else(|| allowed.to_string(), str::to_owned)
        })
        .collect();
    let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
    Some(FieldError::not_supported(
        dotted_path(trail),
        value.clone(),
        &shown,
    ))
}

/// Equal as far as an enumeration is concerned: `1` and `1.0` are one number; `null` is never a choice.
fn is_same(allowed: &Value, value: &Value) -> bool {
    match (allowed, value) {
        (Value::Null, _) => false,
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => allowed == value,
    }
}

pub(super) fn too_many(trail: &Trail<'_>, count: i64, most: i64) -> FieldError {
    let unit = if most == 1 { "item" } else { "items" };
    let detail = format!("must have at most {most} {unit}");
    FieldError {
        kind: FieldErrorKind::TooMany,
        ..FieldError::invalid(dotted_path(trail), count, detail)
    }
}

pub(super) fn dotted_path(trail: &Trail<'_>) -> FieldPath {
    if trail.is_root() {
        return FieldPath::from(NOWHERE);
    }
    FieldPath::from(trail.dotted().trim_start_matches('.'))
}
