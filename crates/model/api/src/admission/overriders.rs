//! Rules for changes to templates. Plain changes at JSON pointers and the texts put into images go unchecked: whether
//! they make sense depends on the template.

use object::{
    field::{FieldError, FieldPath},
    patch::Pointer,
};
use serde_json::Value;

use super::{
    metadata::{check_annotations, check_labels},
    problems::shown,
};
use crate::policy::{DocumentPatch, FieldOverrider, OverriderOperator, Overriders};

/// Checks the changes of one rule.
pub(super) fn check(overriders: &Overriders, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (position, overrider) in overriders.annotations_overrider.iter().enumerate() {
        let path = path
            .child("annotationsOverrider")
            .index(position)
            .child("value");
        errors.extend(check_annotations(&overrider.value, &path));
    }
    for (position, overrider) in overriders.labels_overrider.iter().enumerate() {
        let path = path.child("labelsOverrider").index(position).child("value");
        errors.extend(check_labels(&overrider.value, &path));
    }
    for (position, overrider) in overriders.image_overrider.iter().enumerate() {
        let Some(predicate) = &overrider.predicate else {
            continue;
        };
        let path = path.child("imageOverrider").index(position);
        errors.extend(check_pointer(
            path.child("predicate").child("path"),
            &predicate.path,
        ));
    }
    for (position, overrider) in overriders.field_overrider.iter().enumerate() {
        errors.extend(check_field_overrider(
            overrider,
            &path.child("fieldOverrider").index(position),
        ));
    }
    errors
}

fn check_field_overrider(overrider: &FieldOverrider, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match (overrider.json.is_empty(), overrider.yaml.is_empty()) {
        (false, false) => {
            let detail = "json and yaml exclude each other";
            errors.push(FieldError::invalid(path.clone(), shown(overrider), detail));
        }
        (true, true) => {
            let detail = "one of json and yaml must be given";
            errors.push(FieldError::required(path.clone(), detail));
        }
        _ => {}
    }
    errors.extend(check_pointer(
        path.child("fieldPath"),
        &overrider.field_path,
    ));
    for (form, patches) in [("json", &overrider.json), ("yaml", &overrider.yaml)] {
        for (position, patch) in patches.iter().enumerate() {
            errors.extend(check_document_patch(
                patch,
                &path.child(form).index(position),
            ));
        }
    }
    errors
}

fn check_document_patch(patch: &DocumentPatch, path: &FieldPath) -> Vec<FieldError> {
    let mut errors: Vec<FieldError> = check_pointer(path.child("subPath"), &patch.sub_path)
        .into_iter()
        .collect();
    let problem = match (patch.operator, &patch.value) {
        (OverriderOperator::Add | OverriderOperator::Replace, None) => {
            "is required for add and replace"
        }
        (OverriderOperator::Remove, Some(_)) => "is not allowed for remove",
        _ => return errors,
    };
    let value = patch.value.clone().unwrap_or(Value::Null);
    errors.push(FieldError::invalid(path.child("value"), value, problem));
    errors
}

fn check_pointer(path: FieldPath, text: &str) -> Option<FieldError> {
    let problem = text.parse::<Pointer>().err()?;
    Some(FieldError::invalid(path, text, problem.to_string()))
}
