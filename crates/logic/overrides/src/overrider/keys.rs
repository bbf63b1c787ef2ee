//! Changes to the labels and annotations of the object itself.

use api::policy::{LabelAnnotationOverrider, OverriderOperator};
use object::{Map, Value, patch::Pointer};

use crate::problem::Fault;

/// Changes the map `field` (`labels` or `annotations`) of the metadata.
pub(crate) fn apply(
    document: &mut Value,
    field: &str,
    change: &LabelAnnotationOverrider,
) -> Result<(), Fault> {
    let place: Pointer = ["metadata", field].into_iter().collect();
    let Some(keys) = map(document, &place, change)? else {
        return Ok(());
    };
    for (key, value) in &change.value {
        match (change.operator, keys.get_mut(key)) {
            (OverriderOperator::Remove, Some(_)) => {
                keys.shift_remove(key);
            }
            (OverriderOperator::Add | OverriderOperator::Replace, Some(present)) => {
                *present = Value::from(value.as_str());
            }
            (OverriderOperator::Add, None) => {
                keys.insert(key.clone(), Value::from(value.as_str()));
            }
            (OverriderOperator::Remove | OverriderOperator::Replace, None) => {}
        }
    }
    Ok(())
}

/// The map to change; `None` if it is not there and need not be made.
fn map<'d>(
    document: &'d mut Value,
    place: &Pointer,
    change: &LabelAnnotationOverrider,
) -> Result<Option<&'d mut Map>, Fault> {
    let is_made = change.operator == OverriderOperator::Add && !change.value.is_empty();
    let mut value = document;
    let mut path = Pointer::root();
    for token in place.tokens() {
        let Value::Object(fields) = value else {
            return Err(Fault::unexpected(&path, "an object", value));
        };
        path = path.child(token);
        let is_there = fields.get(token).is_some_and(|value| !value.is_null());
        if !is_there {
            if !is_made {
                return Ok(None);
            }
            fields.insert(token.clone(), Value::Object(Map::new()));
        }
        let Some(inner) = fields.get_mut(token) else {
            return Ok(None);
        };
        value = inner;
    }
    match value {
        Value::Object(keys) => Ok(Some(keys)),
        other => Err(Fault::unexpected(&path, "an object", other)),
    }
}
