//! Laying a typed edit over an untyped object.
//!
//! A typed view of an object forgets the fields it has no names for. To change an object through a view, print the
//! view before and after the edit and lay the difference over the object: what the view does not know stays as it is.

use std::collections::{BTreeMap, VecDeque};

use crate::{Map, Value};

/// `raw` with the differences between `before` and `after`, two prints of a typed view of it, carried over.
///
/// A field that the edit took away is taken away with all it holds. Elements of a list are recognised by being equal
/// before and after; of the rest, those with the same `name` are taken for the same, then those at the same position,
/// unless both have names. Whatever is recognised keeps its unknown fields. Fields the edit did not touch keep their
/// place and spelling: if `before` and `after` are equal, `raw` comes back as it was.
#[must_use]
pub fn overlay(raw: Value, before: &Value, after: &Value) -> Value {
    if before == after {
        return raw;
    }
    match (raw, before, after) {
        (Value::Object(raw), Value::Object(before), Value::Object(after)) => {
            Value::Object(overlay_fields(raw, before, after))
        }
        (Value::Array(raw), Value::Array(before), Value::Array(after))
            if raw.len() == before.len() =>
        {
            Value::Array(overlay_items(raw, before, after))
        }
        _ => after.clone(),
    }
}

fn overlay_fields(mut raw: Map, before: &Map, after: &Map) -> Map {
    raw.retain(|name, _| after.contains_key(name) || !before.contains_key(name));
    for (name, now) in after {
        let was = before.get(name);
        match raw.get_mut(name) {
            Some(field) => *field = overlay_field(field.take(), was, now),
            // The view printed a default that the object leaves out; unless it was changed it stays out.
            None if was == Some(now) => {}
            None => {
                raw.insert(name.clone(), now.clone());
            }
        }
    }
    raw
}

fn overlay_field(raw: Value, was: Option<&Value>, now: &Value) -> Value {
    match was {
        Some(was) => overlay(raw, was, now),
        // A view prints nothing for an object it knows no field of; such an object may still hold unknown ones.
        None if raw.is_object() && now.is_object() => overlay(raw, &Value::Object(Map::new()), now),
        None => now.clone(),
    }
}

/// The elements of `after`, each laid over the element of `raw` that it is taken for.
fn overlay_items(raw: Vec<Value>, before: &[Value], after: &[Value]) -> Vec<Value> {
    let sources = pair(before, after);
    let mut raw: Vec<Option<Value>> = raw.into_iter().map(Some).collect();
    let mut items = Vec::with_capacity(after.len());
    for (now, source) in after.iter().zip(sources) {
        let found = source
            .and_then(|position| Some((raw.get_mut(position)?.take()?, before.get(position)?)));
        items.push(match found {
            Some((raw, was)) => overlay(raw, was, now),
            None => now.clone(),
        });
    }
    items
}

/// For each element of `after`, the position in `before` of the element it is taken for.
fn pair(before: &[Value], after: &[Value]) -> Vec<Option<usize>> {
    // Most edits leave both ends of a list alone; what is left in the middle is compared by its text, which is sorted
    // and so cannot take time quadratic in the length of a list that someone else wrote.
    let head = before
        .iter()
        .zip(after)
        .take_while(|(was, now)| was == now)
        .count();
    let shorter = before.len().min(after.len());
    let tail = before
        .iter()
        .rev()
        .zip(after.iter().rev())
        .take(shorter - head)
        .take_while(|(was, now)| was == now)
        .count();
    let mut sources: Vec<Option<usize>> = (0..after.len())
        .map(|position| match position {
            _ if position < head => Some(position),
            _ if position >= after.len() - tail => Some(position + before.len() - after.len()),
            _ => None,
        })
        .collect();
    let mut free: Vec<bool> = (0..before.len())
        .map(|position| position >= head && position < before.len() - tail)
        .collect();
    pair_by(before, after, &mut sources, &mut free, |item| {
        Some(item.to_string())
    });
    pair_by(before, after, &mut sources, &mut free, |item| {
        name(item).map(str::to_owned)
    });
    for (position, source) in sources
        .iter_mut()
        .enumerate()
        .filter(|(_, source)| source.is_none())
    {
        let (Some(was), Some(now)) = (before.get(position), after.get(position)) else {
            continue;
        };
        let Some(is_free) = free.get_mut(position) else {
            continue;
        };
        let renamed = name(was).is_some() && name(now).is_some();
        if *is_free && !renamed {
            *is_free = false;
            *source = Some(position);
        }
    }
    sources
}

/// Pairs elements that have no partner yet and share a key, in order.
fn pair_by(
    before: &[Value],
    after: &[Value],
    sources: &mut [Option<usize>],
    free: &mut [bool],
    key: impl Fn(&Value) -> Option<String>,
) {
    let mut candidates: BTreeMap<String, VecDeque<usize>> = BTreeMap::new();
    for (position, (was, _)) in before
        .iter()
        .zip(free.iter())
        .enumerate()
        .filter(|(_, (_, is_free))| **is_free)
    {
        if let Some(key) = key(was) {
            candidates.entry(key).or_default().push_back(position);
        }
    }
    if candidates.is_empty() {
        return;
    }
    for (now, source) in after
        .iter()
        .zip(sources)
        .filter(|(_, source)| source.is_none())
    {
        let partner = key(now).and_then(|key| candidates.get_mut(&key)?.pop_front());
        if let Some(position) = partner {
            *source = Some(position);
            if let Some(is_free) = free.get_mut(position) {
                *is_free = false;
            }
        }
    }
}

/// What tells elements of a list apart in most of Kubernetes' kinds.
fn name(item: &Value) -> Option<&str> {
    item.get("name")?.as_str().filter(|name| !name.is_empty())
}
