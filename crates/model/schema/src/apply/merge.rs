//! Putting two objects together, and taking fields out of one.

use std::collections::{BTreeMap, BTreeSet};

use object::{Map, Value};

use super::{
    fieldset::FieldSet,
    path::PathElement,
    typed::{Elements, Form, Ty},
};

/// The live object with everything the applied one says: its leaves win, its order wins where it shares elements.
pub(super) fn merge(ty: Ty<'_>, live: Option<&Value>, applied: Option<&Value>) -> Option<Value> {
    let leaf = || applied.or(live).cloned();
    let form = ty.form(applied.or(live));
    match form {
        Form::Scalar => leaf(),
        Form::Map => {
            let (live, applied) = (
                live.and_then(Value::as_object),
                applied.and_then(Value::as_object),
            );
            if ty.is_atomic_map()
                || (live.is_none_or(Map::is_empty) && applied.is_none_or(Map::is_empty))
            {
                return leaf();
            }
            merge_maps(ty, live, applied)
        }
        Form::List => {
            let both_empty = list_of(live).is_empty() && list_of(applied).is_empty();
            if matches!(ty.elements(), Elements::Atomic) || both_empty {
                return leaf();
            }
            merge_lists(ty, list_of(live), list_of(applied))
        }
    }
}

fn merge_maps(ty: Ty<'_>, live: Option<&Map>, applied: Option<&Map>) -> Option<Value> {
    let mut out = Map::new();
    let in_live = |name: &str| live.and_then(|fields| fields.get(name));
    let live_names = live.into_iter().flat_map(|fields| fields.keys());
    let applied_names = applied.into_iter().flat_map(|fields| fields.keys());
    for name in live_names.chain(applied_names.filter(|name| in_live(name).is_none())) {
        let applied = applied.and_then(|fields| fields.get(name));
        let merged = match ty.field(name) {
            Some(ty) => merge(ty, in_live(name), applied),
            None => applied.or_else(|| in_live(name)).cloned(),
        };
        if let Some(merged) = merged {
            out.insert(name.clone(), merged);
        }
    }
    (!out.is_empty()).then_some(Value::Object(out))
}

/// Merges lists whose elements are told apart.
///
/// Elements of the applied list come in its order. Elements only the live list has keep their place relative to the
/// shared element before them.
fn merge_lists(ty: Ty<'_>, live: &[Value], applied: &[Value]) -> Option<Value> {
    let (live, applied) = (by_element(ty, live), by_element(ty, applied));
    // A live element that occurs twice is not merged with: which one would be meant?
    let mut in_live: BTreeMap<&PathElement, Option<&Value>> = BTreeMap::new();
    for (element, item) in &live {
        in_live
            .entry(element)
            .and_modify(|only| *only = None)
            .or_insert(Some(*item));
    }
    let in_applied: BTreeMap<&PathElement, &Value> = applied
        .iter()
        .map(|(element, item)| (element, *item))
        .collect();
    let mut shared = applied
        .iter()
        .map(|(element, _)| element)
        .filter(|element| in_live.contains_key(element))
        .peekable();

    let mut out = Vec::with_capacity(live.len().max(applied.len()));
    let mut done = BTreeSet::new();
    let mut live_next = live.iter().peekable();
    let mut applied_next = applied.iter().map(|(element, _)| element).peekable();
    loop {
        let (here, there) = (live_next.peek().copied(), applied_next.peek().copied());
        if here.is_none() && there.is_none() {
            break;
        }
        if let Some((element, item)) = here {
            if !in_applied.contains_key(element) {
                out.extend(merge(ty.item(), Some(item), None));
                live_next.next();
                continue;
            }
            let is_due = there == Some(element);
            let is_out_of_turn =
                there.is_some() && !is_due && shared.peek().is_some_and(|due| *due != element);
            if is_out_of_turn {
                // It will be placed where the applied list has it.
                live_next.next();
                continue;
            }
            if is_due || done.contains(element) {
                live_next.next();
            }
        }
        if let Some(element) = there {
            applied_next.next();
            done.insert(element);
            let before = in_live.get(element).copied().flatten();
            out.extend(merge(ty.item(), before, in_applied.get(element).copied()));
            if shared.peek() == Some(&element) {
                shared.next();
            }
        }
    }
    (!out.is_empty()).then_some(Value::Array(out))
}

fn list_of(value: Option<&Value>) -> &[Value] {
    value
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

fn by_element<'v>(ty: Ty<'_>, items: &'v [Value]) -> Vec<(PathElement, &'v Value)> {
    items
        .iter()
        .filter_map(|item| Some((ty.element(item).ok()?, item)))
        .collect()
}

/// The object without some fields. What is left of a value that lost all its parts is null.
pub(super) fn remove(ty: Ty<'_>, value: &Value, fields: &FieldSet) -> Value {
    let left = match (ty.form(Some(value)), value) {
        (Form::Scalar, value) => return value.clone(),
        (Form::List, Value::Array(items)) if !matches!(ty.elements(), Elements::Atomic) => {
            let mut left = Vec::with_capacity(items.len());
            for item in items {
                let Ok(element) = ty.element(item) else {
                    continue;
                };
                if fields.has_member(&element) {
                    continue;
                }
                left.push(match fields.child(&element) {
                    Some(below) => remove(ty.item(), item, below),
                    None => item.clone(),
                });
            }
            (!left.is_empty()).then_some(Value::Array(left))
        }
        (Form::Map, Value::Object(all)) if !ty.is_atomic_map() => {
            let mut left = Map::with_capacity(all.len());
            for (name, value) in all {
                let element = PathElement::field(name);
                if fields.has_member(&element) {
                    continue;
                }
                let kept = match (fields.child(&element), ty.field(name)) {
                    (Some(below), Some(ty)) => remove(ty, value, below),
                    _ => value.clone(),
                };
                left.insert(name.clone(), kept);
            }
            (!left.is_empty()).then_some(Value::Object(left))
        }
        _ => None,
    };
    left.unwrap_or_default()
}

/// Only some fields of an object: what a manager owns of it.
pub(super) fn extract(ty: Ty<'_>, value: &Value, fields: &FieldSet) -> Value {
    let left = match (ty.form(Some(value)), value) {
        (Form::List, Value::Array(items))
            if !items.is_empty() && !matches!(ty.elements(), Elements::Atomic) =>
        {
            let mut left = Vec::new();
            for item in items {
                let Ok(element) = ty.element(item) else {
                    continue;
                };
                match fields.child(&element) {
                    Some(below) => left.push(extract(ty.item(), item, below)),
                    None if fields.has_member(&element) => left.push(item.clone()),
                    None => {}
                }
            }
            (!left.is_empty()).then_some(Value::Array(left))
        }
        (Form::Map, Value::Object(all)) if !all.is_empty() && !ty.is_atomic_map() => {
            let mut left = Map::new();
            for (name, value) in all {
                let element = PathElement::field(name);
                let Some(ty) = ty.field(name) else { continue };
                match (fields.has_member(&element), fields.child(&element)) {
                    (_, Some(below)) => drop(left.insert(name.clone(), extract(ty, value, below))),
                    (true, None) => drop(left.insert(name.clone(), value.clone())),
                    (false, None) => {}
                }
            }
            (!left.is_empty()).then_some(Value::Object(left))
        }
        _ => return value.clone(),
    };
    left.unwrap_or_default()
}
