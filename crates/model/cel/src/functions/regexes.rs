//! Regular expressions in Go's syntax.

use schema::pattern::Pattern;

use super::{Outcome, Row};
use crate::evaluate::{Fault, Meter};
use crate::value::Value;

pub(super) const ROWS: &[Row] = &[
    (
        &[
            "string.matches(string) bool",
            "matches(string, string) bool",
        ],
        matches,
    ),
    (&["string.find(string) string"], find),
    (
        &[
            "string.findAll(string) list(string)",
            "string.findAll(string, int) list(string)",
        ],
        find_all,
    ),
];

/// Compiles a pattern that was not known before, and pays for that and for going through the text.
fn compiled(meter: &mut Meter, pattern: &str, text: &str) -> Result<Pattern, Fault> {
    // Making the automaton costs far more than a step for every character, and counted repetitions multiply it. A
    // pattern in a loop is paid for each time.
    let base = if pattern.contains('{') {
        200_000
    } else {
        2_000
    };
    meter.pay(
        (pattern.len() as u64)
            .saturating_mul(20)
            .saturating_add(base),
    )?;
    let cost = (text.len() as u64 / 10 + 1).saturating_mul(pattern.len() as u64 / 4 + 1);
    meter.pay(cost)?;
    Pattern::new(pattern).map_err(|error| Fault::new(error.to_string()))
}

fn matches<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::String(text), Value::String(pattern)] = args else {
        return Err(Fault::no_overload());
    };
    Ok(Value::Bool(compiled(meter, pattern, text)?.is_match(text)))
}

fn find<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::String(text), Value::String(pattern)] = args else {
        return Err(Fault::no_overload());
    };
    let pattern = compiled(meter, pattern, text)?;
    let found = pattern.find_all(text).next();
    Ok(found.unwrap_or_default().to_owned().into())
}

fn find_all<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (text, pattern, most) = match args {
        [Value::String(text), Value::String(pattern)] => (text, pattern, -1),
        [
            Value::String(text),
            Value::String(pattern),
            Value::Int(most),
        ] => (text, pattern, *most),
        _ => return Err(Fault::no_overload()),
    };
    let pattern = compiled(meter, pattern, text)?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let found: Vec<Value<'a>> = pattern
        .find_all(text)
        .take(most)
        .map(|part| part.to_owned().into())
        .collect();
    meter.pay_for_items(found.len())?;
    Ok(found.into())
}
