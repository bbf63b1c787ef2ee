//! Changes to the commands and arguments of containers.

use api::policy::{CommandArgsOverrider, OverriderOperator};
use object::Value;

use super::containers::containers_mut;
use crate::problem::Fault;

/// Changes the list `field` (`command` or `args`) of every container of the name.
pub(crate) fn apply(
    document: &mut Value,
    field: &str,
    change: &CommandArgsOverrider,
) -> Result<(), Fault> {
    if change.operator == OverriderOperator::Replace {
        return Ok(()); // Upstream: the schema refuses it, and code that meets it all the same does nothing.
    }
    for (place, container) in containers_mut(document)? {
        let Value::Object(fields) = container else {
            continue;
        };
        if fields.get("name").and_then(Value::as_str) != Some(&change.container_name) {
            continue;
        }
        // Upstream: taking words out of a list that is not there makes an empty one.
        let list = fields
            .entry(field)
            .or_insert_with(|| Value::Array(Vec::new()));
        if list.is_null() {
            *list = Value::Array(Vec::new());
        }
        let Value::Array(words) = list else {
            return Err(Fault::unexpected(&place.child(field), "a list", list));
        };
        match change.operator {
            OverriderOperator::Add => {
                words.extend(change.value.iter().map(|word| Value::from(word.as_str())));
            }
            _ => words.retain(|word| {
                !word
                    .as_str()
                    .is_some_and(|word| change.value.iter().any(|gone| gone == word))
            }),
        }
    }
    Ok(())
}
