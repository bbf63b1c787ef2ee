//! The functions of templates.

use std::cmp::Ordering;

use object::{Value, base64};

/// All that are known.
pub(super) const NAMES: [&str; 15] = [
    "and",
    "or",
    "not",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "index",
    "len",
    "print",
    "printf",
    "println",
    "base64decode",
];

/// Calls a function.
pub(super) fn call(name: &str, arguments: &[Value]) -> Result<Value, String> {
    let first = || {
        let found = arguments.first();
        found.ok_or_else(|| format!("{name} needs an argument"))
    };
    Ok(match name {
        "not" => Value::from(!holds(first()?)),
        "and" => pick(arguments, |value| !holds(value), first()?),
        "or" => pick(arguments, holds, first()?),
        "eq" => {
            let one = first()?;
            let others = arguments.get(1..).unwrap_or_default();
            Value::from(others.iter().any(|other| is_same(one, other)))
        }
        "ne" => Value::from(arguments.get(1).is_none_or(|other| match first() {
            Ok(one) => !is_same(one, other),
            Err(_) => true,
        })),
        "lt" | "le" | "gt" | "ge" => {
            let order = arguments
                .get(1)
                .and_then(|other| order(first().ok()?, other));
            let order = order.ok_or_else(|| format!("{name}: these cannot be compared"))?;
            Value::from(match name {
                "lt" => order == Ordering::Less,
                "le" => order != Ordering::Greater,
                "gt" => order == Ordering::Greater,
                _ => order != Ordering::Less,
            })
        }
        "index" => index(first()?, arguments.get(1..).unwrap_or_default())?,
        "len" => Value::from(match first()? {
            Value::String(text) => text.len(),
            Value::Array(items) => items.len(),
            Value::Object(fields) => fields.len(),
            other => return Err(format!("len of {}", show(other))),
        }),
        "print" => Value::from(printed(arguments)),
        "println" => {
            let words: Vec<String> = arguments.iter().map(show).collect();
            Value::from(format!("{}\n", words.join(" ")))
        }
        "printf" => format(arguments)?,
        "base64decode" => {
            let text = first()?.as_str().unwrap_or_default();
            let bytes = base64::decode(text).ok_or("base64decode: this is no base64")?;
            Value::from(String::from_utf8_lossy(&bytes).into_owned())
        }
        other => return Err(format!("function {other:?} not defined")),
    })
}

/// Whether a value counts as true.
pub(super) fn holds(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(is) => *is,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

/// A value as Go prints it.
pub(super) fn show(value: &Value) -> String {
    match value {
        Value::Null => "<no value>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(show).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_by_key(|(key, _)| *key);
            let fields: Vec<String> = fields
                .into_iter()
                .map(|(key, value)| format!("{key}:{}", show(value)))
                .collect();
            format!("map[{}]", fields.join(" "))
        }
        other => other.to_string(),
    }
}

/// The first value that decides, else the last one.
fn pick(values: &[Value], decides: impl Fn(&Value) -> bool, first: &Value) -> Value {
    let found = values.iter().find(|value| decides(value));
    found.or(values.last()).unwrap_or(first).clone()
}

fn is_same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

fn order(one: &Value, other: &Value) -> Option<Ordering> {
    match (one, other) {
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}

fn index(value: &Value, path: &[Value]) -> Result<Value, String> {
    let mut at = value;
    for step in path {
        at = match (at, step) {
            (Value::Array(items), Value::Number(number)) => {
                let place = number
                    .as_u64()
                    .and_then(|place| usize::try_from(place).ok());
                let found = place.and_then(|place| items.get(place));
                found.ok_or_else(|| format!("index out of range: {number}"))?
            }
            (Value::Object(fields), Value::String(key)) => fields.get(key).unwrap_or(&Value::Null),
            (Value::Null, _) => return Err("index of untyped nil".to_owned()),
            (other, step) => {
                return Err(format!(
                    "{} cannot be indexed by {}",
                    show(other),
                    show(step)
                ));
            }
        };
    }
    Ok(at.clone())
}

/// Values one after the other, with a space between two that are no texts.
fn printed(values: &[Value]) -> String {
    let mut text = String::new();
    let mut was_text = true;
    for (number, value) in values.iter().enumerate() {
        if number > 0 && !was_text && !value.is_string() {
            text.push(' ');
        }
        text.push_str(&show(value));
        was_text = value.is_string();
    }
    text
}

fn format(arguments: &[Value]) -> Result<Value, String> {
    let mut rest = arguments.iter();
    let pattern = rest.next().and_then(Value::as_str);
    let pattern = pattern.ok_or("printf needs a text first")?;
    let mut text = String::new();
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            text.push(letter);
            continue;
        }
        let mut shape = String::new();
        while let Some(next) =
            letters.next_if(|next| next.is_ascii_digit() || matches!(next, '-' | '.' | '+'))
        {
            shape.push(next);
        }
        let Some(verb) = letters.next() else {
            text.push_str("%!(NOVERB)");
            break;
        };
        if verb == '%' {
            text.push('%');
            continue;
        }
        let Some(value) = rest.next() else {
            text.push_str(&format!("%!{verb}(MISSING)"));
            continue;
        };
        let said = match verb {
            'q' => format!("{:?}", show(value)),
            'f' => format!("{:.6}", value.as_f64().unwrap_or_default()),
            'x' => format!("{:x}", value.as_i64().unwrap_or_default()),
            _ => show(value),
        };
        text.push_str(&padded(&said, &shape));
    }
    Ok(Value::from(text))
}

/// A text as wide as asked for: to the right, or to the left behind a minus.
fn padded(text: &str, shape: &str) -> String {
    const WIDEST: usize = 1000;
    let (is_left, digits) = match shape.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, shape),
    };
    let width = digits.split('.').next().unwrap_or_default();
    let width = width.parse::<usize>().unwrap_or(0).min(WIDEST);
    match is_left {
        true => format!("{text:<width$}"),
        false => format!("{text:>width$}"),
    }
}
