//! What operators do.

use std::cmp::Ordering;
use std::sync::Arc;

use jiff::SignedDuration;

use super::Outcome;
use crate::ast::Operator;
use crate::evaluate::{Fault, Meter};
use crate::value::{List, Map, Value};

pub(crate) fn negate<'a>(value: &Value<'a>) -> Outcome<'a> {
    match value {
        Value::Int(number) => number
            .checked_neg()
            .map(Value::Int)
            .ok_or_else(int_overflow),
        Value::Double(number) => Ok(Value::Double(-number)),
        _ => Err(Fault::no_overload()),
    }
}

fn int_overflow() -> Fault {
    Fault::new("integer overflow")
}

fn uint_overflow() -> Fault {
    Fault::new("unsigned integer overflow")
}

fn time_overflow() -> Fault {
    Fault::new("timestamp overflow")
}

fn duration_overflow() -> Fault {
    Fault::new("duration overflow")
}

/// The element of a list or map.
pub(crate) fn element<'a>(operand: &Value<'a>, index: &Value<'a>) -> Outcome<'a> {
    match operand {
        Value::List(list) => {
            let place = match index {
                Value::Int(place) => usize::try_from(*place).ok(),
                Value::Uint(place) => usize::try_from(*place).ok(),
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "whole, positive and within range"
                )]
                Value::Double(place) if place.fract() == 0.0 && (0.0..1e15).contains(place) => {
                    Some(*place as usize)
                }
                _ => return Err(Fault::no_overload()),
            };
            place.and_then(|place| list.at(place)).ok_or_else(|| {
                let shown = super::convert::text_of(index).unwrap_or_default();
                Fault::new(format!("index out of bounds: {shown}"))
            })
        }
        Value::Map(map) => {
            let key = index.as_key().ok_or_else(Fault::no_overload)?;
            map.value(&key).ok_or_else(|| {
                let shown = super::convert::text_of(index).unwrap_or_default();
                Fault::new(format!("no such key: {shown}"))
            })
        }
        _ => Err(Fault::no_overload()),
    }
}

pub(crate) fn binary<'a>(
    meter: &mut Meter,
    operator: Operator,
    left: &Value<'a>,
    right: &Value<'a>,
) -> Outcome<'a> {
    match operator {
        Operator::Equal => equal(meter, left, right).map(Value::Bool),
        Operator::NotEqual => equal(meter, left, right).map(|same| Value::Bool(!same)),
        Operator::Less => ordered(meter, left, right, Ordering::is_lt),
        Operator::LessOrEqual => ordered(meter, left, right, Ordering::is_le),
        Operator::Greater => ordered(meter, left, right, Ordering::is_gt),
        Operator::GreaterOrEqual => ordered(meter, left, right, Ordering::is_ge),
        Operator::In => contains(meter, right, left).map(Value::Bool),
        Operator::Add => add(meter, left, right),
        Operator::Subtract => subtract(left, right),
        Operator::Multiply => multiply(left, right),
        Operator::Divide => divide(left, right),
        Operator::Remainder => remainder(left, right),
    }
}

/// Whether two values are the same, paid for as far as they had to be looked at.
pub(crate) fn equal(meter: &mut Meter, a: &Value<'_>, b: &Value<'_>) -> Result<bool, Fault> {
    match (a, b) {
        (Value::List(a), Value::List(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (a, b) in a.iter().zip(b.iter()) {
                meter.pay(1)?;
                if !equal(meter, &a, &b)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Map(a), Value::Map(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (key, a) in a.iter() {
                meter.pay(1)?;
                let Some(b) = b.value(&key) else {
                    return Ok(false);
                };
                if !equal(meter, &a, &b)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Optional(Some(a)), Value::Optional(Some(b))) => equal(meter, a, b),
        (Value::String(a), Value::String(b)) => {
            meter.pay_for_bytes(a.len().min(b.len()))?;
            Ok(**a == **b)
        }
        (a, b) => Ok(a.is_equal(b)),
    }
}

fn ordered<'a>(
    meter: &mut Meter,
    left: &Value<'a>,
    right: &Value<'a>,
    holds: fn(Ordering) -> bool,
) -> Outcome<'a> {
    if let (Value::String(a), Value::String(b)) = (left, right) {
        meter.pay_for_bytes(a.len().min(b.len()))?;
    }
    let number = |value: &Value<'_>| matches!(value, Value::Double(_));
    match left.compare(right) {
        Some(order) => Ok(Value::Bool(holds(order))),
        // Nothing compares with what is not a number.
        None if number(left) || number(right) => Ok(Value::Bool(false)),
        None => Err(Fault::no_overload()),
    }
}

/// Whether a list has an element, or a map a key.
pub(crate) fn contains(
    meter: &mut Meter,
    range: &Value<'_>,
    wanted: &Value<'_>,
) -> Result<bool, Fault> {
    match range {
        Value::List(list) => {
            for item in list.iter() {
                meter.pay(1)?;
                if equal(meter, &item, wanted)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Value::Map(map) => Ok(wanted.as_key().is_some_and(|key| map.value(&key).is_some())),
        _ => Err(Fault::no_overload()),
    }
}

fn add<'a>(meter: &mut Meter, left: &Value<'a>, right: &Value<'a>) -> Outcome<'a> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => {
            a.checked_add(*b).map(Value::Int).ok_or_else(int_overflow)
        }
        (Value::Uint(a), Value::Uint(b)) => {
            a.checked_add(*b).map(Value::Uint).ok_or_else(uint_overflow)
        }
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a + b)),
        (Value::String(a), Value::String(b)) => {
            meter.pay_for_bytes(a.len().saturating_add(b.len()))?;
            Ok(format!("{}{}", &**a, &**b).into())
        }
        (Value::Bytes(a), Value::Bytes(b)) => {
            meter.pay_for_bytes(a.len().saturating_add(b.len()))?;
            Ok(Value::Bytes(a.iter().chain(b.iter()).copied().collect()))
        }
        (Value::List(a), Value::List(b)) => joined(meter, a, b),
        (Value::Timestamp(time), Value::Duration(span))
        | (Value::Duration(span), Value::Timestamp(time)) => time
            .checked_add(SignedDuration::from_nanos(*span))
            .map(Value::Timestamp)
            .map_err(|_| time_overflow()),
        (Value::Duration(a), Value::Duration(b)) => a
            .checked_add(*b)
            .map(Value::Duration)
            .ok_or_else(duration_overflow),
        _ => Err(Fault::no_overload()),
    }
}

fn joined<'a>(meter: &mut Meter, a: &List<'a>, b: &List<'a>) -> Outcome<'a> {
    meter.pay_for_items(a.len().saturating_add(b.len()))?;
    Ok(a.iter().chain(b.iter()).collect::<Vec<_>>().into())
}

fn subtract<'a>(left: &Value<'a>, right: &Value<'a>) -> Outcome<'a> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => {
            a.checked_sub(*b).map(Value::Int).ok_or_else(int_overflow)
        }
        (Value::Uint(a), Value::Uint(b)) => {
            a.checked_sub(*b).map(Value::Uint).ok_or_else(uint_overflow)
        }
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a - b)),
        (Value::Timestamp(a), Value::Timestamp(b)) => {
            let nanos = a.as_nanosecond().checked_sub(b.as_nanosecond());
            nanos
                .and_then(|nanos| i64::try_from(nanos).ok())
                .map(Value::Duration)
                .ok_or_else(duration_overflow)
        }
        (Value::Timestamp(time), Value::Duration(span)) => time
            .checked_sub(SignedDuration::from_nanos(*span))
            .map(Value::Timestamp)
            .map_err(|_| time_overflow()),
        (Value::Duration(a), Value::Duration(b)) => a
            .checked_sub(*b)
            .map(Value::Duration)
            .ok_or_else(duration_overflow),
        _ => Err(Fault::no_overload()),
    }
}

fn multiply<'a>(left: &Value<'a>, right: &Value<'a>) -> Outcome<'a> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => {
            a.checked_mul(*b).map(Value::Int).ok_or_else(int_overflow)
        }
        (Value::Uint(a), Value::Uint(b)) => {
            a.checked_mul(*b).map(Value::Uint).ok_or_else(uint_overflow)
        }
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a * b)),
        _ => Err(Fault::no_overload()),
    }
}

fn divide<'a>(left: &Value<'a>, right: &Value<'a>) -> Outcome<'a> {
    let by_zero = || Fault::new("division by zero");
    match (left, right) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => Err(by_zero()),
        (Value::Int(a), Value::Int(b)) => {
            a.checked_div(*b).map(Value::Int).ok_or_else(int_overflow)
        }
        (Value::Uint(a), Value::Uint(b)) => a.checked_div(*b).map(Value::Uint).ok_or_else(by_zero),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a / b)),
        _ => Err(Fault::no_overload()),
    }
}

fn remainder<'a>(left: &Value<'a>, right: &Value<'a>) -> Outcome<'a> {
    let by_zero = || Fault::new("modulus by zero");
    match (left, right) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => Err(by_zero()),
        (Value::Int(a), Value::Int(b)) => {
            a.checked_rem(*b).map(Value::Int).ok_or_else(int_overflow)
        }
        (Value::Uint(a), Value::Uint(b)) => a.checked_rem(*b).map(Value::Uint).ok_or_else(by_zero),
        _ => Err(Fault::no_overload()),
    }
}

/// Values in the order of their keys, which are all of one ordered type.
pub(crate) fn sorted<'a>(meter: &mut Meter, mut pairs: Vec<(Value<'a>, Value<'a>)>) -> Outcome<'a> {
    let comparisons = pairs
        .len()
        .saturating_mul(pairs.len().max(2).ilog2() as usize);
    meter.pay_for_items(comparisons)?;
    let comparable = pairs
        .windows(2)
        .all(|pair| matches!(pair, [(a, _), (b, _)] if a.compare(b).is_some()));
    if !comparable {
        return Err(Fault::new("list elements must have the same type"));
    }
    pairs.sort_by(|(a, _), (b, _)| a.compare(b).unwrap_or(Ordering::Equal));
    let values: Vec<Value<'a>> = pairs.into_iter().map(|(_, value)| value).collect();
    Ok(Value::List(List::Made(Arc::new(values))))
}

/// Whether a value is what its type begins with: nothing, zero, an empty text.
pub(crate) fn is_zero(value: &Value<'_>) -> bool {
    match value {
        Value::Null | Value::Optional(None) => true,
        Value::Bool(value) => !value,
        Value::Int(number) => *number == 0,
        Value::Uint(number) => *number == 0,
        Value::Double(number) => *number == 0.0,
        Value::String(text) => text.is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        Value::List(list) => list.is_empty(),
        Value::Map(Map::Json(fields, _)) => fields.is_empty(),
        Value::Map(map) => map.is_empty(),
        Value::Duration(span) => *span == 0,
        _ => false,
    }
}
