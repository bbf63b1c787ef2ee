//! Resource quantities.

use std::cmp::Ordering;

use object::quantity::{Format, Quantity};

use super::{Outcome, Row};
use crate::evaluate::{Fault, Meter};
use crate::value::Value;

pub(super) const ROWS: &[Row] = &[
    (&["quantity(string) Quantity"], quantity),
    (&["isQuantity(string) bool"], is_quantity),
    (&["Quantity.sign() int"], sign),
    (&["Quantity.isInteger() bool"], is_integer),
    (&["Quantity.asInteger() int"], as_integer),
    (&["Quantity.asApproximateFloat() double"], as_float),
    (
        &[
            "Quantity.add(Quantity) Quantity",
            "Quantity.add(int) Quantity",
        ],
        add,
    ),
    (
        &[
            "Quantity.sub(Quantity) Quantity",
            "Quantity.sub(int) Quantity",
        ],
        sub,
    ),
    (&["Quantity.compareTo(Quantity) int"], compare_to),
    (&["Quantity.isGreaterThan(Quantity) bool"], is_greater),
    (&["Quantity.isLessThan(Quantity) bool"], is_less),
];

fn parsed(meter: &mut Meter, args: &[Value<'_>]) -> Result<Option<Quantity>, Fault> {
    match args {
        [Value::String(text)] => {
            meter.pay_for_bytes(text.len())?;
            Ok(text.parse().ok())
        }
        _ => Err(Fault::no_overload()),
    }
}

fn quantity<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    parsed(meter, args)?.map(Value::Quantity).ok_or_else(|| {
        Fault::new(
            "quantities must match the regular expression \
             '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        )
    })
}

fn is_quantity<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(parsed(meter, args)?.is_some()))
}

fn target(args: &[Value<'_>]) -> Result<Quantity, Fault> {
    match args {
        [Value::Quantity(quantity)] => Ok(*quantity),
        _ => Err(Fault::no_overload()),
    }
}

fn sign<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Int(target(args)?.signum().into()))
}

fn is_integer<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(target(args)?.exact_value().is_some()))
}

fn as_integer<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    target(args)?
        .exact_value()
        .map(Value::Int)
        .ok_or_else(|| Fault::new("cannot convert value to integer"))
}

fn as_float<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Double(target(args)?.to_f64()))
}

fn pair(args: &[Value<'_>]) -> Result<(Quantity, Quantity), Fault> {
    match args {
        [Value::Quantity(a), Value::Quantity(b)] => Ok((*a, *b)),
        [Value::Quantity(a), Value::Int(b)] => {
            Ok((*a, Quantity::from_units(*b, Format::DecimalSI)))
        }
        _ => Err(Fault::no_overload()),
    }
}

fn too_large() -> Fault {
    Fault::new("quantity overflow")
}

fn add<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (a, b) = pair(args)?;
    a.checked_add(b).map(Value::Quantity).ok_or_else(too_large)
}

fn sub<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (a, b) = pair(args)?;
    a.checked_sub(b).map(Value::Quantity).ok_or_else(too_large)
}

fn order(args: &[Value<'_>]) -> Result<Ordering, Fault> {
    match args {
        [Value::Quantity(a), Value::Quantity(b)] => Ok(a.cmp(b)),
        _ => Err(Fault::no_overload()),
    }
}

fn compare_to<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Int(order(args)? as i64))
}

fn is_greater<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(order(args)?.is_gt()))
}

fn is_less<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(order(args)?.is_lt()))
}
