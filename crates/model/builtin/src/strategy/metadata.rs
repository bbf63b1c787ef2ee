//! Rules about `metadata`, which all kinds share.

use std::collections::BTreeSet;
use std::net::IpAddr;

use object::{
    Value,
    field::{FieldError, FieldPath},
    names,
};

use super::{
    spot::{Errors, Spot},
    words::{IMMUTABLE, mask_trailing_dash, not_negative},
};
use crate::kinds::NameRule;

/// The most that all annotations of an object may take, keys and values together: 256 KiB.
pub const ANNOTATIONS_LIMIT: usize = 256 << 10;

/// Finalizers of the system itself, which have no prefix.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// What is wrong with the metadata of a new object, whose name the server has already made if it was to be generated.
#[must_use]
pub fn validate_metadata(object: &Value, names: NameRule, namespaced: bool) -> Vec<FieldError> {
    let root = Spot::root(object);
    let metadata = root.field("metadata");
    let mut errors = Vec::new();
    let prefix = metadata.field("generateName");
    if !prefix.is_empty() {
        prefix.complain(
            check_name(names, &mask_trailing_dash(prefix.text())),
            &mut errors,
        );
    }
    let name = metadata.field("name");
    if name.is_empty() {
        errors.push(name.required("name or generateName is required"));
    } else {
        name.complain(check_name(names, name.text()), &mut errors);
    }
    let namespace = metadata.field("namespace");
    if !namespaced {
        if !namespace.is_empty() {
            errors.push(namespace.forbidden("not allowed on this type"));
        }
    } else if namespace.is_empty() {
        errors.push(namespace.required(""));
    } else {
        namespace.complain(names::check_dns1123_label(namespace.text()), &mut errors);
    }
    not_negative(&metadata.field("generation"), &mut errors);
    shared(&metadata, &mut errors);
    finalizers(&metadata.field("finalizers"), &mut errors);
    errors
}

/// What is wrong with changing the metadata of `old` into that of `new`.
#[must_use]
pub fn validate_metadata_update(old: &Value, new: &Value) -> Vec<FieldError> {
    let (old_root, new_root) = (Spot::root(old), Spot::root(new));
    let (old, new) = (old_root.field("metadata"), new_root.field("metadata"));
    let mut errors = Vec::new();
    if old.field("deletionTimestamp").is_set() {
        no_new_finalizers(
            &old.field("finalizers"),
            &new.field("finalizers"),
            &mut errors,
        );
    }
    if new.field("resourceVersion").is_empty() {
        let path = new.field("resourceVersion").path();
        errors.push(FieldError::invalid(
            path,
            "",
            "must be specified for an update",
        ));
    }
    let generation = |metadata: &Spot<'_>| metadata.field("generation").number().unwrap_or(0);
    if generation(&new) < generation(&old) {
        errors.push(new.field("generation").invalid("must not be decremented"));
    }
    for field in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        if old.field(field).value != new.field(field).value {
            errors.push(new.field(field).invalid(IMMUTABLE));
        }
    }
    shared(&new, &mut errors);
    errors
}

/// Reports finalizers that came to `new` without a prefix and are none of the system's own.
pub(super) fn known_finalizers(old: &Value, new: &Value, errors: &mut Errors) {
    let (old, new) = (Spot::root(old), Spot::root(new));
    let (old, new) = (old.field("metadata"), new.field("metadata"));
    let before = old.field("finalizers");
    for finalizer in new.field("finalizers").elements() {
        let name = finalizer.text();
        let is_known = name.contains('/')
            || STANDARD_FINALIZERS.contains(&name)
            || before.elements().any(|known| known.text() == name);
        if !is_known {
            errors
                .push(finalizer.invalid(
                    "name is neither a standard finalizer name nor is it fully qualified",
                ));
        }
    }
}

/// What is wrong with labels that stand at `path`.
pub(super) fn labels(labels: &Spot<'_>, path: &FieldPath, errors: &mut Errors) {
    for (key, value) in labels.map().into_iter().flatten() {
        let invalid = |value: &str, problem| FieldError::invalid(path.clone(), value, problem);
        errors.extend(
            names::check_qualified_name(key)
                .into_iter()
                .map(|problem| invalid(key, problem)),
        );
        let value = value.as_str().unwrap_or("");
        errors.extend(
            names::check_label_value(value)
                .into_iter()
                .map(|problem| invalid(value, problem)),
        );
    }
}

/// What is wrong with annotations that stand at `path`.
pub(super) fn annotations(annotations: &Spot<'_>, path: &FieldPath, errors: &mut Errors) {
    let mut size = 0;
    for (key, value) in annotations.map().into_iter().flatten() {
        size += key.len() + value.as_str().map_or(0, str::len);
        let problems = names::check_qualified_name(&key.to_lowercase());
        errors.extend(
            problems
                .into_iter()
                .map(|problem| FieldError::invalid(path.clone(), key.as_str(), problem)),
        );
    }
    if size > ANNOTATIONS_LIMIT {
        errors.push(FieldError::too_long(path.clone(), ANNOTATIONS_LIMIT));
    }
}

fn check_name(rule: NameRule, name: &str) -> Vec<String> {
    match rule {
        NameRule::Subdomain => names::check_dns1123_subdomain(name),
        NameRule::Label => names::check_dns1123_label(name),
        NameRule::Dns1035 => names::check_dns1035_label(name),
        NameRule::PathSegment => names::check_path_segment(name),
        NameRule::IpAddress => match name.parse::<IpAddr>() {
            Ok(address) if address.to_string() == name => Vec::new(),
            _ => vec!["must be a valid IP address in canonical form".to_owned()],
        },
        NameRule::Any => Vec::new(),
    }
}

/// What creation and update check alike.
fn shared(metadata: &Spot<'_>, errors: &mut Errors) {
    let spot = metadata.field("labels");
    labels(&spot, &spot.path(), errors);
    let spot = metadata.field("annotations");
    annotations(&spot, &spot.path(), errors);
    owners(&metadata.field("ownerReferences"), errors);
}

fn owners(owners: &Spot<'_>, errors: &mut Errors) {
    let mut controller: Option<String> = None;
    // Upstream: errors stand at the list, not at its elements.
    let path = owners.path();
    for owner in owners.elements() {
        let version = owner.field("apiVersion");
        if version.text().rsplit('/').next().is_none_or(str::is_empty) {
            let value = version.text();
            errors.push(FieldError::invalid(
                path.child("apiVersion"),
                value,
                "version must not be empty",
            ));
        }
        for field in ["kind", "name", "uid"] {
            if owner.field(field).is_empty() {
                errors.push(FieldError::invalid(
                    path.child(field),
                    "",
                    "must not be empty",
                ));
            }
        }
        if version.text() == "v1" && owner.field("kind").text() == "Event" {
            let detail = "/v1, Kind=Event is disallowed from being an owner";
            errors.push(FieldError::invalid(
                path.clone(),
                owner.value.clone(),
                detail,
            ));
        }
        if owner.field("controller").is_true() {
            let this = format!(
                "{}/{}",
                owner.field("kind").text(),
                owner.field("name").text()
            );
            match &controller {
                Some(first) => errors.push(owners.invalid(format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
                ))),
                None => controller = Some(this),
            }
        }
    }
}

fn finalizers(finalizers: &Spot<'_>, errors: &mut Errors) {
    let path = finalizers.path();
    for finalizer in finalizers.elements() {
        let problems = names::check_qualified_name(finalizer.text());
        errors.extend(
            problems
                .into_iter()
                .map(|problem| FieldError::invalid(path.clone(), finalizer.text(), problem)),
        );
    }
    let has = |name: &str| {
        finalizers
            .elements()
            .any(|finalizer| finalizer.text() == name)
    };
    if has("orphan") && has("foregroundDeletion") {
        errors
            .push(finalizers.invalid("finalizer orphan and foregroundDeletion cannot be both set"));
    }
}

fn no_new_finalizers(old: &Spot<'_>, new: &Spot<'_>, errors: &mut Errors) {
    let known: BTreeSet<String> = old
        .elements()
        .map(|finalizer| finalizer.text().to_owned())
        .collect();
    let mut added: Vec<String> = new
        .elements()
        .map(|finalizer| finalizer.text().to_owned())
        .filter(|name| !known.contains(name))
        .collect();
    added.sort_unstable();
    if !added.is_empty() {
        let list = added
            .iter()
            .map(|name| format!("{name:?}"))
            .collect::<Vec<_>>()
            .join(", ");
        errors.push(new.forbidden(format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{list}}}"
        )));
    }
}
