//! Rules about definitions of custom kinds: what can be said of them without compiling their schemas.
//!
//! Upstream: what all versions of a definition have in common is told of as if it were the definition's own, under the name
//! it had before there were several versions.

use std::collections::BTreeSet;

use object::{
    Value,
    field::{FieldError, FieldErrorKind, FieldPath},
    names,
};

use super::{
    client_config::client_config,
    spot::{Errors, Spot},
};

/// Versions of the conversion review a webhook may understand.
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];
const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];
/// More fields than this cannot be selected by in one version.
const MOST_SELECTABLE: usize = 8;
/// Groups that belong to Kubernetes; kinds in them say who agreed.
const PROTECTED: [&str; 2] = ["k8s.io", "kubernetes.io"];
const APPROVAL: &str = "api-approved.kubernetes.io";

/// A whole definition.
pub(super) fn definition(definition: &Spot<'_>, errors: &mut Errors) {
    let (spec, metadata) = (definition.field("spec"), definition.field("metadata"));
    let (group, name) = (spec.field("group"), metadata.field("name"));
    let names_of = spec.field("names");
    if name.text() != format!("{}.{}", names_of.field("plural").text(), group.text()) {
        errors.push(name.invalid("must be spec.names.plural+\".\"+spec.group"));
    }
    if !group.is_empty() {
        group.complain(names::check_dns1123_subdomain(group.text()), errors);
        if !group.text().contains('.') {
            errors.push(group.invalid("should be a domain with at least one dot"));
        }
    }
    let scope = spec.field("scope");
    if !scope.is_empty() && !matches!(scope.text(), "Cluster" | "Namespaced") {
        errors.push(scope.not_supported(&["Cluster", "Namespaced"]));
    }
    let preserve = spec.field("preserveUnknownFields");
    if preserve.is_true() {
        errors.push(preserve.invalid(
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ));
    }
    check_versions(&spec, errors);
    check_names(&names_of, errors);
    check_conversion(&spec.field("conversion"), errors);
}

/// A definition that was not there before: kinds in Kubernetes' own groups say who agreed to them.
pub(super) fn approval(definition: &Spot<'_>, errors: &mut Errors) {
    let (spec, metadata) = (definition.field("spec"), definition.field("metadata"));
    let group = spec.field("group");
    let is_protected = PROTECTED.iter().any(|domain| {
        let rest = group.text().strip_suffix(domain);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    });
    if !is_protected {
        return;
    }
    let annotations = metadata.field("annotations");
    let approval = annotations.key(APPROVAL);
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    let text = approval.text();
    if text.is_empty() {
        let why = format!("protected groups must have approval annotation {APPROVAL:?}, {see}");
        errors.push(approval.required(why));
    } else if !text.starts_with("unapproved") && !is_address(text) {
        let why = format!(
            "protected groups must have approval annotation {APPROVAL:?} with either a URL or a reason starting with \"unapproved\", {see}"
        );
        errors.push(approval.invalid(why));
    }
}

fn is_address(text: &str) -> bool {
    let host = text.split_once("://").map(|(_, host)| host);
    host.is_some_and(|host| !host.is_empty() && !host.starts_with('/'))
}

fn check_names(names_of: &Spot<'_>, errors: &mut Errors) {
    // Those without a default are demanded by the type.
    for name in ["plural", "singular"] {
        let field = names_of.field(name);
        if field.is_empty() {
            errors.extend((name == "singular").then(|| field.required("")));
        } else {
            field.complain(names::check_dns1035_label(field.text()), errors);
        }
    }
    for name in ["kind", "listKind"] {
        let field = names_of.field(name);
        if field.is_empty() {
            errors.extend((name == "listKind").then(|| field.required("")));
            continue;
        }
        let problems = names::check_dns1035_label(&field.text().to_lowercase());
        if !problems.is_empty() {
            let detail = format!(
                "may have mixed case, but should otherwise match: {}",
                problems.join(",")
            );
            errors.push(field.invalid(detail));
        }
    }
    for list in ["shortNames", "categories"] {
        for name in names_of.field(list).elements() {
            name.complain(names::check_dns1035_label(name.text()), errors);
        }
    }
    let (kind, list_kind) = (names_of.field("kind"), names_of.field("listKind"));
    if !kind.is_empty() && kind.text() == list_kind.text() {
        errors.push(list_kind.invalid("kind and listKind may not be the same"));
    }
}

fn check_versions(spec: &Spot<'_>, errors: &mut Errors) {
    let versions = spec.field("versions");
    let mut seen = BTreeSet::new();
    let mut repeats = false;
    for version in versions.elements() {
        let name = version.field("name");
        if !name.is_empty() {
            let problems = names::check_dns1035_label(name.text());
            name.complain(problems.clone(), errors);
            if seen.is_empty() {
                let alias = spec.field("version").path();
                let told =
                    |problem: String| FieldError::invalid(alias.clone(), name.text(), problem);
                errors.extend(problems.into_iter().map(told));
            }
            repeats |= !seen.insert(name.text().to_owned());
        }
        let schema = version.field("schema");
        if !schema.field("openAPIV3Schema").is_set() {
            errors.push(schema.field("openAPIV3Schema").required(""));
        }
        let warning = version.field("deprecationWarning");
        if warning.is_set() && !version.field("deprecated").is_true() {
            errors.push(warning.invalid("can only be set for deprecated versions"));
        }
    }
    if repeats {
        errors.push(versions.invalid("must contain unique version names"));
    }
    let stored = versions
        .elements()
        .filter(|version| version.field("storage").is_true());
    if stored.count() != 1 {
        errors.push(versions.invalid("must have exactly one version marked as storage version"));
    }
    check_part(spec, "subresources", errors, |part, place, _, errors| {
        check_scale(&part.field("scale"), &place.child("scale"), errors);
    });
    check_part(
        spec,
        "additionalPrinterColumns",
        errors,
        |part, place, _, errors| {
            for (position, column) in part.elements().enumerate() {
                check_column(&column, &place.index(position), errors);
            }
        },
    );
    check_part(
        spec,
        "selectableFields",
        errors,
        |part, place, version, errors| {
            let schema = version.field("schema");
            check_selectable(part, schema.field("openAPIV3Schema").value, &place, errors);
        },
    );
}

/// Checks a part of every version; one that all have alike is checked once, as the definition's.
fn check_part(
    spec: &Spot<'_>,
    name: &str,
    errors: &mut Errors,
    check: impl Fn(&Spot<'_>, FieldPath, &Spot<'_>, &mut Errors),
) {
    let versions = spec.field("versions");
    let mut parts = versions
        .elements()
        .map(|version| version.field(name).value.clone());
    let first = parts.next();
    let in_common = parts.all(|part| Some(part) == first);
    for version in versions.elements() {
        let part = version.field(name);
        if in_common {
            check(&part, spec.field(name).path(), &version, errors);
            return;
        }
        check(&part, part.path(), &version, errors);
    }
}

fn check_scale(scale: &Spot<'_>, place: &FieldPath, errors: &mut Errors) {
    if !scale.is_set() {
        return;
    }
    let rules: [(&str, &[&str], &str); 3] = [
        ("specReplicasPath", &[".spec."], ".spec"),
        ("statusReplicasPath", &[".status."], ".status"),
        (
            "labelSelectorPath",
            &[".spec.", ".status."],
            "either .spec or .status",
        ),
    ];
    for (name, below, shown) in rules {
        let path = scale.field(name);
        let wrong = |detail: String| FieldError::invalid(place.child(name), path.text(), detail);
        if path.is_empty() {
            if name != "labelSelectorPath" {
                errors.push(FieldError::required(place.child(name), ""));
            }
        } else if !is_simple_path(path.text()) {
            errors.push(wrong(
                "must be a simple json path starting with .".to_owned(),
            ));
        } else if !below.iter().any(|root| path.text().starts_with(root)) {
            errors.push(wrong(format!("should be a json path under {shown}")));
        }
    }
}

fn check_column(column: &Spot<'_>, place: &FieldPath, errors: &mut Errors) {
    if column.field("name").is_empty() {
        errors.push(FieldError::required(place.child("name"), ""));
    }
    for (name, known) in [("type", &COLUMN_TYPES[..]), ("format", &COLUMN_FORMATS[..])] {
        let field = column.field(name);
        if field.is_empty() {
            if name == "type" {
                let why = format!("must be one of {}", known.join(","));
                errors.push(FieldError::required(place.child(name), why));
            }
        } else if !known.contains(&field.text()) {
            let why = format!("must be one of {}", known.join(","));
            errors.push(FieldError::invalid(place.child(name), field.text(), why));
        }
    }
    let path = column.field("jsonPath");
    if path.is_empty() {
        errors.push(FieldError::required(place.child("JSONPath"), ""));
    } else if !path.text().starts_with('.') {
        let why = "must be a simple json path starting with .";
        errors.push(FieldError::invalid(
            place.child("JSONPath"),
            path.text(),
            why,
        ));
    }
}

/// Fields by name and nothing else: `.spec.replicas`.
fn is_simple_path(path: &str) -> bool {
    let Some(rest) = path.strip_prefix('.') else {
        return false;
    };
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '/'))
    };
    rest.split('.').all(is_name)
}

fn check_selectable(fields: &Spot<'_>, schema: &Value, place: &FieldPath, errors: &mut Errors) {
    if fields.len() > MOST_SELECTABLE {
        errors.push(FieldError {
            kind: FieldErrorKind::TooMany,
            path: place.clone(),
            value: Some(Box::new(Value::from(fields.len()))),
            detail: format!("must have at most {MOST_SELECTABLE} items"),
        });
    }
    let mut seen = BTreeSet::new();
    for (position, field) in fields.elements().enumerate() {
        let place = place.index(position).child("jsonPath");
        let path = field.field("jsonPath");
        let text = path.text();
        if text.is_empty() {
            errors.push(FieldError::required(place, ""));
            continue;
        }
        if let Err(why) = selectable_leaf(text, schema) {
            errors.push(FieldError::invalid(place, text, why));
            continue;
        }
        if !seen.insert(text.to_owned()) {
            errors.push(FieldError::duplicate(place, text));
        }
    }
}

/// What is wrong with a path to select by, given the schema of the version.
fn selectable_leaf(path: &str, schema: &Value) -> Result<(), String> {
    let invalid = |why: &str| Err(format!("is an invalid path: {why}"));
    let Some(rest) = path.strip_prefix('.') else {
        let first = path.split(['.', '[']).next().unwrap_or_default();
        return match first {
            "" => invalid("array notation is not allowed"),
            first => invalid(&format!("expected [ or . but got: {first}")),
        };
    };
    if rest.contains('[') {
        return invalid("array notation is not allowed");
    }
    let mut node = schema;
    for name in rest.split('.') {
        let inner = node.get("properties").and_then(|known| known.get(name));
        // Upstream: metadata is no part of the schema that is looked at.
        match inner.filter(|_| !rest.starts_with("metadata")) {
            Some(inner) => node = inner,
            None => return invalid("does not refer to a valid field"),
        }
    }
    let ty = node.get("type").and_then(Value::as_str).unwrap_or_default();
    if matches!(ty, "string" | "boolean" | "integer") {
        return Ok(());
    }
    Err(
        "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
            .to_owned(),
    )
}

fn check_conversion(conversion: &Spot<'_>, errors: &mut Errors) {
    let (strategy, webhook) = (conversion.field("strategy"), conversion.field("webhook"));
    let (config, versions) = (
        webhook.field("clientConfig"),
        webhook.field("conversionReviewVersions"),
    );
    // Upstream: both are told of where they were before they had a place of their own.
    let (config_place, versions_place) = (
        conversion.field("webhookClientConfig").path(),
        conversion.field("conversionReviewVersions").path(),
    );
    match strategy.text() {
        "Webhook" => {
            if config.is_set() {
                let mut found = Vec::new();
                client_config(&config, &mut found);
                errors.extend(found.into_iter().map(|mut error| {
                    let rest = error.path.as_str().strip_prefix(config.path().as_str());
                    let moved = format!("{config_place}{}", rest.unwrap_or_default());
                    error.path = FieldPath::from(moved.as_str());
                    error
                }));
            } else {
                let why = "required when strategy is set to Webhook";
                errors.push(FieldError::required(config_place, why));
            }
            if versions.is_empty() {
                errors.push(FieldError::required(versions_place, ""));
            } else if !versions
                .elements()
                .any(|version| REVIEW_VERSIONS.contains(&version.text()))
            {
                let why = format!(
                    "must include at least one of {}",
                    REVIEW_VERSIONS.join(", ")
                );
                errors.push(FieldError::invalid(
                    versions_place,
                    versions.value.clone(),
                    why,
                ));
            }
        }
        "None" if webhook.is_set() => {
            let why = "should not be set when strategy is not set to Webhook";
            if config.is_set() {
                errors.push(FieldError::forbidden(config_place, why));
            }
            if !versions.is_empty() {
                errors.push(FieldError::forbidden(versions_place, why));
            }
        }
        "None" | "" => {}
        _ => errors.push(strategy.not_supported(&["None", "Webhook"])),
    }
}
