//! Lists: sums, extremes, places, and lists made of lists.

use std::cmp::Ordering;

use super::{Outcome, Row, arithmetic};
use crate::ast::Operator;
use crate::evaluate::{Fault, Meter};
use crate::value::{List, Value};

pub(super) const ROWS: &[Row] = &[
    (
        &[
            "list(int).isSorted() bool",
            "list(uint).isSorted() bool",
            "list(double).isSorted() bool",
            "list(bool).isSorted() bool",
            "list(string).isSorted() bool",
            "list(bytes).isSorted() bool",
            "list(timestamp).isSorted() bool",
            "list(duration).isSorted() bool",
        ],
        is_sorted,
    ),
    (
        &[
            "list(int).sum() int",
            "list(uint).sum() uint",
            "list(double).sum() double",
            "list(duration).sum() duration",
        ],
        sum,
    ),
    (
        &[
            "list(int).min() int",
            "list(uint).min() uint",
            "list(double).min() double",
            "list(bool).min() bool",
            "list(string).min() string",
            "list(bytes).min() bytes",
            "list(timestamp).min() timestamp",
            "list(duration).min() duration",
        ],
        min,
    ),
    (
        &[
            "list(int).max() int",
            "list(uint).max() uint",
            "list(double).max() double",
            "list(bool).max() bool",
            "list(string).max() string",
            "list(bytes).max() bytes",
            "list(timestamp).max() timestamp",
            "list(duration).max() duration",
        ],
        max,
    ),
    (&["list(A).indexOf(A) int"], index_of),
    (&["list(A).lastIndexOf(A) int"], last_index_of),
    (&["list(A).distinct() list(A)"], distinct),
    (
        &[
            "list(list(A)).flatten() list(A)",
            "list(dyn).flatten(int) list(dyn)",
        ],
        flatten,
    ),
    (&["list(A).reverse() list(A)"], reverse),
    (&["list(A).slice(int, int) list(A)"], slice),
    (&["list(A).sort() list(A)"], sort),
    (&["list(A).first() optional(A)"], first),
    (&["list(A).last() optional(A)"], last),
    (&["lists.range(int) list(int)"], range),
];

fn list<'v, 'a>(args: &'v [Value<'a>]) -> Result<&'v List<'a>, Fault> {
    match args.first() {
        Some(Value::List(list)) => Ok(list),
        _ => Err(Fault::no_overload()),
    }
}

fn is_sorted<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let list = list(args)?;
    meter.pay_for_items(list.len())?;
    let mut before: Option<Value<'a>> = None;
    for item in list.iter() {
        if let Some(before) = &before {
            match before.compare(&item) {
                Some(Ordering::Greater) => return Ok(Value::Bool(false)),
                Some(_) => {}
                None => return Err(Fault::no_overload()),
            }
        }
        before = Some(item);
    }
    Ok(Value::Bool(true))
}

fn sum<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let list = list(args)?;
    meter.pay_for_items(list.len())?;
    let mut items = list.iter();
    let Some(mut total) = items.next() else {
        return Ok(Value::Int(0));
    };
    if !matches!(
        total,
        Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::Duration(_)
    ) {
        return Err(Fault::no_overload());
    }
    for item in items {
        total = arithmetic::binary(meter, Operator::Add, &total, &item)?;
    }
    Ok(total)
}

fn min<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    extreme(meter, args, Ordering::Less, "min called on empty list")
}

fn max<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    extreme(meter, args, Ordering::Greater, "max called on empty list")
}

fn extreme<'a>(meter: &mut Meter, args: &[Value<'a>], wins: Ordering, empty: &str) -> Outcome<'a> {
    let list = list(args)?;
    meter.pay_for_items(list.len())?;
    let mut items = list.iter();
    let mut best = items.next().ok_or_else(|| Fault::new(empty))?;
    for item in items {
        match item.compare(&best) {
            Some(order) if order == wins => best = item,
            Some(_) => {}
            None => return Err(Fault::no_overload()),
        }
    }
    Ok(best)
}

fn index_of<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::List(list), wanted] = args else {
        return Err(Fault::no_overload());
    };
    for (place, item) in list.iter().enumerate() {
        meter.pay(1)?;
        if arithmetic::equal(meter, &item, wanted)? {
            return Ok(Value::size(place));
        }
    }
    Ok(Value::Int(-1))
}

fn last_index_of<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::List(list), wanted] = args else {
        return Err(Fault::no_overload());
    };
    for place in (0..list.len()).rev() {
        meter.pay(1)?;
        if let Some(item) = list.at(place)
            && arithmetic::equal(meter, &item, wanted)?
        {
            return Ok(Value::size(place));
        }
    }
    Ok(Value::Int(-1))
}

fn distinct<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let mut kept: Vec<Value<'a>> = Vec::new();
    'items: for item in list(args)?.iter() {
        for known in &kept {
            meter.pay(1)?;
            if arithmetic::equal(meter, known, &item)? {
                continue 'items;
            }
        }
        kept.push(item);
    }
    Ok(kept.into())
}

fn flatten<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (list, levels) = match args {
        [Value::List(list)] => (list, 1),
        [Value::List(list), Value::Int(levels)] if *levels >= 0 => (list, *levels),
        [Value::List(_), Value::Int(_)] => return Err(Fault::new("level must be non-negative")),
        _ => return Err(Fault::no_overload()),
    };
    let mut made = Vec::new();
    flatten_into(meter, list, levels, &mut made)?;
    Ok(made.into())
}

fn flatten_into<'a>(
    meter: &mut Meter,
    list: &List<'a>,
    levels: i64,
    made: &mut Vec<Value<'a>>,
) -> Result<(), Fault> {
    for item in list.iter() {
        meter.pay(1)?;
        match item {
            Value::List(inner) if levels > 0 => flatten_into(meter, &inner, levels - 1, made)?,
            other => made.push(other),
        }
    }
    Ok(())
}

fn reverse<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let list = list(args)?;
    meter.pay_for_items(list.len())?;
    let mut items: Vec<Value<'a>> = list.iter().collect();
    items.reverse();
    Ok(items.into())
}

fn slice<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::List(list), Value::Int(from), Value::Int(until)] = args else {
        return Err(Fault::no_overload());
    };
    let (start, end) = (usize::try_from(*from), usize::try_from(*until));
    let (Ok(start), Ok(end)) = (start, end) else {
        return Err(Fault::new(format!(
            "cannot slice({from}, {until}), negative indexes not supported"
        )));
    };
    if start > end || end > list.len() {
        return Err(Fault::new(format!(
            "cannot slice({from}, {until}), list is length {}",
            list.len()
        )));
    }
    meter.pay_for_items(end - start)?;
    let items: Vec<Value<'a>> = (start..end).filter_map(|place| list.at(place)).collect();
    Ok(items.into())
}

fn sort<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let pairs = list(args)?
        .iter()
        .map(|item| (item.clone(), item))
        .collect();
    arithmetic::sorted(meter, pairs)
}

fn first<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let item = list(args)?.at(0);
    Ok(item.map_or(Value::Optional(None), Value::some))
}

fn last<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let list = list(args)?;
    let item = list.len().checked_sub(1).and_then(|place| list.at(place));
    Ok(item.map_or(Value::Optional(None), Value::some))
}

fn range<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::Int(until)] = args else {
        return Err(Fault::no_overload());
    };
    meter.pay(u64::try_from(*until).unwrap_or(0))?;
    Ok((0..*until).map(Value::Int).collect::<Vec<_>>().into())
}
