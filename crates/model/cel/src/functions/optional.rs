//! Values that may be absent.

use super::{Outcome, Row, arithmetic};
use crate::evaluate::{Fault, Meter};
use crate::value::Value;

pub(super) const ROWS: &[Row] = &[
    (&["optional.of(A) optional(A)"], of),
    (&["optional.ofNonZeroValue(A) optional(A)"], of_non_zero),
    (&["optional.none() optional(A)"], none),
    (&["optional(A).hasValue() bool"], has_value),
    (&["optional(A).value() A"], value),
    (&["optional(A).or(optional(A)) optional(A)"], or),
    (&["optional(A).orValue(A) A"], or_value),
    (&["optional.unwrap(list(optional(A))) list(A)"], unwrap),
    (&["list(optional(A)).unwrapOpt() list(A)"], unwrap),
];

fn of<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let value = args.first().cloned().ok_or_else(Fault::no_overload)?;
    Ok(value.some())
}

fn of_non_zero<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let value = args.first().cloned().ok_or_else(Fault::no_overload)?;
    if arithmetic::is_zero(&value) {
        return Ok(Value::Optional(None));
    }
    Ok(value.some())
}

fn none<'a>(_: &mut Meter, _: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Optional(None))
}

fn has_value<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Optional(value)] => Ok(Value::Bool(value.is_some())),
        _ => Err(Fault::no_overload()),
    }
}

fn value<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Optional(Some(value))] => Ok((**value).clone()),
        [Value::Optional(None)] => Err(Fault::new("optional.none() dereference")),
        _ => Err(Fault::no_overload()),
    }
}

fn or<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Optional(None), other] => Ok(other.clone()),
        [value @ Value::Optional(_), _] => Ok(value.clone()),
        _ => Err(Fault::no_overload()),
    }
}

fn or_value<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Optional(None), other] => Ok(other.clone()),
        [Value::Optional(Some(value)), _] => Ok((**value).clone()),
        _ => Err(Fault::no_overload()),
    }
}

fn unwrap<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::List(list)] = args else {
        return Err(Fault::no_overload());
    };
    let mut made = Vec::new();
    for item in list.iter() {
        meter.pay(1)?;
        match item {
            Value::Optional(value) => made.extend(value.map(|value| (*value).clone())),
            _ => return Err(Fault::no_overload()),
        }
    }
    Ok(made.into())
}
