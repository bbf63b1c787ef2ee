//! Statuses that are mostly numbers: what is reflected of them, and their sums.

use api::work::v1alpha2::AggregatedStatusItem;
use object::{Map, Object, Value};

use crate::{error::RuleError, generation, native::reported, node::Node};

/// A number in a status.
#[derive(Clone, Copy)]
pub(crate) struct Counter {
    name: &'static str,
    /// Whether the field is written when it is zero, which depends on the field in Kubernetes' API.
    shows_zero: bool,
}

/// A number that is left out when it is zero.
pub(crate) const fn optional(name: &'static str) -> Counter {
    Counter {
        name,
        shows_zero: false,
    }
}

/// A number that is always written.
pub(crate) const fn required(name: &'static str) -> Counter {
    Counter {
        name,
        shows_zero: true,
    }
}

/// The numbers of a member's status, with the generations they speak of; `None` while there is no status.
pub(crate) fn reflect(observed: &Object, counters: &[Counter]) -> Result<Option<Map>, RuleError> {
    let root = Node::of(observed);
    let status = root.at(&["status"])?;
    if status.fields()?.is_none() {
        return Ok(None);
    }
    let mut reflected = Map::with_capacity(counters.len() + 3);
    generation::stamp(&mut reflected, observed)?;
    for counter in counters {
        let count = status.at(&[counter.name])?.integer()?;
        write(&mut reflected, *counter, count.unwrap_or_default());
    }
    Ok(Some(reflected))
}

/// Sums the numbers over all members into `status`, and moves its observed generation on if all members have.
pub(crate) fn add_up(
    mut status: Map,
    template: &Object,
    items: &[AggregatedStatusItem],
    counters: &[Counter],
) -> Result<Value, RuleError> {
    observe(&mut status, template, items)?;
    let position = |name: &str| counters.iter().position(|counter| counter.name == name);
    let mut sums = vec![0_i64; counters.len()];
    for (_, member) in reported(items) {
        member.integers(position, |position, count| {
            if let Some(sum) = sums.get_mut(position) {
                *sum = sum.saturating_add(count);
            }
        })?;
    }
    for (counter, sum) in counters.iter().zip(sums) {
        // The API's numbers have 32 bits; a nonsensical member must not make the template unwritable.
        let sum = sum.clamp(i32::MIN.into(), i32::MAX.into());
        write(&mut status, *counter, sum);
    }
    Ok(Value::Object(status))
}

/// Moves the observed generation of the status on if all members have.
pub(crate) fn observe(
    status: &mut Map,
    template: &Object,
    items: &[AggregatedStatusItem],
) -> Result<(), RuleError> {
    let observed = generation::observed(template, items)?;
    write(status, optional(generation::OBSERVED_GENERATION), observed);
    Ok(())
}

/// The template's status, to be changed in some fields.
pub(crate) fn current_status(template: &Object) -> Result<Map, RuleError> {
    let root = Node::of(template);
    let status = root.at(&["status"])?;
    Ok(status.fields()?.cloned().unwrap_or_default())
}

fn write(status: &mut Map, counter: Counter, count: i64) {
    if count == 0 && !counter.shows_zero {
        status.shift_remove(counter.name);
        return;
    }
    status.insert(counter.name.to_owned(), Value::from(count));
}
