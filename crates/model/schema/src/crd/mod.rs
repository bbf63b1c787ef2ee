//! Reading the schema of a custom resource: `openAPIV3Schema` of a CustomResourceDefinition.
//!
//! A schema is accepted when it is structural, when nothing in it is a construct Kubernetes refuses, and when its
//! defaults are valid themselves. All problems are reported, with Kubernetes' texts.

mod compile;
mod openapi;
mod props;
mod structural;

use object::{
    Value,
    field::{FieldError, FieldPath},
};

use self::props::Props;
use crate::node::{Schema, SchemaId};

/// Reads a schema that stands at `path` (`spec.versions[0].schema.openAPIV3Schema`).
///
/// # Errors
/// Everything that is wrong with it.
pub fn read(schema: &Value, path: &FieldPath) -> Result<Schema, Vec<FieldError>> {
    let mut errors = Vec::new();
    let props = Props::read(schema, path, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    if props.nullable {
        errors.push(FieldError::forbidden(
            path.child("nullable"),
            "nullable cannot be true at the root",
        ));
    }
    let openapi = openapi::check(&props, path);
    let convertible = props.first_obstacle();
    let mut compiled = None;
    if convertible.is_none() {
        let structural = structural::check(&props, path);
        if structural.is_empty() {
            match compile::compile(&props, path) {
                Ok((schema, mut defaulted)) => {
                    defaulted.sort_by(|a, b| a.0.as_str().cmp(b.0.as_str()));
                    for (path, id) in &defaulted {
                        check_default(&schema, *id, &path.child("default"), &mut errors);
                    }
                    compiled = Some(schema);
                }
                Err(error) => errors.push(compile::refusal(path, &error)),
            }
        }
        errors.extend(structural);
    }
    errors.extend(openapi);
    match (compiled, convertible) {
        (Some(schema), _) if errors.is_empty() => Ok(schema),
        // Upstream: what cannot be converted is usually reported above, in better words.
        (_, Some(obstacle)) if errors.is_empty() => {
            Err(vec![FieldError::invalid(path.clone(), "", obstacle)])
        }
        _ => Err(errors),
    }
}

/// A default must be what the server would store: without unknown fields, and valid.
fn check_default(schema: &Schema, id: SchemaId, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let part = Schema::new(schema.types().clone(), id);
    let node = part.root();
    let Some(default) = node.default.as_deref() else {
        return;
    };
    let mut pruned = default.clone();
    part.prune_part(&mut pruned);
    if pruned != *default {
        errors.push(FieldError::invalid(
            path.clone(),
            default.clone(),
            "must not have unknown fields",
        ));
    }
    let mut coerced = default.clone();
    if let Err(error) = part.coerce_embedded(&mut coerced) {
        errors.push(rebased(*error, path));
        return;
    }
    errors.extend(
        part.validate_value(&coerced)
            .into_iter()
            .map(|error| rebased(error, path)),
    );
}

/// An error found inside a default, reported at the schema.
fn rebased(error: FieldError, base: &FieldPath) -> FieldError {
    let path = match error.path.as_str() {
        "" | "<nil>" => base.clone(),
        inner => base.child(inner),
    };
    FieldError { path, ..error }
}

#[cfg(test)]
mod tests;
