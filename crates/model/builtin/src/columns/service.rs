//! Cells of services, endpoints and ingresses: addresses and ports.

use std::collections::BTreeSet;

use object::{Value, time::Time};

use super::{Cell, first_few, or};
use crate::path;

/// How many endpoints, ports or hosts a cell names.
const NAMED: usize = 3;

/// External-IP and Port(s) of a service.
pub(super) fn service(service: &Value, _now: Time) -> Vec<Cell> {
    let ports: Vec<String> = path::list(service, "spec.ports")
        .iter()
        .map(service_port)
        .collect();
    vec![
        external_address(service).into(),
        or(&ports.join(","), "<none>").into(),
    ]
}

/// Endpoints of an `Endpoints` object.
pub(super) fn endpoints(endpoints: &Value, _now: Time) -> Vec<Cell> {
    let subsets = path::list(endpoints, "subsets");
    if subsets.is_empty() {
        return vec!["<none>".into()];
    }
    let mut texts = Vec::new();
    for subset in subsets {
        let addresses = path::list(subset, "addresses")
            .iter()
            .map(|address| path::text(address, "ip"));
        let ports = path::list(subset, "ports");
        if ports.is_empty() {
            texts.extend(addresses.map(str::to_owned));
            continue;
        }
        for port in ports {
            let number = path::number(port, "port");
            texts.extend(
                addresses
                    .clone()
                    .map(|address| host_and_port(address, number)),
            );
        }
    }
    vec![first_few(&texts, NAMED).into()]
}

/// Ports and Endpoints of an endpoint slice.
pub(super) fn endpoint_slice(slice: &Value, _now: Time) -> Vec<Cell> {
    let ports: Vec<String> = path::list(slice, "ports")
        .iter()
        .map(
            |port| match path::at(port, "port").and_then(Value::as_i64) {
                Some(number) => number.to_string(),
                None => path::at(port, "name")
                    .and_then(Value::as_str)
                    .unwrap_or("*")
                    .to_owned(),
            },
        )
        .collect();
    let endpoints = path::list(slice, "endpoints");
    let addresses: Vec<&str> = endpoints
        .iter()
        .flat_map(|endpoint| path::list(endpoint, "addresses"))
        .filter_map(Value::as_str)
        .collect();
    vec![
        or(&first_few(&ports, NAMED), "<unset>").into(),
        or(&first_few(&addresses, NAMED), "<unset>").into(),
    ]
}

/// Hosts, Address and Ports of an ingress.
pub(super) fn ingress(ingress: &Value, _now: Time) -> Vec<Cell> {
    let ports = if path::list(ingress, "spec.tls").is_empty() {
        "80"
    } else {
        "80, 443"
    };
    vec![
        hosts(path::list(ingress, "spec.rules")).into(),
        load_balancer(ingress).into(),
        ports.into(),
    ]
}

/// Parameters of an ingress class.
pub(super) fn ingress_class(class: &Value, _now: Time) -> Vec<Cell> {
    let Some(parameters) = path::at(class, "spec.parameters").filter(|value| !value.is_null())
    else {
        return vec!["<none>".into()];
    };
    let (kind, name) = (
        path::text(parameters, "kind"),
        path::text(parameters, "name"),
    );
    let text = match path::at(parameters, "apiGroup").and_then(Value::as_str) {
        Some(group) => format!("{kind}.{group}/{name}"),
        None => format!("{kind}/{name}"),
    };
    vec![text.into()]
}

/// The parent of an address.
pub(super) fn ip_address(address: &Value, _now: Time) -> Vec<Cell> {
    let Some(parent) = path::at(address, "spec.parentRef").filter(|value| !value.is_null()) else {
        return vec!["<none>".into()];
    };
    let mut text = path::text(parent, "resource").to_lowercase();
    let group = path::text(parent, "group").to_lowercase();
    if !group.is_empty() {
        text = format!("{text}.{group}");
    }
    let namespace = path::text(parent, "namespace");
    if !namespace.is_empty() {
        text = format!("{text}/{namespace}");
    }
    vec![format!("{text}/{}", path::text(parent, "name")).into()]
}

fn external_address(service: &Value) -> String {
    let external: Vec<&str> = path::list(service, "spec.externalIPs")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    match path::text(service, "spec.type") {
        "ClusterIP" | "NodePort" => or(&external.join(","), "<none>").to_owned(),
        "LoadBalancer" => {
            let balancer = load_balancer(service);
            let all = [balancer.as_str()]
                .into_iter()
                .filter(|text| !text.is_empty())
                .chain(external);
            or(&all.collect::<Vec<_>>().join(","), "<pending>").to_owned()
        }
        "ExternalName" => path::text(service, "spec.externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

/// The entry points of a load balancer, sorted.
fn load_balancer(object: &Value) -> String {
    let entries = path::list(object, "status.loadBalancer.ingress").iter();
    let names: BTreeSet<&str> = entries
        .map(|entry| or(path::text(entry, "ip"), path::text(entry, "hostname")))
        .filter(|name| !name.is_empty())
        .collect();
    names.into_iter().collect::<Vec<_>>().join(",")
}

fn service_port(port: &Value) -> String {
    let (number, protocol) = (path::number(port, "port"), path::text(port, "protocol"));
    match path::number(port, "nodePort") {
        node_port if node_port > 0 => format!("{number}:{node_port}/{protocol}"),
        _ => format!("{number}/{protocol}"),
    }
}

fn hosts(rules: &[Value]) -> String {
    let named: Vec<&str> = rules
        .iter()
        .map(|rule| path::text(rule, "host"))
        .filter(|host| !host.is_empty())
        .collect();
    let shown = named
        .iter()
        .take(NAMED)
        .copied()
        .collect::<Vec<_>>()
        .join(",");
    // Upstream: the rest counts rules, not hosts, and only rules behind the last host that is named.
    let last = rules
        .iter()
        .enumerate()
        .filter(|(_, rule)| !path::text(rule, "host").is_empty())
        .nth(NAMED - 1);
    match last {
        Some((position, _)) if position + 1 < rules.len() => {
            format!("{shown} + {} more...", rules.len().saturating_sub(NAMED))
        }
        _ => or(&shown, "*").to_owned(),
    }
}

/// `address:port`, with brackets around an IPv6 address.
fn host_and_port(address: &str, port: i64) -> String {
    if address.contains(':') {
        format!("[{address}]:{port}")
    } else {
        format!("{address}:{port}")
    }
}
