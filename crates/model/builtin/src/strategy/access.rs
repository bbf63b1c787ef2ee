//! Rules about roles, their bindings, certificate requests and access reviews.

use std::collections::BTreeSet;

use object::{field::FieldError, names};

use super::spot::{Errors, Spot};

const GROUP: &str = "rbac.authorization.k8s.io";

/// The shortest validity that can be asked for: ten minutes.
const SHORTEST_SECONDS: i64 = 600;

pub(super) fn role(role: &Spot<'_>, errors: &mut Errors) {
    for rule in role.field("rules").elements() {
        policy_rule(&rule, true, errors);
    }
}

pub(super) fn cluster_role(role: &Spot<'_>, errors: &mut Errors) {
    for rule in role.field("rules").elements() {
        policy_rule(&rule, false, errors);
    }
    let aggregation = role.field("aggregationRule");
    let selectors = aggregation.field("clusterRoleSelectors");
    if aggregation.is_set() && selectors.is_empty() {
        errors.push(
            selectors.required(
                "at least one clusterRoleSelector required if aggregationRule is non-nil",
            ),
        );
    }
}

pub(super) fn role_binding(binding: &Spot<'_>, errors: &mut Errors) {
    role_ref(binding, &["Role", "ClusterRole"], errors);
}

pub(super) fn cluster_role_binding(binding: &Spot<'_>, errors: &mut Errors) {
    role_ref(binding, &["ClusterRole"], errors);
    for subject in binding.field("subjects").elements() {
        let namespace = subject.field("namespace");
        if subject.field("kind").text() == "ServiceAccount" && namespace.is_empty() {
            errors.push(namespace.required(""));
        }
    }
}

/// A user, group or service account.
pub(super) fn subject(subject: &Spot<'_>, errors: &mut Errors) {
    let (kind, name, group) = (
        subject.field("kind"),
        subject.field("name"),
        subject.field("apiGroup"),
    );
    let wrong_group =
        |expected: &str| FieldError::not_supported(group.path(), group.text(), &[expected]);
    if name.is_empty() {
        errors.push(name.required(""));
    }
    match kind.text() {
        "ServiceAccount" => {
            if !name.is_empty() {
                name.complain(names::check_dns1123_subdomain(name.text()), errors);
            }
            if !group.is_empty() {
                errors.push(wrong_group(""));
            }
        }
        "User" | "Group" => {
            if group.text() != GROUP {
                errors.push(wrong_group(GROUP));
            }
        }
        other => {
            let known = ["ServiceAccount", "User", "Group"];
            errors.push(FieldError::not_supported(kind.path(), other, &known));
        }
    }
}

pub(super) fn signing_request(spec: &Spot<'_>, errors: &mut Errors) {
    let usages = spec.field("usages");
    if usages.is_empty() {
        errors.push(usages.required(""));
    }
    let mut seen = BTreeSet::new();
    for usage in usages.elements() {
        if !seen.insert(usage.text().to_owned()) {
            errors.push(usage.duplicate());
        }
    }
    let signer = spec.field("signerName");
    if signer.text() == "kubernetes.io/legacy-unknown" {
        errors.push(signer.invalid("the legacy signerName is not allowed via this API version"));
    } else if !signer.is_empty() {
        signer_name(&signer, errors);
    }
    let validity = spec.field("expirationSeconds");
    if validity
        .number()
        .is_some_and(|seconds| seconds < SHORTEST_SECONDS)
    {
        errors.push(
            validity.invalid("may not specify a duration less than 600 seconds (10 minutes)"),
        );
    }
}

/// A question about someone.
pub(super) fn access_review(spec: &Spot<'_>, errors: &mut Errors) {
    one_request(spec, errors);
    if spec.field("user").is_empty() && spec.field("groups").is_empty() {
        errors.push(
            spec.field("user")
                .required("at least one of user or group must be specified"),
        );
    }
}

/// A question about the caller.
pub(super) fn self_access_review(spec: &Spot<'_>, errors: &mut Errors) {
    one_request(spec, errors);
}

fn one_request(spec: &Spot<'_>, errors: &mut Errors) {
    let (resource, path) = (
        spec.field("resourceAttributes"),
        spec.field("nonResourceAttributes"),
    );
    match (resource.is_set(), path.is_set()) {
        (true, true) => {
            errors.push(path.invalid("cannot be specified in combination with resourceAttributes"));
        }
        (false, false) => {
            errors.push(resource.required(
                "exactly one of nonResourceAttributes or resourceAttributes must be specified",
            ));
        }
        _ => {}
    }
}

/// Verbs on resources or on paths, not both.
fn policy_rule(rule: &Spot<'_>, namespaced: bool, errors: &mut Errors) {
    let set = |field: &str| !rule.field(field).is_empty();
    if !set("verbs") {
        errors.push(
            rule.field("verbs")
                .required("verbs must contain at least one value"),
        );
    }
    let paths = rule.field("nonResourceURLs");
    if !paths.is_empty() {
        if namespaced {
            errors.push(paths.invalid("namespaced rules cannot apply to non-resource URLs"));
        }
        if set("apiGroups") || set("resources") || set("resourceNames") {
            errors.push(
                paths.invalid("rules cannot apply to both regular resources and non-resource URLs"),
            );
        }
        return;
    }
    if !set("apiGroups") {
        errors.push(
            rule.field("apiGroups")
                .required("resource rules must supply at least one api group"),
        );
    }
    if !set("resources") {
        errors.push(
            rule.field("resources")
                .required("resource rules must supply at least one resource"),
        );
    }
}

fn role_ref(binding: &Spot<'_>, kinds: &[&str], errors: &mut Errors) {
    let reference = binding.field("roleRef");
    let (group, kind, name) = (
        reference.field("apiGroup"),
        reference.field("kind"),
        reference.field("name"),
    );
    if group.text() != GROUP {
        errors.push(FieldError::not_supported(
            group.path(),
            group.text(),
            &[GROUP],
        ));
    }
    if !kinds.contains(&kind.text()) {
        errors.push(FieldError::not_supported(kind.path(), kind.text(), kinds));
    }
    if name.is_empty() {
        errors.push(name.required(""));
    } else {
        name.complain(names::check_path_segment(name.text()), errors);
    }
}

/// The name of a signer is a domain and a path: `example.com/my-signer`.
fn signer_name(signer: &Spot<'_>, errors: &mut Errors) {
    let Some((domain, path)) = signer.text().split_once('/') else {
        errors.push(signer.invalid(
            "must be a fully qualified domain and path of the form 'example.com/signer-name'",
        ));
        return;
    };
    if path.contains('/') {
        errors.push(signer.invalid(
            "must be a fully qualified domain and path of the form 'example.com/signer-name'",
        ));
        return;
    }
    signer.complain(names::check_dns1123_subdomain(domain), errors);
    if !domain.contains('.') {
        errors.push(
            signer.invalid("should be a domain with at least two segments separated by dots"),
        );
    }
    signer.complain(names::check_dns1123_subdomain(path), errors);
}
