//! Rules about kinds that extend the server: webhooks and API services.

use std::collections::BTreeSet;

use object::{field::FieldError, names};

use super::{
    admission_match::{FAILURE_POLICIES, MATCH_POLICIES, choice, conditions},
    client_config::client_config,
    spot::{Errors, Spot},
    words::port_number,
};

/// Versions of the admission review a webhook may understand.
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// What asking a webhook may change elsewhere.
const HARMLESS: [&str; 2] = ["None", "NoneOnDryRun"];

/// What a webhook may be told, if anything; an empty text is none of it.
const CHOICES: [(&str, &[&str]); 4] = [
    ("failurePolicy", &FAILURE_POLICIES),
    ("matchPolicy", &MATCH_POLICIES),
    ("sideEffects", &HARMLESS),
    ("reinvocationPolicy", &["IfNeeded", "Never"]),
];

pub(super) fn webhooks(configuration: &Spot<'_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for webhook in configuration.field("webhooks").elements() {
        let name = webhook.field("name");
        if !name.is_empty() && !seen.insert(name.text().to_owned()) {
            errors.push(name.duplicate());
        }
    }
}

/// One webhook of either sort.
pub(super) fn webhook(webhook: &Spot<'_>, errors: &mut Errors) {
    let name = webhook.field("name");
    if !name.is_empty() {
        let problems = names::check_dns1123_subdomain(name.text());
        if !problems.is_empty() {
            errors.push(name.invalid(problems.join(",")));
        } else if name.text().split('.').count() < 3 {
            errors.push(
                name.invalid("should be a domain with at least three segments separated by dots"),
            );
        }
    }
    let versions = webhook.field("admissionReviewVersions");
    if versions.is_empty() {
        errors.push(versions.required(format!(
            "must specify one of {}",
            REVIEW_VERSIONS.join(", ")
        )));
    } else if !versions
        .elements()
        .any(|version| REVIEW_VERSIONS.contains(&version.text()))
    {
        errors.push(versions.invalid(format!(
            "must include at least one of {}",
            REVIEW_VERSIONS.join(", ")
        )));
    }
    let mut seen = BTreeSet::new();
    for version in versions.elements() {
        if !seen.insert(version.text()) {
            errors.push(version.invalid("duplicate version"));
            continue;
        }
        version.complain(names::check_dns1035_label(version.text()), errors);
    }
    let effects = webhook.field("sideEffects");
    if !effects.is_set() {
        errors.push(effects.required(format!("must specify one of {}", HARMLESS.join(", "))));
    }
    for (field, values) in CHOICES {
        choice(&webhook.field(field), values, errors);
    }
    let timeout = webhook.field("timeoutSeconds");
    if timeout
        .number()
        .is_some_and(|seconds| !(1..=30).contains(&seconds))
    {
        errors.push(timeout.invalid("the timeout value must be between 1 and 30 seconds"));
    }
    client_config(&webhook.field("clientConfig"), errors);
    conditions(&webhook.field("matchConditions"), errors);
}

pub(super) fn api_service(service: &Spot<'_>, errors: &mut Errors) {
    let (spec, metadata) = (service.field("spec"), service.field("metadata"));
    let expected = format!(
        "{}.{}",
        spec.field("version").text(),
        spec.field("group").text()
    );
    let name = metadata.field("name");
    if name.text() != expected {
        errors.push(name.invalid(format!(
            "must be `spec.version+\".\"+spec.group`: {expected:?}"
        )));
    }
    let (group, version) = (spec.field("group"), spec.field("version"));
    if group.is_empty() {
        if version.text() != "v1" {
            errors.push(
                group.required("only v1 may have an empty group and it better be legacy kube"),
            );
        }
    } else {
        group.complain(names::check_dns1123_subdomain(group.text()), errors);
    }
    version.complain(names::check_dns1035_label(version.text()), errors);
    for (field, below) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1_000)] {
        let number = spec.field(field);
        if !number
            .number()
            .is_some_and(|number| (1..=below).contains(&number))
        {
            errors.push(number.invalid(format!("must be positive and less than {below}")));
        }
    }
    let host = spec.field("service");
    if !host.is_set() {
        let bundle = spec.field("caBundle");
        if !bundle.is_empty() {
            let size = format!("{} bytes", bundle.text().len());
            errors.push(FieldError::invalid(
                bundle.path(),
                size,
                "local APIServices may not have a caBundle",
            ));
        }
        return;
    }
    for field in ["namespace", "name"] {
        if host.field(field).is_empty() {
            errors.push(host.field(field).required(""));
        }
    }
    port_number(&host.field("port"), errors);
    let insecure = spec.field("insecureSkipTLSVerify");
    if insecure.is_true() && !spec.field("caBundle").is_empty() {
        errors.push(insecure.invalid("may not be true if caBundle is present"));
    }
}
