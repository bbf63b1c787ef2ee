//! Changes inside text fields that hold JSON or YAML documents.

use api::policy::{DocumentPatch, FieldOverrider, OverriderOperator};
use object::{
    Value,
    parse::parse_json,
    patch::{JsonPatch, Operation, ParsePointerError, Pointer, Replace},
};

use super::find_mut;
use crate::{
    escape,
    problem::{Fault, Problem},
};

/// More than any honest file repeats by aliases; a file made to explode is refused before it costs anything.
const MOST_REPEATED: usize = 50_000;
/// No text of a configuration file is longer than this, so none is broken into lines.
const NEVER_FOLDED: usize = 1 << 30;

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
        ([], json) => rewrite_json(text, json),
        (yaml, _) => rewrite_yaml(text, yaml),
    };
    *field = Value::from(rewritten.map_err(|problem| Fault::at(&place, problem))?);
    Ok(())
}

/// Compact, in the order of the fields as they were.
fn rewrite_json(text: &str, changes: &[DocumentPatch]) -> Result<String, Problem> {
    let document = parse_json(text.as_bytes())
        .map_err(|error| Problem::Json(Box::new(error)))?
        .value;
    let changed = patch(changes)?
        .apply(&document, Replace::Existing)
        .map_err(Box::new)?;
    Ok(escape::to_json(&changed))
}

/// Sorted by key; comments are lost.
fn rewrite_yaml(text: &str, changes: &[DocumentPatch]) -> Result<String, Problem> {
    let options = serde_saphyr::options! {
        with_snippet: false,
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MOST_REPEATED },
    };
    let document: Value = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| Problem::Yaml(error.to_string()))?;
    let mut changed = patch(changes)?
        .apply(&document, Replace::Existing)
        .map_err(Box::new)?;
    changed.sort_all_objects();
    let options = serde_saphyr::ser_options! { folded_wrap_chars: NEVER_FOLDED };
    serde_saphyr::to_string_with_options(&changed, options)
        .map_err(|error| Problem::Yaml(error.to_string()))
}

fn patch(changes: &[DocumentPatch]) -> Result<JsonPatch, ParsePointerError> {
    changes
        .iter()
        .map(|change| operation(change.operator, &change.sub_path, change.value.as_ref()))
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
