//! Merging a patch into an object, field by field.

use std::collections::BTreeSet;

use object::{Map, Value};

use super::{
    DELETE_FROM, PATCH, PatchError, Place, RETAIN_KEYS, SET_ORDER, lists, plain, shown, type_name,
};

/// As many fields are taken out one by one.
const FEW: usize = 8;

pub(super) fn merge(place: Place<'_>, mut object: Map, mut patch: Map) -> Result<Map, PatchError> {
    if let Some(directive) = patch.shift_remove(PATCH) {
        return match directive.as_str() {
            Some("replace") => Ok(patch),
            Some("delete") => Ok(Map::new()),
            _ => {
                let directive = directive
                    .as_str()
                    .map_or_else(|| directive.to_string(), str::to_owned);
                Err(PatchError::Directive {
                    directive,
                    place: shown(&patch),
                })
            }
        };
    }
    retain_keys(&mut object, &mut patch)?;
    set_orders(place, &mut object, &mut patch)?;
    // Each field taken out alone would move all behind it.
    if patch.values().filter(|value| value.is_null()).count() > FEW {
        object.retain(|name, _| !patch.get(name).is_some_and(Value::is_null));
    }
    for (name, value) in patch {
        let (name, is_deletion) = match directive_target(&name, DELETE_FROM) {
            Some(target) => (target.ok_or(PatchError::PrimitiveList)?.to_owned(), true),
            None => (name, false),
        };
        if value.is_null() {
            object.shift_remove(&name);
            continue;
        }
        match object.get_mut(&name) {
            Some(slot) => {
                let current = std::mem::take(slot);
                match merge_field(place, &name, current, value, is_deletion)? {
                    Some(merged) => *slot = merged,
                    None => drop(object.shift_remove(&name)),
                }
            }
            None if is_deletion => {}
            None => {
                if let Some(value) = plain(value) {
                    object.insert(name, value);
                }
            }
        }
    }
    Ok(object)
}

/// Merges one field that is in both; `None` if nothing is left of it.
fn merge_field(
    place: Place<'_>,
    name: &str,
    current: Value,
    patch: Value,
    is_deletion: bool,
) -> Result<Option<Value>, PatchError> {
    let (place, strategy) = place.field(name)?;
    match (current, patch) {
        (Value::Object(current), Value::Object(patch)) => {
            if strategy.is_some_and(|strategy| strategy.replace) {
                return Ok(Some(Value::Object(patch)));
            }
            Ok(Some(Value::Object(merge(place, current, patch)?)))
        }
        (Value::Array(current), Value::Array(patch)) => {
            let merged = lists::merge_field(place, name, strategy, current, patch, is_deletion)?;
            Ok(Some(Value::Array(merged)))
        }
        (current, _) if is_deletion => Ok(Some(current)),
        (_, patch) => Ok(plain(patch)),
    }
}

/// Clears the fields that are not in `$retainKeys`, which must name everything the patch sets.
fn retain_keys(object: &mut Map, patch: &mut Map) -> Result<(), PatchError> {
    let Some(directive) = patch.shift_remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let Value::Array(keys) = directive else {
        return Err(PatchError::RetainKeys);
    };
    let keys: BTreeSet<&str> = keys.iter().filter_map(Value::as_str).collect();
    let is_kept = |name: &str| keys.contains(name);
    let sets = |(name, value): &(&String, &Value)| {
        !value.is_null() && !name.starts_with(DELETE_FROM) && !name.starts_with(SET_ORDER)
    };
    if patch.iter().filter(sets).any(|(name, _)| !is_kept(name)) {
        return Err(PatchError::RetainKeys);
    }
    object.retain(|name, _| is_kept(name));
    Ok(())
}

/// Merges the lists that come with an order, and orders them.
fn set_orders(place: Place<'_>, object: &mut Map, patch: &mut Map) -> Result<(), PatchError> {
    let directives: Vec<String> = patch
        .keys()
        .filter(|name| name.starts_with(SET_ORDER))
        .cloned()
        .collect();
    for directive in directives {
        let Some(order) = patch.shift_remove(&directive) else {
            continue;
        };
        let list = |value: Value| match value {
            Value::Array(items) => Ok(items),
            other => Err(PatchError::Type {
                expected: "[]interface {}",
                found: type_name(&other),
            }),
        };
        let order = list(order)?;
        let name = directive_target(&directive, SET_ORDER)
            .flatten()
            .ok_or(PatchError::ElementOrder)?;
        let current = object.get(name).cloned().map(list).transpose()?;
        let patched = patch.get(name).cloned().map(list).transpose()?;
        let (place, strategy) = place.field(name)?;
        if let Some(merged) =
            lists::merge_in_order(place, name, strategy, current, patched, &order)?
        {
            object.insert(name.to_owned(), Value::Array(merged));
            patch.shift_remove(name);
        }
    }
    Ok(())
}

/// The field a directive such as `$setElementOrder/list` is about: `None` if it is no such directive, `Some(None)` if
/// it names no field.
fn directive_target<'n>(name: &'n str, prefix: &str) -> Option<Option<&'n str>> {
    let rest = name.strip_prefix(prefix)?;
    Some(rest.strip_prefix('/'))
}
