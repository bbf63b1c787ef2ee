//! MultiClusterIngress: the rules of Kubernetes' Ingress.

use object::{
    Object,
    field::{FieldError, FieldPath},
    names,
};

use super::{
    AdmissionRules, Request, Verdict,
    address::{NOT_AN_IP, check_points_of_entry, is_ip},
    metadata,
    problems::{self, shown},
    verdict::{read, read_old, webhook_verdict},
};
use crate::{
    kubernetes::ingress::{
        HttpIngressPath, IngressBackend, IngressRule, IngressServiceBackend, IngressSpec,
        IngressTls, TypedLocalObjectReference, path_type,
    },
    networking::MultiClusterIngress,
    registry::Scope,
};

/// What a path must not contain: different servers read it differently.
const AMBIGUOUS: &[&str] = &["//", "/./", "/../", "%2f", "%2F"];
/// What a path must not end in, for the same reason.
const AMBIGUOUS_ENDS: &[&str] = &["/..", "/."];

const WILDCARD_RULE: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, \
     which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character \
     (e.g. '*.example.com', regex used for validation is \
     '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// The longest name of a port.
const PORT_NAME_LENGTH: usize = 15;

/// The rules of the kind.
pub(super) struct Rules;

impl AdmissionRules for Rules {
    fn validate(&self, _request: &Request<'_>, old: Option<&Object>, new: &Object) -> Verdict {
        let ingress: MultiClusterIngress = read(new)?;
        let old: Option<MultiClusterIngress> = read_old(old)?;
        let mut errors = Vec::new();
        if let Some(old) = &old {
            errors.extend(metadata::check_update(&old.metadata, &ingress.metadata));
        }
        errors.extend(metadata::check(
            &ingress.metadata,
            Scope::Namespaced,
            names::check_dns1123_subdomain,
        ));
        errors.extend(check_spec(&ingress.spec, &FieldPath::new("spec")));
        if old.is_some() {
            let points = ingress.status.load_balancer.ingress.iter();
            errors.extend(check_points_of_entry(
                points.map(|point| (&*point.ip, &*point.hostname)),
            ));
        }
        webhook_verdict("multiclusteringress.karmada.io", errors)
    }
}

fn check_spec(spec: &IngressSpec, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if spec.rules.is_empty() && spec.default_backend.is_none() {
        let detail = "one of defaultBackend and rules must be given";
        errors.push(FieldError::invalid(
            path.clone(),
            shown(&spec.rules),
            detail,
        ));
    }
    if let Some(backend) = &spec.default_backend {
        errors.extend(check_backend(backend, &path.child("defaultBackend")));
    }
    for (position, rule) in spec.rules.iter().enumerate() {
        errors.extend(check_rule(rule, &path.child("rules").index(position)));
    }
    for (position, tls) in spec.tls.iter().enumerate() {
        errors.extend(check_tls(tls, &path.child("tls").index(position)));
    }
    if let Some(class) = &spec.ingress_class_name {
        let path = path.child("ingressClassName");
        errors.extend(problems::each(
            &path,
            class,
            names::check_dns1123_subdomain(class),
        ));
    }
    errors
}

fn check_rule(rule: &IngressRule, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let host = rule.host.as_str();
    if !host.is_empty() {
        let path = path.child("host");
        if is_ip(host) {
            errors.push(FieldError::invalid(path.clone(), host, NOT_AN_IP));
        }
        errors.extend(problems::each(&path, host, host_problems(host)));
    }
    let Some(http) = &rule.http else {
        return errors;
    };
    let list = path.child("http").child("paths");
    if http.paths.is_empty() {
        errors.push(FieldError::required(list.clone(), ""));
    }
    for (position, http_path) in http.paths.iter().enumerate() {
        errors.extend(check_path(http_path, &list.index(position)));
    }
    errors
}

fn host_problems(host: &str) -> Vec<String> {
    if !host.contains('*') {
        return names::check_dns1123_subdomain(host);
    }
    let mut problems = Vec::new();
    if host.len() > names::SUBDOMAIN_LENGTH {
        problems.push(format!(
            "must be no more than {} characters",
            names::SUBDOMAIN_LENGTH
        ));
    }
    if !host
        .strip_prefix("*.")
        .is_some_and(names::is_dns1123_subdomain)
    {
        problems.push(WILDCARD_RULE.to_owned());
    }
    problems
}

fn check_path(http_path: &HttpIngressPath, path: &FieldPath) -> Vec<FieldError> {
    use path_type::{EXACT, IMPLEMENTATION_SPECIFIC, PREFIX};
    let mut errors = Vec::new();
    let text = http_path.path.as_str();
    let mut refuse =
        |detail: String| errors.push(FieldError::invalid(path.child("path"), text, detail));
    match http_path.path_type.as_str() {
        "" => {
            return vec![FieldError::required(
                path.child("pathType"),
                "the type of the path must be given",
            )];
        }
        EXACT | PREFIX => {
            if !text.starts_with('/') {
                refuse("must be an absolute path".to_owned());
            }
            for bad in AMBIGUOUS.iter().filter(|bad| text.contains(**bad)) {
                refuse(format!("must not contain '{bad}'"));
            }
            for bad in AMBIGUOUS_ENDS.iter().filter(|bad| text.ends_with(**bad)) {
                refuse(format!("cannot end with '{bad}'"));
            }
        }
        IMPLEMENTATION_SPECIFIC => {
            if !text.is_empty() && !text.starts_with('/') {
                refuse("must be an absolute path".to_owned());
            }
        }
        other => {
            let supported = [EXACT, IMPLEMENTATION_SPECIFIC, PREFIX];
            errors.push(FieldError::not_supported(
                path.child("pathType"),
                other,
                &supported,
            ));
        }
    }
    errors.extend(check_backend(&http_path.backend, &path.child("backend")));
    errors
}

fn check_backend(backend: &IngressBackend, path: &FieldPath) -> Vec<FieldError> {
    match (&backend.service, &backend.resource) {
        (Some(_), Some(_)) => {
            vec![FieldError::invalid(
                path.clone(),
                "",
                "resource and service exclude each other",
            )]
        }
        (None, None) => {
            vec![FieldError::invalid(
                path.clone(),
                "",
                "one of resource and service must be given",
            )]
        }
        (None, Some(resource)) => check_resource(resource, &path.child("resource")),
        (Some(service), None) => check_service(service, path),
    }
}

fn check_service(service: &IngressServiceBackend, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let service_path = path.child("service");
    let name = service_path.child("name");
    if service.name.is_empty() {
        errors.push(FieldError::required(name, ""));
    } else {
        errors.extend(problems::each(
            &name,
            &service.name,
            names::check_dns1035_label(&service.name),
        ));
    }
    let port = service_path.child("port");
    match (service.port.name.as_str(), service.port.number) {
        ("", 0) => errors.push(FieldError::required(
            path.clone(),
            "name or number of the port must be given",
        )),
        ("", number) => errors.extend(problems::port(port.child("number"), number)),
        (name, 0) => errors.extend(problems::each(
            &port.child("name"),
            name,
            port_name_problems(name),
        )),
        _ => {
            let detail = "name and number of the port exclude each other";
            errors.push(FieldError::invalid(path.clone(), "", detail));
        }
    }
    errors
}

fn check_resource(resource: &TypedLocalObjectReference, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(group) = &resource.api_group {
        let path = path.child("apiGroup");
        errors.extend(problems::each(
            &path,
            group,
            names::check_dns1123_subdomain(group),
        ));
    }
    for (field, value) in [("kind", &resource.kind), ("name", &resource.name)] {
        let path = path.child(field);
        if value.is_empty() {
            errors.push(FieldError::required(path, format!("{field} is required")));
            continue;
        }
        errors.extend(problems::each(
            &path,
            value,
            names::check_path_segment(value),
        ));
    }
    errors
}

fn check_tls(tls: &IngressTls, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (position, host) in tls.hosts.iter().enumerate() {
        let path = path.child("hosts").index(position);
        errors.extend(problems::each(&path, host, host_problems(host)));
    }
    if !tls.secret_name.is_empty() {
        let path = path.child("secretName");
        let problems = names::check_dns1123_subdomain(&tls.secret_name);
        errors.extend(problems::each(&path, &tls.secret_name, problems));
    }
    errors
}

fn port_name_problems(name: &str) -> Vec<String> {
    let is_letter = |byte: u8| byte.is_ascii_lowercase();
    let is_allowed = |byte: u8| is_letter(byte) || byte.is_ascii_digit() || byte == b'-';
    let checks = [
        (
            name.len() > PORT_NAME_LENGTH,
            "must be no more than 15 characters",
        ),
        (
            !name.bytes().all(is_allowed),
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        ),
        (
            !name.bytes().any(is_letter),
            "must contain at least one letter (a-z)",
        ),
        (name.contains("--"), "must not contain consecutive hyphens"),
        (
            name.starts_with('-') || name.ends_with('-'),
            "must not begin or end with a hyphen",
        ),
    ];
    checks
        .into_iter()
        .filter(|(is_wrong, _)| *is_wrong)
        .map(|(_, problem)| problem.to_owned())
        .collect()
}
