//! Conditions of several members as those of one template.

use api::work::v1alpha2::AggregatedStatusItem;
use object::{Map, Object, Value};

use crate::{error::RuleError, node::Node, table::reported};

/// The condition of that type in an object's status that is true, if there is one.
pub(super) fn is_true(observed: &Object, kind: &str) -> Result<bool, RuleError> {
    let root = Node::of(observed);
    holds(root.at(&["status"])?, |condition| {
        Ok(is(condition, "type", kind)? && is(condition, "status", "True")?)
    })
}

/// Whether an object's status has a condition `Ready` that is true for one of these reasons.
pub(super) fn is_ready(observed: &Object, reasons: &[&str]) -> Result<bool, RuleError> {
    let root = Node::of(observed);
    holds(root.at(&["status"])?, |condition| {
        let reason = condition.at(&["reason"])?.text_or_empty()?;
        Ok(is(condition, "type", "Ready")?
            && is(condition, "status", "True")?
            && reasons.contains(&reason))
    })
}

/// Whether a condition of the status is like that.
pub(super) fn holds(
    status: Node<'_, '_>,
    is_like_that: impl Fn(Node<'_, '_>) -> Result<bool, RuleError>,
) -> Result<bool, RuleError> {
    for condition in status.at(&["conditions"])?.list()? {
        if is_like_that(condition)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a condition of that type in the status is true.
pub(super) fn has_true(status: Node<'_, '_>, kind: &str) -> Result<bool, RuleError> {
    holds(status, |condition| {
        Ok(is(condition, "type", kind)? && is(condition, "status", "True")?)
    })
}

/// One condition for each type, status and reason, with the messages of all members that have it: `m1=…, m2=…`.
pub(super) fn by_reason(items: &[AggregatedStatusItem]) -> Result<Vec<Value>, RuleError> {
    let mut merged: Vec<([&str; 3], Map, String)> = Vec::new();
    for (cluster, member) in reported(items) {
        for condition in member.at(&["conditions"])?.list()? {
            let mut key = [""; 3];
            for (part, name) in key.iter_mut().zip(["type", "status", "reason"]) {
                *part = condition.at(&[name])?.text_or_empty()?;
            }
            let message = condition.at(&["message"])?.text_or_empty()?;
            let message = format!("{cluster}={message}");
            match merged.iter_mut().find(|(known, ..)| *known == key) {
                Some((.., messages)) => {
                    messages.push_str(", ");
                    messages.push_str(&message);
                }
                None => {
                    let fields = condition.fields()?.cloned().unwrap_or_default();
                    merged.push((key, fields, message));
                }
            }
        }
    }
    let conditions = merged.into_iter().map(|(_, mut condition, message)| {
        condition.insert("message".to_owned(), Value::String(message));
        Value::Object(condition)
    });
    Ok(conditions.collect())
}

/// Of the conditions that agree in the field `key`, the one that changed last, by the first of `times` it has.
///
/// They come in the order in which members first report them.
pub(super) fn latest(
    items: &[AggregatedStatusItem],
    key: &str,
    times: &[&str],
) -> Result<Vec<Value>, RuleError> {
    let mut latest: Vec<(&str, &str, &Value)> = Vec::new();
    for (_, member) in reported(items) {
        for condition in member.at(&["conditions"])?.list()? {
            let kind = text(condition, key)?;
            let mut time = "";
            for name in times {
                time = match time {
                    "" => text(condition, name)?,
                    found => found,
                };
            }
            let Some(value) = condition.raw() else {
                continue;
            };
            match latest.iter_mut().find(|(known, ..)| *known == kind) {
                Some(known) if time > known.1 => *known = (kind, time, value),
                Some(_) => {}
                None => latest.push((kind, time, value)),
            }
        }
    }
    Ok(latest
        .into_iter()
        .map(|(.., value)| value.clone())
        .collect())
}

/// The conditions of all members, one after the other.
pub(super) fn all(items: &[AggregatedStatusItem]) -> Result<Vec<Value>, RuleError> {
    let mut conditions = Vec::new();
    for (_, member) in reported(items) {
        let list = member.at(&["conditions"])?;
        conditions.extend(
            list.list()?
                .filter_map(|condition| condition.raw())
                .cloned(),
        );
    }
    Ok(conditions)
}

/// A condition that is made here. Times that are not known are left out.
pub(super) fn made(
    kind: &str,
    status: &str,
    reason: &str,
    message: String,
    times: &[(&str, Option<&Value>)],
) -> Value {
    let mut condition = Map::new();
    for (name, text) in [
        ("type", kind),
        ("status", status),
        ("reason", reason),
        ("message", message.as_str()),
    ] {
        condition.insert(name.to_owned(), text.into());
    }
    for (name, time) in times {
        if let Some(time) = time {
            condition.insert((*name).to_owned(), (*time).clone());
        }
    }
    Value::Object(condition)
}

fn is(condition: Node<'_, '_>, name: &str, wanted: &str) -> Result<bool, RuleError> {
    Ok(text(condition, name)? == wanted)
}

fn text<'v>(node: Node<'v, '_>, name: &str) -> Result<&'v str, RuleError> {
    node.at(&[name])?.text_or_empty()
}
