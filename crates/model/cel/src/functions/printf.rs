//! `'%s has %d'.format([name, count])`.

use super::Outcome;
use super::convert::{double_text, seconds_text, text_of};
use crate::evaluate::{Fault, Meter};
use crate::json::timestamp_text;
use crate::value::{List, Value};

/// The most digits behind a point.
const MOST_DIGITS: usize = 100;

pub(super) fn format<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::String(pattern), Value::List(values)] = args else {
        return Err(Fault::no_overload());
    };
    meter.pay_for_bytes(pattern.len())?;
    let mut made = String::new();
    let mut next = 0;
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            made.push(c);
            continue;
        }
        let mut verb = chars.next();
        if verb == Some('%') {
            made.push('%');
            continue;
        }
        let mut digits = None;
        if verb == Some('.') {
            let mut count = 0_usize;
            verb = chars.next();
            while let Some(digit) = verb.and_then(|c| c.to_digit(10)) {
                count = count.saturating_mul(10).saturating_add(digit as usize);
                verb = chars.next();
            }
            if count > MOST_DIGITS {
                return Err(Fault::new("precision is too large"));
            }
            digits = Some(count);
        }
        let Some(verb) = verb else {
            return Err(Fault::new("unexpected end of string"));
        };
        let value = argument(values, next)?;
        next += 1;
        let before = made.len();
        write(&mut made, verb, digits, &value, meter)?;
        meter.pay_for_bytes(made.len() - before)?;
    }
    Ok(made.into())
}

fn argument<'a>(values: &List<'a>, place: usize) -> Result<Value<'a>, Fault> {
    values
        .at(place)
        .ok_or_else(|| Fault::new(format!("index {place} out of range")))
}

fn write(
    made: &mut String,
    verb: char,
    digits: Option<usize>,
    value: &Value<'_>,
    meter: &mut Meter,
) -> Result<(), Fault> {
    let refuse = || {
        Fault::new(format!(
            "could not format with %{verb}: {} is not of a type it takes",
            value.type_name()
        ))
    };
    let text = match (verb, value) {
        ('s', value) => return show(made, value, meter),
        ('d', Value::Int(number)) => number.to_string(),
        ('d', Value::Uint(number)) => number.to_string(),
        ('d' | 'f' | 'e', Value::Double(number)) if !number.is_finite() => match number {
            number if number.is_nan() => "NaN".to_owned(),
            number if *number > 0.0 => "Infinity".to_owned(),
            _ => "-Infinity".to_owned(),
        },
        ('f', Value::Double(number)) => format!("{number:.*}", digits.unwrap_or(6)),
        ('f', Value::Int(number)) => format!("{number}.{}", "0".repeat(digits.unwrap_or(6))),
        ('e', Value::Double(number)) => {
            let text = format!("{number:.*e}", digits.unwrap_or(6));
            let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
            let (sign, power) = match power.strip_prefix('-') {
                Some(power) => ('-', power),
                None => ('+', power),
            };
            format!("{mantissa}e{sign}{power:0>2}")
        }
        ('b', Value::Int(number)) => {
            let sign = if *number < 0 { "-" } else { "" };
            format!("{sign}{:b}", number.unsigned_abs())
        }
        ('b', Value::Uint(number)) => format!("{number:b}"),
        ('b', Value::Bool(value)) => u8::from(*value).to_string(),
        ('o', Value::Int(number)) => {
            let sign = if *number < 0 { "-" } else { "" };
            format!("{sign}{:o}", number.unsigned_abs())
        }
        ('o', Value::Uint(number)) => format!("{number:o}"),
        ('x' | 'X', value) => {
            let text = match value {
                Value::Int(number) => {
                    let sign = if *number < 0 { "-" } else { "" };
                    format!("{sign}{:x}", number.unsigned_abs())
                }
                Value::Uint(number) => format!("{number:x}"),
                Value::String(text) => text.bytes().map(|byte| format!("{byte:02x}")).collect(),
                Value::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
                _ => return Err(refuse()),
            };
            if verb == 'X' {
                text.to_ascii_uppercase()
            } else {
                text
            }
        }
        ('d' | 'f' | 'e' | 'b' | 'o', _) => return Err(refuse()),
        _ => {
            return Err(Fault::new(format!(
                "unrecognized formatting clause \"{verb}\""
            )));
        }
    };
    made.push_str(&text);
    Ok(())
}

/// A value of any type as text.
fn show(made: &mut String, value: &Value<'_>, meter: &mut Meter) -> Result<(), Fault> {
    meter.pay(1)?;
    match value {
        Value::Null => made.push_str("null"),
        Value::String(text) => made.push_str(text),
        Value::Bytes(bytes) => made.push_str(&String::from_utf8_lossy(bytes)),
        Value::Double(number) => made.push_str(&match number {
            number if number.is_nan() => "NaN".to_owned(),
            number if number.is_infinite() && *number > 0.0 => "Infinity".to_owned(),
            number if number.is_infinite() => "-Infinity".to_owned(),
            number => double_text(*number),
        }),
        Value::Timestamp(time) => made.push_str(&timestamp_text(*time)),
        Value::Duration(span) => made.push_str(&seconds_text(*span)),
        Value::List(list) => {
            made.push('[');
            for (place, item) in list.iter().enumerate() {
                if place > 0 {
                    made.push_str(", ");
                }
                meter.pay_for_bytes(made.len() / 64)?;
                show(made, &item, meter)?;
            }
            made.push(']');
        }
        Value::Map(map) => {
            made.push('{');
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            for (place, (key, value)) in entries.into_iter().enumerate() {
                if place > 0 {
                    made.push_str(", ");
                }
                show(made, &key.into_value(), meter)?;
                made.push_str(": ");
                show(made, &value, meter)?;
            }
            made.push('}');
        }
        other => match text_of(other) {
            Some(text) => made.push_str(&text),
            None => return Err(Fault::new("no formatting function for %s")),
        },
    }
    Ok(())
}
