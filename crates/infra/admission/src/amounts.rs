//! Amounts of resources, as requests, limits and quotas write them.

use std::collections::BTreeMap;

use object::Value;
use object::quantity::{Format, Quantity};

/// Amounts by the name of the resource.
pub type Amounts = BTreeMap<String, Quantity>;

/// Reads a list of amounts. What is no quantity is left out: validation has its own word about it.
#[must_use]
pub fn read(list: Option<&Value>) -> Amounts {
    let fields = list.and_then(Value::as_object).into_iter().flatten();
    let read = fields.filter_map(|(name, amount)| Some((name.clone(), quantity(amount)?)));
    read.collect()
}

/// So many pieces of something.
pub(crate) fn pieces(count: usize) -> Quantity {
    Quantity::from_units(i64::try_from(count).unwrap_or(i64::MAX), Format::DecimalSI)
}

/// Adds amounts to others; a sum too large to be written stays what it was.
pub(crate) fn add(sum: &mut Amounts, further: &Amounts) {
    for (name, amount) in further {
        if let Some(known) = sum.get_mut(name) {
            *known = known.checked_add(*amount).unwrap_or(*known);
        } else {
            sum.insert(name.clone(), *amount);
        }
    }
}

/// Takes away what was added.
pub(crate) fn subtract(sum: &mut Amounts, less: &Amounts) {
    for (name, amount) in less {
        if let Some(sum) = sum.get_mut(name) {
            *sum = sum.checked_sub(*amount).unwrap_or(*sum);
        }
    }
}

/// Raises amounts to those of others where these are larger.
pub(crate) fn raise(most: &mut Amounts, others: &Amounts) {
    for (name, amount) in others {
        if let Some(known) = most.get_mut(name) {
            *known = (*known).max(*amount);
        } else {
            most.insert(name.clone(), *amount);
        }
    }
}

fn quantity(amount: &Value) -> Option<Quantity> {
    match amount {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.to_string().parse().ok(),
        _ => None,
    }
}
