//! Lists whose elements are told apart: sets and maps may not repeat one.

use std::collections::BTreeMap;

use object::{Map, Value, field::FieldError};

use crate::{
    canonical,
    node::{ListKind, Node},
    trail::Trail,
};

/// Reports the second occurrence of whatever may occur once.
pub(super) fn check(items: &[Value], node: &Node, trail: &Trail<'_>, errors: &mut Vec<FieldError>) {
    match &node.list {
        ListKind::Set => {
            for (index, _) in repeated(items.iter().map(canonical::text)) {
                let value = items.get(index).cloned().unwrap_or_default();
                errors.push(FieldError::duplicate(trail.index(index).path(), value));
            }
        }
        ListKind::Map(keys) => {
            let odd = items
                .iter()
                .enumerate()
                .find(|(_, item)| !item.is_object() && !item.is_null());
            if let Some((index, item)) = odd {
                let detail = "must be an object for an array of list-type map";
                errors.push(FieldError::invalid(
                    trail.index(index).path(),
                    item.clone(),
                    detail,
                ));
                return;
            }
            if items.len() < 2 {
                return;
            }
            let key = |item: &Value| -> Value {
                let parts = keys
                    .iter()
                    .filter_map(|key| Some((key.to_string(), item.get(&**key)?.clone())));
                parts.collect::<Map>().into()
            };
            for (index, _) in repeated(items.iter().map(|item| canonical::text(&key(item)))) {
                let value = items.get(index).map(key).unwrap_or_default();
                errors.push(FieldError::duplicate(trail.index(index).path(), value));
            }
        }
        ListKind::Unstated | ListKind::Atomic => {}
    }
}

pub(super) fn has_duplicate(items: &[Value]) -> bool {
    repeated(items.iter().map(canonical::text)).next().is_some()
}

/// The place of the second occurrence of each repeated text.
fn repeated(texts: impl Iterator<Item = String>) -> impl Iterator<Item = (usize, String)> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    texts.enumerate().filter(move |(_, text)| {
        let times = seen.entry(text.clone()).or_default();
        *times += 1;
        *times == 2
    })
}
