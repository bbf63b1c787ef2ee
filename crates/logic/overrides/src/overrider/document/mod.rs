//! Changes inside text fields that hold JSON or YAML documents.
//!
//! Invariant: what is not changed is written as it was, and what cannot be is an error: whoever reads the text finds
//! nothing else than before at a place that no change names.

mod json;
mod leaves;
mod yaml;

use api::policy::{DocumentPatch, FieldOverrider, OverriderOperator};
use object::{
    Value,
    patch::{JsonPatch, Operation, ParsePointerError, Pointer},
};

use super::find_mut;
use crate::problem::{Fault, Problem};

pub(crate) fn apply(document: &mut Value, change: &FieldOverrider) -> Result<(), Fault> {
    let place: Pointer = change.field_path.parse().map_err(|error| Fault {
        path: change.field_path.clone(),
        problem: Problem::Pointer(error),
    })?;
    let field = find_mut(document, &place).ok_or_else(|| Fault::at(&place, Problem::Missing))?;
    let Some(text) = field.as_str() else {
        return Err(Fault::unexpected(&place, "text", field));
    };
    let rewritten = match (change.yaml.as_slice(), change.json.as_slice()) {
        // Upstream: the field would become empty.
        ([], []) => Err(Problem::NoChange),
        ([], json) => json::rewrite(text, json),
        (yaml, _) => yaml::rewrite(text, yaml),
    };
    *field = Value::from(rewritten.map_err(|problem| Fault::at(&place, problem))?);
    Ok(())
}

/// The changes in the order given, with what `stand_in` makes of their values; a value that is not given is `null`.
fn patch(
    changes: &[DocumentPatch],
    mut stand_in: impl FnMut(&Value) -> Value,
) -> Result<JsonPatch, ParsePointerError> {
    changes
        .iter()
        .map(|change| {
            let value = stand_in(change.value.as_ref().unwrap_or(&Value::Null));
            operation(change.operator, &change.sub_path, Some(&value))
        })
        .collect()
}

/// One step of a JSON patch; a value that is not given is `null`.
pub(super) fn operation(
    operator: OverriderOperator,
    path: &str,
    value: Option<&Value>,
) -> Result<Operation, ParsePointerError> {
    let path: Pointer = path.parse()?;
    let value = || value.cloned().unwrap_or_default();
    Ok(match operator {
        OverriderOperator::Add => Operation::Add {
            path,
            value: value(),
        },
        OverriderOperator::Remove => Operation::Remove { path },
        OverriderOperator::Replace => Operation::Replace {
            path,
            value: value(),
        },
    })
}
