//! Merging lists: by key, as sets, in a given order.

use std::collections::{BTreeMap, BTreeSet};

use object::{Map, Value};

use super::{PATCH, PatchError, Place, objects, shown, type_name, without_directives};
use crate::{canonical, node::PatchStrategy};

/// Merges a list that is in both the object and the patch.
pub(super) fn merge_field(
    place: Place<'_>,
    name: &str,
    strategy: Option<&PatchStrategy>,
    current: Vec<Value>,
    patch: Vec<Value>,
    is_deletion: bool,
) -> Result<Vec<Value>, PatchError> {
    let merges = strategy.is_some_and(|strategy| strategy.merge);
    if !merges && !is_deletion {
        return Ok(patch);
    }
    if current.is_empty() && patch.is_empty() {
        return Ok(current);
    }
    let key = strategy.and_then(|strategy| strategy.merge_key.as_deref());
    if !has_objects(&[&current, &patch])? {
        if is_deletion {
            let gone: BTreeSet<String> = patch.iter().map(canonical::text).collect();
            return Ok(current
                .into_iter()
                .filter(|item| !gone.contains(&canonical::text(item)))
                .collect());
        }
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let mut merged: Vec<Value> = Vec::with_capacity(current.len() + patch.len());
        for item in current.iter().chain(&patch) {
            if seen.insert(canonical::text(item)) {
                merged.push(item.clone());
            }
        }
        return Ok(ordered(merged, &patch, &current, &By::Itself));
    }
    let Some(key) = key else {
        return Err(PatchError::NoKeyDeclared {
            field: name.to_owned(),
        });
    };
    let (current, patch) = apply_directives(current, patch, key)?;
    let merged = merge_by_key(place, current.clone(), &patch, key)?;
    check_keys(&[&merged, &patch, &current], key)?;
    Ok(ordered(merged, &patch, &current, &By::Key(key)))
}

/// Merges a list that comes with a `$setElementOrder`; `None` if there is no list.
pub(super) fn merge_in_order(
    place: Place<'_>,
    name: &str,
    strategy: Option<&PatchStrategy>,
    current: Option<Vec<Value>>,
    patch: Option<Vec<Value>>,
    order: &[Value],
) -> Result<Option<Vec<Value>>, PatchError> {
    let key = strategy.and_then(|strategy| strategy.merge_key.as_deref());
    check_order(patch.as_deref().unwrap_or_default(), order, key)?;
    let merged = match (&current, &patch) {
        (None, None) => return Ok(None),
        (Some(current), None) => current.clone(),
        (None, Some(patch)) => patch
            .iter()
            .filter_map(|item| without_directives(item.clone()))
            .collect(),
        (Some(current), Some(patch)) => {
            merge_field(place, name, strategy, current.clone(), patch.clone(), false)?
        }
    };
    let (current, patch) = (current.unwrap_or_default(), patch.unwrap_or_default());
    let by = match key {
        None => By::Itself,
        Some(key) => By::Key(key),
    };
    if let By::Key(key) = by {
        check_keys(&[&merged], key)?;
        if order.iter().any(|item| !item.is_object()) {
            let found = order
                .iter()
                .find(|item| !item.is_object())
                .map_or("", type_name);
            return Err(PatchError::Type {
                expected: "map[string]interface {}",
                found,
            });
        }
    }
    if current.is_empty() && patch.is_empty() {
        return Err(PatchError::NothingToOrder);
    }
    if has_objects(&[&current, &patch])? {
        check_keys(&[order, &current], key.unwrap_or_default())?;
    }
    Ok(Some(ordered(merged, order, &current, &by)))
}

/// How elements are told apart.
enum By<'a> {
    Itself,
    Key(&'a str),
}

impl By<'_> {
    /// What tells an element from others, as text; elements without their key are alike.
    fn identity(&self, item: &Value) -> Option<String> {
        match self {
            Self::Itself => Some(canonical::text(item)),
            Self::Key(key) => item.get(key).map(canonical::text),
        }
    }

    /// Where the elements of a list are; of those that are alike, the first.
    fn places(&self, list: &[Value]) -> BTreeMap<Option<String>, usize> {
        let mut places = BTreeMap::new();
        for (place, item) in list.iter().enumerate() {
            places.entry(self.identity(item)).or_insert(place);
        }
        places
    }
}

/// An element of a merged list, and where it is in those it was merged from.
struct Placed {
    in_patch: Option<usize>,
    in_current: Option<usize>,
    item: Value,
}

/// Orders a merged list: what the patch names in its order, the rest in the object's, woven together as the object
/// had them where that can be told.
fn ordered(merged: Vec<Value>, patch: &[Value], current: &[Value], by: &By<'_>) -> Vec<Value> {
    // Invariant: each list is looked through once, however long they are; whoever patches may send any.
    let (in_patch, in_current) = (by.places(patch), by.places(current));
    let placed = merged.into_iter().map(|item| {
        let identity = by.identity(&item);
        Placed {
            in_patch: in_patch.get(&identity).copied(),
            in_current: in_current.get(&identity).copied(),
            item,
        }
    });
    let (mut named, mut others): (Vec<Placed>, Vec<Placed>) =
        placed.partition(|placed| placed.in_patch.is_some());
    named.sort_by_key(|placed| placed.in_patch);
    others.sort_by_key(|placed| placed.in_current);
    let mut out = Vec::with_capacity(named.len() + others.len());
    let (mut named, mut others) = (named.into_iter().peekable(), others.into_iter().peekable());
    loop {
        let other_first = match (others.peek(), named.peek()) {
            (None, None) => return out,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(other), Some(named)) => {
                let places = (other.in_current, named.in_current);
                matches!(places, (Some(other), Some(named)) if other < named)
            }
        };
        let next = if other_first {
            others.next()
        } else {
            named.next()
        };
        out.extend(next.map(|placed| placed.item));
    }
}

/// Carries out `$patch` inside list elements, and takes those elements out of the patch.
fn apply_directives(
    mut current: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let mut left = Vec::with_capacity(patch.len());
    let mut replaces = false;
    let mut gone: BTreeSet<String> = BTreeSet::new();
    let odd = odd_element(&current);
    for item in patch {
        let Value::Object(fields) = &item else {
            continue;
        };
        let Some(directive) = fields.get(PATCH) else {
            left.push(item);
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let value = key_of(fields, key)?;
                odd.clone().map_or(Ok(()), Err)?;
                gone.insert(canonical::text(value));
            }
            Some("replace") => replaces = true,
            Some("merge") => return Err(PatchError::MergeInList),
            _ => {
                let directive = directive
                    .as_str()
                    .map_or_else(|| directive.to_string(), str::to_owned);
                return Err(PatchError::Directive {
                    directive,
                    place: shown(fields),
                });
            }
        }
    }
    if replaces {
        return Ok((left, Vec::new()));
    }
    if !gone.is_empty() {
        let is_gone = |item: &Value| {
            let key = item.get(key).map(canonical::text);
            key.is_some_and(|key| gone.contains(&key))
        };
        current.retain(|item| !is_gone(item));
    }
    Ok((current, left))
}

fn merge_by_key(
    place: Place<'_>,
    mut current: Vec<Value>,
    patch: &[Value],
    key: &str,
) -> Result<Vec<Value>, PatchError> {
    let odd = odd_element(&current);
    let mut places = By::Key(key).places(&current);
    for item in patch {
        let Value::Object(fields) = item else {
            continue;
        };
        let identity = Some(canonical::text(key_of(fields, key)?));
        odd.clone().map_or(Ok(()), Err)?;
        let index = *places.entry(identity).or_insert(current.len());
        match current.get_mut(index) {
            Some(slot) => {
                if let Value::Object(known) = std::mem::take(slot) {
                    *slot = Value::Object(objects::merge(place.item()?, known, fields.clone())?);
                }
            }
            None => current.push(item.clone()),
        }
    }
    Ok(current)
}

/// What is said of a list in which not everything has keys.
fn odd_element(list: &[Value]) -> Option<PatchError> {
    let odd = list.iter().find(|item| !item.is_object())?;
    Some(PatchError::Type {
        expected: "map[string]interface {}",
        found: type_name(odd),
    })
}

fn key_of<'f>(fields: &'f Map, key: &str) -> Result<&'f Value, PatchError> {
    fields.get(key).ok_or_else(|| PatchError::NoMergeKey {
        element: shown(fields),
        key: key.to_owned(),
    })
}

fn check_keys(lists: &[&[Value]], key: &str) -> Result<(), PatchError> {
    for item in lists.iter().copied().flatten() {
        match item {
            Value::Object(fields) => drop(key_of(fields, key)?),
            other => {
                return Err(PatchError::Type {
                    expected: "map[string]interface {}",
                    found: type_name(other),
                });
            }
        }
    }
    Ok(())
}

/// Whether the elements of lists are objects; they must all be of one type.
fn has_objects(lists: &[&Vec<Value>]) -> Result<bool, PatchError> {
    let mut items = lists.iter().copied().flatten();
    let Some(first) = items.next() else {
        return Err(PatchError::NothingToOrder);
    };
    if first.is_array() {
        return Err(PatchError::ListOfLists);
    }
    if items.any(|item| type_name(item) != type_name(first)) {
        let elements: Vec<String> = lists
            .iter()
            .map(|list| Value::Array((*list).clone()).to_string())
            .collect();
        return Err(PatchError::MixedList {
            elements: elements.join(" "),
        });
    }
    Ok(first.is_object())
}

/// The elements of the patch must be in the given order, which must name them all; deletions do not count.
fn check_order(patch: &[Value], order: &[Value], key: Option<&str>) -> Result<(), PatchError> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut named = order.iter();
    for item in patch {
        let Some(key) = key else {
            if !named.any(|other| other == item) {
                return Err(out_of_order(patch, order));
            }
            continue;
        };
        let Value::Object(fields) = item else {
            return Err(PatchError::Type {
                expected: "map[string]interface {}",
                found: type_name(item),
            });
        };
        if fields.contains_key(PATCH) {
            continue;
        }
        let mut found = false;
        for other in named.by_ref() {
            let Value::Object(other) = other else {
                return Err(PatchError::Type {
                    expected: "map[string]interface {}",
                    found: type_name(other),
                });
            };
            if key_of(fields, key)? == key_of(other, key)? {
                found = true;
                break;
            }
        }
        if !found {
            return Err(out_of_order(patch, order));
        }
    }
    Ok(())
}

fn out_of_order(patch: &[Value], order: &[Value]) -> PatchError {
    let shown = |list: &[Value]| Value::Array(list.to_vec()).to_string();
    PatchError::OutOfOrder {
        patch: shown(patch),
        order: shown(order),
    }
}
