//! The rules that all metadata follows, for the kinds that check it themselves.

use std::collections::{BTreeMap, BTreeSet};

use object::{
    GroupVersion, ObjectMeta, OwnerReference,
    field::{FieldError, FieldPath},
    names,
};

use super::problems::{self, shown};
use crate::registry::Scope;

/// All annotations of an object together.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// Finalizers of the garbage collector, of which an object can have one.
const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// What is wrong with a name.
pub(super) type NameRule = fn(&str) -> Vec<String>;

/// Checks metadata by itself.
pub(super) fn check(metadata: &ObjectMeta, scope: Scope, name_rule: NameRule) -> Vec<FieldError> {
    let path = FieldPath::new("metadata");
    let mut errors = Vec::new();
    if !metadata.generate_name.is_empty() {
        let problems = name_rule(&as_if_completed(&metadata.generate_name));
        let path = path.child("generateName");
        errors.extend(problems::each(&path, &metadata.generate_name, problems));
    }
    if metadata.name.is_empty() {
        let detail = "name or generateName is required";
        errors.push(FieldError::required(path.child("name"), detail));
    } else {
        let problems = name_rule(&metadata.name);
        errors.extend(problems::each(
            &path.child("name"),
            &metadata.name,
            problems,
        ));
    }
    let namespace = path.child("namespace");
    match (scope, metadata.namespace.as_str()) {
        (Scope::Namespaced, "") => errors.push(FieldError::required(namespace, "")),
        (Scope::Namespaced, name) => {
            errors.extend(problems::each(
                &namespace,
                name,
                names::check_dns1123_label(name),
            ));
        }
        (Scope::Cluster, "") => {}
        (Scope::Cluster, _) => {
            errors.push(FieldError::forbidden(namespace, "not allowed on this type"));
        }
    }
    if metadata.generation < 0 {
        errors.push(FieldError::invalid(
            path.child("generation"),
            metadata.generation,
            NOT_NEGATIVE,
        ));
    }
    errors.extend(check_labels(&metadata.labels, &path.child("labels")));
    errors.extend(check_annotations(
        &metadata.annotations,
        &path.child("annotations"),
    ));
    errors.extend(check_owners(
        &metadata.owner_references,
        &path.child("ownerReferences"),
    ));
    errors.extend(check_finalizers(
        &metadata.finalizers,
        &path.child("finalizers"),
    ));
    errors
}

/// Checks what an update may not change. What the new object leaves out, the server fills in from the stored one.
pub(super) fn check_update(old: &ObjectMeta, new: &ObjectMeta) -> Vec<FieldError> {
    let path = FieldPath::new("metadata");
    let mut errors = Vec::new();
    if old.is_terminating() {
        let known: BTreeSet<&String> = old.finalizers.iter().collect();
        let added: Vec<&String> = new
            .finalizers
            .iter()
            .filter(|name| !known.contains(name))
            .collect();
        if !added.is_empty() {
            errors.push(FieldError::forbidden(
                path.child("finalizers"),
                format!(
                    "an object that is being deleted gets no new finalizers, but {added:?} are new"
                ),
            ));
        }
    }
    for (field, old, new) in [
        ("name", &old.name, &new.name),
        ("namespace", &old.namespace, &new.namespace),
        ("uid", &old.uid, &new.uid),
    ] {
        if !new.is_empty() && new != old {
            errors.push(FieldError::invalid(
                path.child(field),
                new.as_str(),
                IMMUTABLE,
            ));
        }
    }
    for (field, old, new) in [
        (
            "creationTimestamp",
            &old.creation_timestamp,
            &new.creation_timestamp,
        ),
        (
            "deletionTimestamp",
            &old.deletion_timestamp,
            &new.deletion_timestamp,
        ),
    ] {
        if new.is_some() && new != old {
            errors.push(FieldError::invalid(
                path.child(field),
                shown(new),
                IMMUTABLE,
            ));
        }
    }
    errors
}

/// The text for a number that must not be negative.
pub(super) const NOT_NEGATIVE: &str = "must be greater than or equal to 0";

/// The text for a field that cannot be changed.
pub(super) const IMMUTABLE: &str = "field is immutable";

/// Checks keys and values of labels; errors are on the whole map.
pub(super) fn check_labels(labels: &BTreeMap<String, String>, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in labels {
        errors.extend(problems::each(path, key, names::check_qualified_name(key)));
        errors.extend(problems::each(path, value, names::check_label_value(value)));
    }
    errors
}

/// Checks keys and size of annotations; errors are on the whole map.
pub(super) fn check_annotations(
    annotations: &BTreeMap<String, String>,
    path: &FieldPath,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for key in annotations.keys() {
        // Unlike in labels, the case of the prefix does not matter.
        let problems = names::check_qualified_name(&key.to_lowercase());
        errors.extend(problems::each(path, key, problems));
    }
    let size: usize = annotations
        .iter()
        .map(|(key, value)| key.len() + value.len())
        .sum();
    if size > ANNOTATIONS_LIMIT {
        errors.push(FieldError::too_long(path.clone(), ANNOTATIONS_LIMIT));
    }
    errors
}

/// The server completes a prefix such as `web-` with letters and digits.
fn as_if_completed(prefix: &str) -> String {
    match prefix.strip_suffix('-') {
        Some(start) if !start.is_empty() => format!("{start}a"),
        _ => prefix.to_owned(),
    }
}

fn check_owners(owners: &[OwnerReference], path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut controller: Option<&OwnerReference> = None;
    for owner in owners {
        let version = owner
            .api_version
            .parse::<GroupVersion>()
            .map(|version| version.version);
        if version.is_ok_and(|version| version.is_empty()) {
            errors.push(FieldError::invalid(
                path.child("apiVersion"),
                owner.api_version.as_str(),
                "version must not be empty",
            ));
        }
        for (field, value) in [
            ("kind", &owner.kind),
            ("name", &owner.name),
            ("uid", &owner.uid),
        ] {
            if value.is_empty() {
                errors.push(FieldError::invalid(
                    path.child(field),
                    "",
                    "must not be empty",
                ));
            }
        }
        if owner.api_version == "v1" && owner.kind == "Event" {
            let detail = "an Event cannot be an owner";
            errors.push(FieldError::invalid(path.clone(), shown(owner), detail));
        }
        if owner.controller != Some(true) {
            continue;
        }
        let Some(first) = controller else {
            controller = Some(owner);
            continue;
        };
        errors.push(FieldError::invalid(
            path.clone(),
            shown(owner),
            format!(
                "only one owner can be the controller, but {}/{} and {}/{} both are",
                first.kind, first.name, owner.kind, owner.name
            ),
        ));
    }
    errors
}

fn check_finalizers(finalizers: &[String], path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in finalizers {
        errors.extend(problems::each(
            path,
            name,
            names::check_qualified_name(name),
        ));
    }
    let has = |wanted: &str| finalizers.iter().any(|name| name == wanted);
    if has(ORPHAN) && has(FOREGROUND) {
        errors.push(FieldError::invalid(
            path.clone(),
            shown(&finalizers),
            format!("{ORPHAN} and {FOREGROUND} exclude each other"),
        ));
    }
    errors
}
