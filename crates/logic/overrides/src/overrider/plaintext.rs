//! Changes at JSON pointers: all of a rule are one JSON patch.

use api::policy::PlaintextOverrider;
use object::{
    Value,
    patch::{JsonPatch, Replace},
};

use super::document::operation;
use crate::problem::{Fault, Problem};

/// The position of the entry at fault, if it is one entry's, and the fault.
pub(crate) type EntryFault = (Option<usize>, Fault);

pub(crate) fn apply(
    document: &mut Value,
    changes: &[PlaintextOverrider],
) -> Result<(), EntryFault> {
    let patch: JsonPatch = changes
        .iter()
        .enumerate()
        .map(|(position, change)| {
            operation(change.operator, &change.path, change.value.as_ref()).map_err(|error| {
                let fault = Fault {
                    path: change.path.clone(),
                    problem: Problem::Pointer(error),
                };
                (Some(position), fault)
            })
        })
        .collect::<Result<_, EntryFault>>()?;
    let changed = patch.apply(document, Replace::Existing).map_err(|error| {
        let position = error.index;
        (
            Some(position),
            Fault::at(&error.path.clone(), Box::new(error)),
        )
    })?;
    let is_object = changed
        .get("kind")
        .and_then(Value::as_str)
        .is_some_and(|kind| !kind.is_empty());
    if !is_object {
        let fault = Fault {
            path: String::new(),
            problem: Problem::KindLost,
        };
        return Err((None, fault));
    }
    *document = changed;
    Ok(())
}
