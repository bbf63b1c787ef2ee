//! Lists taken as sets.

use super::{Outcome, Row, arithmetic};
use crate::evaluate::{Fault, Meter};
use crate::value::{List, Value};

pub(super) const ROWS: &[Row] = &[
    (&["sets.contains(list(A), list(A)) bool"], contains),
    (&["sets.equivalent(list(A), list(A)) bool"], equivalent),
    (&["sets.intersects(list(A), list(A)) bool"], intersects),
];

fn lists<'v, 'a>(args: &'v [Value<'a>]) -> Result<(&'v List<'a>, &'v List<'a>), Fault> {
    match args {
        [Value::List(a), Value::List(b)] => Ok((a, b)),
        _ => Err(Fault::no_overload()),
    }
}

/// Whether every element of `b` is in `a`.
fn covers(meter: &mut Meter, a: &List<'_>, b: &List<'_>) -> Result<bool, Fault> {
    for item in b.iter() {
        meter.pay(1)?;
        if !arithmetic::contains(meter, &Value::List(a.clone()), &item)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn contains<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (a, b) = lists(args)?;
    covers(meter, a, b).map(Value::Bool)
}

fn equivalent<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (a, b) = lists(args)?;
    Ok(Value::Bool(covers(meter, a, b)? && covers(meter, b, a)?))
}

fn intersects<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (a, b) = lists(args)?;
    for item in b.iter() {
        meter.pay(1)?;
        if arithmetic::contains(meter, &Value::List(a.clone()), &item)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}
