//! Statuses whose fields are brought together one by one.

use api::work::v1alpha2::AggregatedStatusItem;
use object::{Map, Object, Value};

use crate::{
    error::RuleError,
    generation,
    native::counters::{current_status, observe},
    node::Node,
    table::reported,
};

/// How a field of the template's status comes from those of the members.
#[derive(Clone, Copy)]
pub(super) enum Fold {
    /// All of them added up; zero if nobody reports it.
    Sum,
    /// That of the last member to report something.
    Last,
    /// That of the first member to report something.
    First,
    /// The largest number, or the latest time.
    Largest,
    /// The earliest time.
    Earliest,
    /// The fields of all of them; of the same field, that of the last member.
    Union,
}

/// A field of a status and how it comes about.
pub(super) type Field = (&'static str, Fold);

/// The next status: the current one with these fields brought together, those nobody reports left out.
pub(super) fn fold(
    mut status: Map,
    items: &[AggregatedStatusItem],
    fields: &[Field],
) -> Result<Map, RuleError> {
    for (name, how) in fields {
        match bring_together(items, name, *how)? {
            Some(value) => {
                status.insert((*name).to_owned(), value);
            }
            None => {
                status.shift_remove(*name);
            }
        }
    }
    Ok(status)
}

/// [`fold`], and the observed generation moved on if all members have.
pub(super) fn fold_observed(
    template: &Object,
    items: &[AggregatedStatusItem],
    fields: &[Field],
) -> Result<Map, RuleError> {
    let mut status = fold(current_status(template)?, items, fields)?;
    observe(&mut status, template, items)?;
    Ok(status)
}

/// These fields of a member's status, as they are; `None` while there is no status.
pub(super) fn pick(observed: &Object, names: &[&str]) -> Result<Option<Value>, RuleError> {
    let root = Node::of(observed);
    let status = root.at(&["status"])?;
    let Some(fields) = status.fields()? else {
        return Ok(None);
    };
    let mut picked = Map::with_capacity(names.len());
    for name in names {
        if let Some(value) = fields.get(*name)
            && !is_empty(value)
        {
            picked.insert((*name).to_owned(), value.clone());
        }
    }
    Ok(Some(Value::Object(picked)))
}

/// [`pick`], with the generations that the status speaks of.
pub(super) fn pick_observed(observed: &Object, names: &[&str]) -> Result<Option<Value>, RuleError> {
    let Some(Value::Object(mut picked)) = pick(observed, names)? else {
        return Ok(None);
    };
    generation::stamp_if_known(&mut picked, observed)?;
    Ok(Some(Value::Object(picked)))
}

/// The status of the only member there is; it needs no bringing together.
pub(super) fn single(items: &[AggregatedStatusItem]) -> Option<Option<Value>> {
    match items {
        [only] => Some(only.status.clone().filter(|status| !status.is_null())),
        _ => None,
    }
}

/// Whether a value says nothing.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn bring_together(
    items: &[AggregatedStatusItem],
    name: &str,
    how: Fold,
) -> Result<Option<Value>, RuleError> {
    let path = [name];
    let mut sum = 0_i64;
    let mut union = Map::new();
    let mut chosen: Option<&Value> = None;
    for (_, member) in reported(items) {
        let field = member.at(&path)?;
        let Some(value) = field.raw().filter(|value| !is_empty(value)) else {
            continue;
        };
        match how {
            Fold::Sum => sum = sum.saturating_add(field.integer()?.unwrap_or_default()),
            Fold::Last => chosen = Some(value),
            Fold::First => chosen = chosen.or(Some(value)),
            Fold::Union => {
                let fields = field.fields()?.into_iter().flatten();
                union.extend(fields.map(|(name, value)| (name.clone(), value.clone())));
            }
            Fold::Largest | Fold::Earliest => {
                let wants_less = matches!(how, Fold::Earliest);
                let is_better = chosen.is_none_or(|best| match (value, best) {
                    (Value::Number(a), Value::Number(b)) => {
                        (a.as_f64() < b.as_f64()) == wants_less && a != b
                    }
                    // Times in the API's form sort as text.
                    (Value::String(a), Value::String(b)) => (a < b) == wants_less && a != b,
                    _ => false,
                });
                if is_better {
                    chosen = Some(value);
                }
            }
        }
    }
    Ok(match how {
        Fold::Sum => Some(Value::from(sum)),
        Fold::Union => (!union.is_empty()).then_some(Value::Object(union)),
        _ => chosen.cloned(),
    })
}
