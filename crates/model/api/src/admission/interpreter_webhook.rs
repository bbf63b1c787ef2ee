//! ResourceInterpreterWebhookConfiguration: services that explain kinds.

use object::{
    Object,
    field::{FieldError, FieldPath},
    names,
};

use super::{
    AdmissionRules, Request, Verdict,
    problems::{self, joined, repeats, shown},
    url::Url,
    verdict::{read, webhook_verdict},
};
use crate::config::{
    ResourceInterpreterWebhook, ResourceInterpreterWebhookConfiguration, RuleWithOperations,
    ServiceReference, WebhookClientConfig, interpreter_operation as operation,
};

/// What an interpreter can be asked, by name. `Prune` is declared but not among them.
const OPERATIONS: &[&str] = &[
    operation::ALL,
    operation::AGGREGATE_STATUS,
    operation::INTERPRET_COMPONENT,
    operation::INTERPRET_DEPENDENCY,
    operation::INTERPRET_HEALTH,
    operation::INTERPRET_REPLICA,
    operation::INTERPRET_STATUS,
    operation::RETAIN,
    operation::REVISE_REPLICA,
];

/// The version of the question that is asked.
const CONTEXT_VERSION: &str = "v1alpha1";

/// The port of a service that says none.
const DEFAULT_PORT: i32 = 443;

const URL_FORM: &str = "; desired format: https://host[/path]";

/// The rules of the kind.
pub(super) struct Rules;

impl AdmissionRules for Rules {
    fn validate(&self, _request: &Request<'_>, _old: Option<&Object>, new: &Object) -> Verdict {
        let configuration: ResourceInterpreterWebhookConfiguration = read(new)?;
        let webhooks = &configuration.webhooks;
        let mut errors = Vec::new();
        let repeated = repeats(webhooks.iter().map(|webhook| &webhook.name));
        for (position, (webhook, is_repeated)) in webhooks.iter().zip(repeated).enumerate() {
            let path = FieldPath::new("webhooks").index(position);
            errors.extend(check_webhook(webhook, &path));
            if is_repeated {
                errors.push(FieldError::duplicate(
                    path.child("name"),
                    webhook.name.as_str(),
                ));
            }
        }
        webhook_verdict("config.karmada.io", errors)
    }
}

fn check_webhook(webhook: &ResourceInterpreterWebhook, path: &FieldPath) -> Vec<FieldError> {
    let mut errors: Vec<FieldError> = check_name(&webhook.name, path.child("name"))
        .into_iter()
        .collect();
    for (position, rule) in webhook.rules.iter().enumerate() {
        errors.extend(check_rule(rule, &path.child("rules").index(position)));
    }
    if let Some(seconds) = webhook
        .timeout_seconds
        .filter(|seconds| !(1..=30).contains(seconds))
    {
        let detail = "must be between 1 and 30";
        errors.push(FieldError::invalid(
            path.child("timeoutSeconds"),
            seconds,
            detail,
        ));
    }
    errors.extend(check_client(
        &webhook.client_config,
        &path.child("clientConfig"),
    ));
    let versions = &webhook.interpreter_context_versions;
    errors.extend(check_versions(
        versions,
        &path.child("interpreterContextVersions"),
    ));
    errors
}

/// A domain of two segments or more; a dot at the end is forgiven.
fn check_name(name: &str, path: FieldPath) -> Option<FieldError> {
    if name.is_empty() {
        return Some(FieldError::required(path, ""));
    }
    let domain = name.strip_suffix('.').unwrap_or(name);
    let problems = names::check_dns1123_subdomain(domain);
    if !problems.is_empty() {
        return joined(path, domain, &problems, ",");
    }
    if !domain.contains('.') {
        let detail = "must be a domain of at least two segments";
        return Some(FieldError::invalid(path, domain, detail));
    }
    domain
        .split('.')
        .find_map(|label| joined(path.clone(), label, &names::check_dns1123_label(label), ","))
}

fn check_rule(rule: &RuleWithOperations, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = check_list(&rule.operations, "operations", "operations", path);
    for (position, operation) in rule.operations.iter().enumerate() {
        if !OPERATIONS.contains(&operation.as_str()) {
            let path = path.child("operations").index(position);
            errors.push(FieldError::not_supported(
                path,
                operation.as_str(),
                OPERATIONS,
            ));
        }
    }
    // The empty group is the core group; versions and kinds have no such meaning.
    errors.extend(check_list(
        &rule.api_groups,
        "apiGroups",
        "API groups",
        path,
    ));
    for (list, field, noun) in [
        (&rule.api_versions, "apiVersions", "API versions"),
        (&rule.kinds, "kinds", "kinds"),
    ] {
        errors.extend(check_list(list, field, noun, path));
        for (position, _) in list.iter().enumerate().filter(|(_, item)| item.is_empty()) {
            errors.push(FieldError::required(path.child(field).index(position), ""));
        }
    }
    errors
}

fn check_list(list: &[String], field: &str, noun: &str, path: &FieldPath) -> Vec<FieldError> {
    let path = path.child(field);
    if list.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    if list.len() > 1 && list.iter().any(|item| item == "*") {
        let detail = format!("'*' means all {noun} and must stand alone");
        return vec![FieldError::invalid(path, shown(&list), detail)];
    }
    Vec::new()
}

fn check_client(client: &WebhookClientConfig, path: &FieldPath) -> Vec<FieldError> {
    match (&client.url, &client.service) {
        (Some(url), None) => check_url(url, &path.child("url")),
        (None, Some(service)) => check_service(service, &path.child("service")),
        _ => {
            vec![FieldError::required(
                path.clone(),
                "exactly one of url and service must be given",
            )]
        }
    }
}

fn check_url(text: &str, path: &FieldPath) -> Vec<FieldError> {
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(problem) => {
            let detail = format!("must be a valid URL: {problem}{URL_FORM}");
            return vec![FieldError::required(path.clone(), detail)];
        }
    };
    let mut errors = Vec::new();
    if url.scheme != "https" {
        let detail = format!("the scheme must be https{URL_FORM}");
        errors.push(FieldError::invalid(
            path.clone(),
            url.scheme.as_str(),
            detail,
        ));
    }
    if url.host.is_empty() {
        let detail = format!("the URL must have a host{URL_FORM}");
        errors.push(FieldError::invalid(path.clone(), "", detail));
    }
    errors.extend(check_plain(&url, path));
    errors
}

/// Checks that a URL has neither user, fragment nor query.
pub(super) fn check_plain(url: &Url, path: &FieldPath) -> Vec<FieldError> {
    let parts = [
        (url.user.as_deref(), "the URL must not have a user"),
        (
            Some(&*url.fragment).filter(|text| !text.is_empty()),
            "the URL must not have a fragment",
        ),
        (
            Some(&*url.query).filter(|text| !text.is_empty()),
            "the URL must not have a query",
        ),
    ];
    let present = parts
        .into_iter()
        .filter_map(|(part, detail)| Some((part?, detail)));
    present
        .map(|(part, detail)| FieldError::invalid(path.clone(), part, detail))
        .collect()
}

fn check_service(service: &ServiceReference, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (field, value) in [("name", &service.name), ("namespace", &service.namespace)] {
        if value.is_empty() {
            errors.push(FieldError::required(path.child(field), ""));
        }
    }
    let port = service.port.unwrap_or(DEFAULT_PORT);
    errors.extend(problems::port(path.child("port"), port));
    if let Some(text) = &service.path {
        errors.extend(check_path(text, &path.child("path")));
    }
    errors
}

fn check_path(text: &str, path: &FieldPath) -> Vec<FieldError> {
    if text.is_empty() || text == "/" {
        return Vec::new();
    }
    let Some(segments) = text.strip_prefix('/') else {
        return vec![FieldError::invalid(
            path.clone(),
            text,
            "must start with a '/'",
        )];
    };
    let segments = segments.strip_suffix('/').unwrap_or(segments);
    let mut errors = Vec::new();
    for (position, segment) in segments.split('/').enumerate() {
        let problems = if segment.is_empty() {
            vec![format!("segment[{position}] may not be empty")]
        } else {
            let problems = names::check_dns1123_subdomain(segment).into_iter();
            problems
                .map(|problem| format!("segment[{position}]: {problem}"))
                .collect()
        };
        errors.extend(problems::each(path, text, problems));
    }
    errors
}

fn check_versions(versions: &[String], path: &FieldPath) -> Vec<FieldError> {
    if versions.is_empty() {
        let detail = format!("{CONTEXT_VERSION} must be given");
        return vec![FieldError::required(path.clone(), detail)];
    }
    let mut errors = Vec::new();
    let repeated = repeats(versions.iter());
    for (position, (version, is_repeated)) in versions.iter().zip(repeated).enumerate() {
        let path = path.index(position);
        if is_repeated {
            errors.push(FieldError::invalid(
                path,
                version.as_str(),
                "is there twice",
            ));
            continue;
        }
        errors.extend(problems::each(
            &path,
            version,
            names::check_dns1035_label(version),
        ));
    }
    if !versions.iter().any(|version| version == CONTEXT_VERSION) {
        let detail = format!("must include {CONTEXT_VERSION}");
        errors.push(FieldError::invalid(path.clone(), shown(&versions), detail));
    }
    errors
}
