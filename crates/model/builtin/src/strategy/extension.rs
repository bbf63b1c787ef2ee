//! Rules about kinds that extend the server: webhooks, custom kinds and API services.

use std::collections::BTreeSet;

use object::{field::FieldError, names};

use super::{
    spot::{Errors, Spot},
    words::port_number,
};

/// Versions of the admission review a webhook may understand.
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];

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
        name.complain(names::check_dns1123_subdomain(name.text()), errors);
        if name.text().split('.').count() < 3 {
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
    let effects = webhook.field("sideEffects");
    let harmless = ["None", "NoneOnDryRun"];
    if effects.is_empty() {
        errors.push(effects.required(format!("must specify one of {}", harmless.join(", "))));
    } else if matches!(effects.text(), "Some" | "Unknown") {
        errors.push(effects.not_supported(&harmless));
    }
    let timeout = webhook.field("timeoutSeconds");
    if timeout
        .number()
        .is_some_and(|seconds| !(1..=30).contains(&seconds))
    {
        errors.push(timeout.invalid("the timeout value must be between 1 and 30 seconds"));
    }
    client(&webhook.field("clientConfig"), errors);
}

/// Requests a webhook wants to see.
pub(super) fn webhook_rule(rule: &Spot<'_>, errors: &mut Errors) {
    for (field, what) in [
        ("operations", "operations"),
        ("apiGroups", "API groups"),
        ("apiVersions", "API versions"),
        ("resources", ""),
    ] {
        let list = rule.field(field);
        if list.is_empty() {
            errors.push(list.required(""));
        } else if !what.is_empty()
            && list.len() > 1
            && list.elements().any(|item| item.text() == "*")
        {
            errors.push(list.invalid(format!("if '*' is present, must not specify other {what}")));
        }
    }
}

/// A custom kind: what can be said of it without its schemas.
pub(super) fn definition(definition: &Spot<'_>, errors: &mut Errors) {
    let (spec, metadata) = (definition.field("spec"), definition.field("metadata"));
    let (group, names_of, name) = (
        spec.field("group"),
        spec.field("names"),
        metadata.field("name"),
    );
    if !group.is_empty() {
        group.complain(names::check_dns1123_subdomain(group.text()), errors);
        if !group.text().contains('.') {
            errors.push(group.invalid("should be a domain with at least one dot"));
        }
    }
    let plural = names_of.field("plural");
    if name.text() != format!("{}.{}", plural.text(), group.text()) {
        errors.push(name.invalid("must be spec.names.plural+\".\"+spec.group"));
    }
    for field in ["plural", "singular"] {
        let field = names_of.field(field);
        if !field.is_empty() {
            field.complain(names::check_dns1035_label(field.text()), errors);
        }
    }
    for field in ["kind", "listKind"] {
        let field = names_of.field(field);
        let problems = names::check_dns1035_label(&field.text().to_lowercase());
        if !field.is_empty() && !problems.is_empty() {
            let detail = format!(
                "may have mixed case, but should otherwise match: {}",
                problems.join(",")
            );
            errors.push(field.invalid(detail));
        }
    }
    if !names_of.field("kind").is_empty()
        && names_of.field("kind").text() == names_of.field("listKind").text()
    {
        errors.push(
            names_of
                .field("listKind")
                .invalid("kind and listKind may not be the same"),
        );
    }
    let scope = spec.field("scope");
    if !scope.is_empty() && !matches!(scope.text(), "Cluster" | "Namespaced") {
        errors.push(scope.not_supported(&["Cluster", "Namespaced"]));
    }
    versions(&spec, errors);
    conversion(&spec.field("conversion"), errors);
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

fn client(config: &Spot<'_>, errors: &mut Errors) {
    let (url, service) = (config.field("url"), config.field("service"));
    if url.is_set() == service.is_set() {
        errors.push(config.required("exactly one of url or service is required"));
        return;
    }
    if url.is_set() && !url.text().starts_with("https://") {
        errors.push(url.invalid(
            "'https' is the only allowed URL scheme; desired format: https://host[/path]",
        ));
    }
    port_number(&service.field("port"), errors);
}

fn versions(spec: &Spot<'_>, errors: &mut Errors) {
    let versions = spec.field("versions");
    if versions.is_empty() {
        errors.push(versions.required("must have at least one version"));
        return;
    }
    let mut seen = BTreeSet::new();
    for version in versions.elements() {
        let name = version.field("name");
        if !name.is_empty() {
            let problems = names::check_dns1035_label(name.text());
            // Upstream: the first version is the definition's own too, under the name that had before there were several.
            if seen.is_empty() {
                let path = spec.field("version").path();
                let alias = |problem: &String| {
                    FieldError::invalid(path.clone(), name.text(), problem.as_str())
                };
                errors.extend(problems.iter().map(alias));
            }
            name.complain(problems, errors);
            if !seen.insert(name.text().to_owned()) {
                errors.push(name.duplicate());
            }
        }
        let schema = version.field("schema");
        if !schema.field("openAPIV3Schema").is_set() {
            errors.push(
                schema
                    .field("openAPIV3Schema")
                    .required("schemas are required"),
            );
        }
    }
    if versions
        .elements()
        .filter(|version| version.field("storage").is_true())
        .count()
        != 1
    {
        errors.push(versions.invalid("must have exactly one version marked as storage version"));
    }
}

fn conversion(conversion: &Spot<'_>, errors: &mut Errors) {
    let (strategy, webhook) = (conversion.field("strategy"), conversion.field("webhook"));
    match strategy.text() {
        "Webhook" => {
            let config = webhook.field("clientConfig");
            if config.is_set() {
                client(&config, errors);
            } else {
                errors.push(config.required("required when strategy is set to Webhook"));
            }
        }
        "None" if webhook.is_set() => {
            errors.push(webhook.forbidden("should not be set when strategy is not set to Webhook"));
        }
        "None" | "" => {}
        _ => errors.push(strategy.not_supported(&["None", "Webhook"])),
    }
}
