//! Rules about ingresses, network policies and service networks.

use std::net::IpAddr;

use object::{field::FieldError, names};

use super::{
    spot::{Errors, Spot},
    words::{cidr, network, port, port_name, port_number, wildcard_subdomain},
};

/// Parts of a path that would be resolved away, and ends that would.
const PATH_PARTS: [&str; 5] = ["//", "/./", "/../", "%2f", "%2F"];
const PATH_ENDS: [&str; 2] = ["/..", "/."];

pub(super) fn ingress(spec: &Spot<'_>, errors: &mut Errors) {
    let rules = spec.field("rules");
    if rules.is_empty() && !spec.field("defaultBackend").is_set() {
        // Upstream: the value shown is the list of rules, which is not there.
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.push(FieldError::invalid(
            spec.path(),
            rules.value.clone(),
            detail,
        ));
    }
    let class = spec.field("ingressClassName");
    if class.is_set() {
        class.complain(names::check_dns1123_subdomain(class.text()), errors);
    }
}

/// Routes for one host.
pub(super) fn ingress_rule(rule: &Spot<'_>, errors: &mut Errors) {
    host_name(&rule.field("host"), errors);
    let http = rule.field("http");
    let paths = http.field("paths");
    if http.is_set() && paths.is_empty() {
        errors.push(paths.required(""));
    }
}

/// One route.
pub(super) fn ingress_path(route: &Spot<'_>, errors: &mut Errors) {
    let (kind, path) = (route.field("pathType"), route.field("path"));
    if kind.is_empty() {
        errors.push(kind.required("pathType must be specified"));
        return;
    }
    let text = path.text();
    let mut wrong = |detail: String| errors.push(FieldError::invalid(path.path(), text, detail));
    match kind.text() {
        "Exact" | "Prefix" => {
            if !text.starts_with('/') {
                wrong("must be an absolute path".to_owned());
            }
            for part in PATH_PARTS.iter().filter(|part| text.contains(*part)) {
                wrong(format!("must not contain '{part}'"));
            }
            for end in PATH_ENDS.iter().filter(|end| text.ends_with(*end)) {
                wrong(format!("cannot end with '{end}'"));
            }
        }
        "ImplementationSpecific" if !text.is_empty() && !text.starts_with('/') => {
            wrong("must be an absolute path".to_owned());
        }
        _ => {}
    }
}

/// Where traffic goes.
pub(super) fn backend(backend: &Spot<'_>, errors: &mut Errors) {
    let service = backend.field("service");
    let wrong = |detail: &str| FieldError::invalid(backend.path(), "", detail);
    match (service.is_set(), backend.field("resource").is_set()) {
        (true, true) => errors.push(wrong("cannot set both resource and service backends")),
        (false, false) => errors.push(wrong("resource or service backend is required")),
        (false, true) => {}
        (true, false) => {
            let service_name = service.field("name");
            if !service_name.is_empty() {
                service_name.complain(names::check_dns1035_label(service_name.text()), errors);
            }
            let port = service.field("port");
            let (name, number) = (port.field("name"), port.field("number"));
            let numbered = number.number().is_some_and(|number| number != 0);
            match (!name.is_empty(), numbered) {
                (true, true) => errors.push(wrong("cannot set both port name & port number")),
                (true, false) => name.complain(port_name(name.text()), errors),
                (false, true) => port_number(&number, errors),
                (false, false) => errors.push(backend.required("port name or number is required")),
            }
        }
    }
}

/// The certificate for some hosts.
pub(super) fn certificate(entry: &Spot<'_>, errors: &mut Errors) {
    entry
        .field("hosts")
        .elements()
        .for_each(|host| host_name(&host, errors));
    let secret = entry.field("secretName");
    if !secret.is_empty() {
        secret.complain(names::check_dns1123_subdomain(secret.text()), errors);
    }
}

pub(super) fn ingress_class(spec: &Spot<'_>, errors: &mut Errors) {
    let controller = spec.field("controller");
    if controller.is_empty() {
        errors.push(controller.required(""));
    } else if controller.text().len() > 250 {
        errors.push(FieldError::too_long(controller.path(), 250));
    }
    let parameters = spec.field("parameters");
    let namespace = parameters.field("namespace");
    match parameters.field("scope").text() {
        "Namespace" if namespace.is_empty() => {
            errors.push(namespace.required("`parameters.scope` is set to 'Namespace'"));
        }
        "Cluster" if namespace.is_set() => {
            errors.push(namespace.forbidden("`parameters.scope` is set to 'Cluster'"));
        }
        _ => {}
    }
}

pub(super) fn policy(spec: &Spot<'_>, errors: &mut Errors) {
    let types = spec.field("policyTypes");
    if types.len() > 2 {
        errors.push(types.invalid("may not specify more than two policyTypes"));
    }
}

/// The other end of traffic.
pub(super) fn peer(peer: &Spot<'_>, errors: &mut Errors) {
    let set = |field: &str| peer.field(field).is_set();
    if !set("ipBlock") && !set("podSelector") && !set("namespaceSelector") {
        errors.push(peer.required("must specify a peer"));
    } else if set("ipBlock") && (set("podSelector") || set("namespaceSelector")) {
        errors.push(peer.forbidden("may not specify both ipBlock and another peer"));
    }
}

/// A port or range of ports.
pub(super) fn policy_port(entry: &Spot<'_>, errors: &mut Errors) {
    let (first, last) = (entry.field("port"), entry.field("endPort"));
    if first.is_set() {
        port(&first, errors);
    }
    let Some(end) = last.number() else {
        return;
    };
    if !first.is_set() {
        errors.push(last.invalid("may not be specified when `port` is not specified"));
    } else if let Some(start) = first.number() {
        if end < start {
            errors.push(FieldError::invalid(
                last.path(),
                start,
                "must be greater than or equal to `port`",
            ));
        }
        port_number(&last, errors);
    } else {
        errors.push(last.invalid("may not be specified when `port` is non-numeric"));
    }
}

/// A network, with exceptions inside it.
pub(super) fn block(block: &Spot<'_>, errors: &mut Errors) {
    let whole = block.field("cidr");
    if whole.is_empty() {
        return; // Reported as a required text.
    }
    cidr(&whole, errors);
    let Some((address, bits)) = network(whole.text()) else {
        return;
    };
    for except in block.field("except").elements() {
        cidr(&except, errors);
        let Some((inner, inner_bits)) = network(except.text()) else {
            continue;
        };
        if inner_bits <= bits || !shares_prefix(address, inner, bits) {
            errors.push(except.invalid("must be a strict subset of `cidr`"));
        }
    }
}

pub(super) fn service_network(spec: &Spot<'_>, errors: &mut Errors) {
    let networks = spec.field("cidrs");
    match networks.len() {
        0 => errors.push(networks.required("at least one CIDR required")),
        1 | 2 => networks
            .elements()
            .for_each(|network| cidr(&network, errors)),
        _ => errors.push(FieldError::invalid(
            networks.path(),
            spec.value.clone(),
            "may only hold up to 2 values",
        )),
    }
}

fn shares_prefix(one: IpAddr, other: IpAddr, bits: u8) -> bool {
    let agree = |difference: u128, width: u8| {
        bits == 0 || difference.checked_shr(u32::from(width.saturating_sub(bits))) == Some(0)
    };
    match (one, other) {
        (IpAddr::V4(one), IpAddr::V4(other)) => {
            agree(u128::from(one.to_bits() ^ other.to_bits()), 32)
        }
        (IpAddr::V6(one), IpAddr::V6(other)) => agree(one.to_bits() ^ other.to_bits(), 128),
        _ => false,
    }
}

fn host_name(host: &Spot<'_>, errors: &mut Errors) {
    if host.is_empty() {
        return;
    }
    if host.text().parse::<IpAddr>().is_ok() {
        errors.push(host.invalid("must be a DNS name, not an IP address"));
    }
    if host.text().contains('*') {
        host.complain(wildcard_subdomain(host.text()), errors);
    } else {
        host.complain(names::check_dns1123_subdomain(host.text()), errors);
    }
}
