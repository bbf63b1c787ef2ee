//! What happens to objects that are created and updated: what requests may set, and what is valid.
//!
//! The server calls, in this order: [`crate::defaults::apply_defaults`] after decoding and after every admission plugin
//! that changed the object; [`prepare_create`], [`prepare_update`] or [`prepare_subresource_update`]; then
//! [`validate_create`], [`validate_update`] or [`validate_subresource_update`], which report everything that is wrong.
//!
//! Rules belong to types and follow them wherever they occur (`shape.rs`), so a container is checked alike in a pod and
//! in a cron job's template. Paths, reasons and texts of the errors are those that clients of Kubernetes know.
//!
//! Upstream: this checks what authors of templates get wrong, not everything upstream checks. Rules that need other
//! objects (quotas, allocated addresses, existing accounts) are the server's; schemas of custom kinds are `schema`'s.

mod access;
mod addresses;
mod admission_match;
mod admission_policy;
mod bounds;
mod client_config;
mod cluster;
mod config;
mod container;
mod decisions;
mod definition;
mod event;
mod extension;
mod immutable;
mod job_policy;
mod metadata;
mod network;
mod pod;
mod prepare;
mod resize;
mod retype;
mod rules;
mod scaling;
mod scheduling;
mod security;
mod selector;
mod service;
mod shape;
mod spot;
mod storage;
#[cfg(test)]
mod tests;
mod volume;
mod words;
mod workload;

use object::{GroupVersionKind, Value, field::FieldError};

use self::spot::Spot;
use crate::{
    defaults,
    kinds::{self, Kind},
};

pub use self::config::CONTENT_LIMIT;
pub use self::metadata::{ANNOTATIONS_LIMIT, validate_metadata, validate_metadata_update};
pub use self::prepare::{prepare_create, prepare_subresource_update, prepare_update, reset_fields};

/// The labels by which a job finds its pods.
const CONTROLLER_UID: &str = "batch.kubernetes.io/controller-uid";
const JOB_NAME: &str = "batch.kubernetes.io/job-name";

/// Everything wrong with a new object that was filled up and prepared. Kinds that are not built in have no rules here.
#[must_use]
pub fn validate_create(gvk: &GroupVersionKind, object: &Value) -> Vec<FieldError> {
    let Some(kind) = kinds::kind(gvk) else {
        return Vec::new();
    };
    let mut errors = Vec::new();
    // Questions are not stored, so they need no name.
    if !kind.is_create_only() {
        errors = validate_metadata(object, kind.names, kind.namespaced);
        known_finalizers(kind, &Value::Null, object, &mut errors);
    }
    check_body(kind, object, &mut errors);
    if kind.kind == "Event" {
        event::create(kind.group, object, &mut errors);
    }
    if kind.kind == "CustomResourceDefinition" {
        definition::approval(&Spot::root(object), &mut errors);
    }
    if kind.kind == "CronJob" {
        workload::time_zone(&Spot::root(object), &mut errors);
    }
    if (kind.group, kind.kind) == ("", "Pod") {
        let root = Spot::root(object);
        let spec = root.field("spec");
        let ephemeral = spec.field("ephemeralContainers");
        if !ephemeral.is_empty() {
            errors.push(ephemeral.forbidden("cannot be set on create"));
        }
    }
    errors
}

/// Everything wrong with changing `old` into `new`, which was filled up and prepared.
#[must_use]
pub fn validate_update(gvk: &GroupVersionKind, old: &Value, new: &Value) -> Vec<FieldError> {
    let Some(kind) = kinds::kind(gvk) else {
        return Vec::new();
    };
    let mut errors = validate_metadata_update(old, new);
    known_finalizers(kind, old, new, &mut errors);
    check_changed_body(kind, old, new, &mut errors);
    if kind.kind == "Event" {
        event::update(kind.group, old, new, &mut errors);
    }
    let zone = |object: &Value| object.pointer("/spec/timeZone").cloned();
    if kind.kind == "CronJob" && zone(old) != zone(new) {
        workload::time_zone(&Spot::root(new), &mut errors);
    }
    errors.extend(changes(kind, gvk, old, new));
    errors
}

/// What changed and may not. What is stored may lack what objects are filled up with by now, which is no change.
fn changes(kind: &Kind<'_>, gvk: &GroupVersionKind, old: &Value, new: &Value) -> Vec<FieldError> {
    let mut found = Vec::new();
    immutable::check(kind, old, new, &mut found);
    if !found.is_empty() {
        let mut filled = old.clone();
        defaults::apply_defaults(gvk, &mut filled);
        found.clear();
        immutable::check(kind, &filled, new, &mut found);
    }
    found
}

/// Everything wrong with changing `old` into `new` through a subresource.
#[must_use]
pub fn validate_subresource_update(
    gvk: &GroupVersionKind,
    subresource: &str,
    old: &Value,
    new: &Value,
) -> Vec<FieldError> {
    let Some(kind) = kinds::kind(gvk) else {
        return Vec::new();
    };
    let mut errors = validate_metadata_update(old, new);
    known_finalizers(kind, old, new, &mut errors);
    match subresource {
        "status" => {
            let root = Spot::root(new);
            check_status(kind, &root.field("status"), &mut errors);
            if kind.kind == "CertificateSigningRequest" {
                decisions::check(subresource, old, new, &mut errors);
            }
        }
        "resize" => {
            check_changed_body(kind, old, new, &mut errors);
            resize::check(old, new, &mut errors);
        }
        "approval" => decisions::check(subresource, old, new, &mut errors),
        "ephemeralcontainers" => {
            check_changed_body(kind, old, new, &mut errors);
            immutable::ephemeral_containers(old, new, &mut errors);
        }
        _ => {}
    }
    errors
}

fn check_body(kind: &Kind<'_>, object: &Value, errors: &mut Vec<FieldError>) {
    shape::check(&kind.type_name(), &Spot::root(object), errors);
}

/// The same for an object that is stored. Rules may be younger than it: what was let in may stay, or the object could
/// neither be changed otherwise nor, while something still has to be done first, go.
fn check_changed_body(kind: &Kind<'_>, old: &Value, new: &Value, errors: &mut Vec<FieldError>) {
    let mut found = Vec::new();
    check_body(kind, new, &mut found);
    if !found.is_empty() {
        let mut before = Vec::new();
        check_body(kind, old, &mut before);
        found.retain(|problem| !before.contains(problem));
    }
    errors.extend(found);
}

/// Finalizers of most kinds carry the name of whoever takes care of them. Upstream: webhooks, leases, runtime classes,
/// budgets, older events and what extends the API are let off.
fn known_finalizers(kind: &Kind<'_>, old: &Value, new: &Value, errors: &mut Vec<FieldError>) {
    let is_let_off = matches!(
        kind.group,
        "admissionregistration.k8s.io"
            | "apiextensions.k8s.io"
            | "apiregistration.k8s.io"
            | "coordination.k8s.io"
            | "node.k8s.io"
            | "policy"
    ) || (kind.group, kind.kind) == ("", "Event");
    if !is_let_off {
        metadata::known_finalizers(old, new, errors);
    }
}

/// Counts of a status are not negative, and parts are not more than the whole.
fn check_status(kind: &Kind<'_>, status: &Spot<'_>, errors: &mut Vec<FieldError>) {
    if !matches!(kind.group, "apps" | "batch" | "policy" | "autoscaling")
        && kind.kind != "ReplicationController"
    {
        return;
    }
    for name in status.map().into_iter().flat_map(|fields| fields.keys()) {
        words::not_negative(&status.field(name), errors);
    }
    let parts = [
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "updatedReplicas",
        "currentReplicas",
    ];
    let replicas = status.field("replicas").number().unwrap_or(0);
    if matches!(
        kind.kind,
        "Deployment" | "ReplicaSet" | "StatefulSet" | "ReplicationController"
    ) {
        for part in parts {
            let part = status.field(part);
            if part.number().is_some_and(|number| number > replicas) {
                errors.push(part.invalid("cannot be greater than status.replicas"));
            }
        }
        let (ready, available) = (
            status.field("readyReplicas"),
            status.field("availableReplicas"),
        );
        if available.number().unwrap_or(0) > ready.number().unwrap_or(0) {
            let whole = if kind.kind == "StatefulSet" {
                "status.readyReplicas"
            } else {
                "readyReplicas"
            };
            errors.push(available.invalid(format!("cannot be greater than {whole}")));
        }
    }
}
