//! Rules about services and endpoints.

use std::collections::BTreeSet;
use std::net::IpAddr;

use object::{field::FieldError, names};

use super::{
    addresses, metadata,
    spot::{Errors, Spot},
    words::{self, cidr, in_range, ip_address, port_number},
};

/// The longest a client is remembered: one day.
const AFFINITY_SECONDS: i64 = 24 * 60 * 60;

/// Most endpoints and ports of a slice, and addresses of an endpoint.
const ENDPOINTS: usize = 1000;
const SLICE_PORTS: usize = 20_000;
const ADDRESSES: usize = 100;

pub(super) fn service(service: &Spot<'_>, errors: &mut Errors) {
    let spec = service.field("spec");
    let ty = spec.field("type").text();
    let cluster_ip = spec.field("clusterIP").text();
    let ports = spec.field("ports");
    if ports.is_empty() && cluster_ip != "None" && ty != "ExternalName" {
        errors.push(ports.required(""));
    }
    match ty {
        "LoadBalancer" | "NodePort" if cluster_ip == "None" => {
            let path = spec.field("clusterIPs").path().index(0);
            let detail = format!("may not be set to 'None' for {ty} services");
            errors.push(FieldError::invalid(path, "None", detail));
        }
        "ExternalName" => external_name(&spec, errors),
        _ => {}
    }
    if ty != "ExternalName" {
        addresses::check(&spec, errors);
    }
    unique_ports(&ports, ty, errors);
    affinity(&spec, errors);
    let selector = spec.field("selector");
    metadata::labels(&selector, &selector.path(), errors);
    spec.field("externalIPs")
        .elements()
        .for_each(|address| ip_address(&address, errors));
    only_for_load_balancers(&spec, ty, errors);
    traffic_policies(&spec, ty, errors);
}

/// A port of a service.
pub(super) fn port(port: &Spot<'_>, errors: &mut Errors) {
    let name = port.field("name");
    if !name.is_empty() {
        name.complain(names::check_dns1123_label(name.text()), errors);
    }
    in_range(&port.field("port"), 1, 65535, errors);
    words::port(&port.field("targetPort"), errors);
    let application = port.field("appProtocol");
    if application.is_set() {
        application.complain(names::check_qualified_name(application.text()), errors);
    }
}

/// Addresses that share ports.
pub(super) fn subset(subset: &Spot<'_>, errors: &mut Errors) {
    if subset.field("addresses").is_empty() && subset.field("notReadyAddresses").is_empty() {
        errors.push(subset.required("must specify `addresses` or `notReadyAddresses`"));
    }
    for list in ["addresses", "notReadyAddresses"] {
        for address in subset.field(list).elements() {
            let address = address.field("ip");
            if !address.is_empty() {
                ip_address(&address, errors);
                reachable(&address, errors);
            }
        }
    }
    let ports = subset.field("ports");
    for port in ports.elements() {
        let name = port.field("name");
        if name.is_empty() && ports.len() > 1 {
            errors.push(name.required(""));
        }
        if !name.is_empty() {
            name.complain(names::check_dns1123_label(name.text()), errors);
        }
        port_number(&port.field("port"), errors);
    }
}

/// An address that traffic may be sent to: not one that means the sender's own machine or network.
fn reachable(spot: &Spot<'_>, errors: &mut Errors) {
    let Ok(address) = spot.text().parse::<IpAddr>() else {
        return;
    };
    // An IPv4 address may be written as one of IPv6.
    let address = address.to_canonical();
    let (is_link_local, is_multicast) = match address {
        IpAddr::V4(v4) => (v4.is_link_local(), matches!(v4.octets(), [224, 0, 0, _])),
        IpAddr::V6(v6) => {
            let is_multicast = v6.segments()[0] & 0xff0f == 0xff02;
            (v6.is_unicast_link_local(), is_multicast)
        }
    };
    if address.is_unspecified() {
        errors.push(spot.invalid(format!("may not be unspecified ({})", spot.text())));
    }
    if address.is_loopback() {
        errors.push(spot.invalid("may not be in the loopback range (127.0.0.0/8, ::1/128)"));
    }
    if is_link_local {
        errors.push(spot.invalid("may not be in the link-local range (169.254.0.0/16, fe80::/10)"));
    }
    if is_multicast {
        errors.push(
            spot.invalid("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
        );
    }
}

/// A part of the addresses behind a service.
pub(super) fn endpoint_slice(slice: &Spot<'_>, errors: &mut Errors) {
    let too_many = |spot: &Spot<'_>, most: usize| FieldError {
        kind: object::field::FieldErrorKind::TooMany,
        path: spot.path(),
        value: Some(Box::new(spot.len().into())),
        detail: format!("must have at most {most} items"),
    };
    let (endpoints, ports) = (slice.field("endpoints"), slice.field("ports"));
    if endpoints.len() > ENDPOINTS {
        errors.push(too_many(&endpoints, ENDPOINTS));
        return;
    }
    if ports.len() > SLICE_PORTS {
        errors.push(too_many(&ports, SLICE_PORTS));
        return;
    }
    let ty = slice.field("addressType").text();
    for endpoint in endpoints.elements() {
        let addresses = endpoint.field("addresses");
        if addresses.is_empty() {
            errors.push(addresses.required("must contain at least 1 address"));
        } else if addresses.len() > ADDRESSES {
            errors.push(too_many(&addresses, ADDRESSES));
        }
        for address in addresses.elements() {
            match ty {
                "FQDN" => address.complain(names::check_dns1123_subdomain(address.text()), errors),
                "IPv4" if address.text().parse::<std::net::Ipv4Addr>().is_err() => {
                    errors.push(address.invalid("must be an IPv4 address"));
                }
                "IPv6" if address.text().parse::<std::net::Ipv6Addr>().is_err() => {
                    errors.push(address.invalid("must be an IPv6 address"));
                }
                "IPv4" | "IPv6" => reachable(&address, errors),
                _ => {}
            }
        }
    }
    let mut seen = BTreeSet::new();
    for port in ports.elements() {
        let name = port.field("name");
        if !name.is_empty() {
            name.complain(names::check_dns1123_label(name.text()), errors);
        }
        if !seen.insert(name.text().to_owned()) {
            errors.push(name.duplicate());
        }
    }
}

fn external_name(spec: &Spot<'_>, errors: &mut Errors) {
    for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        let field = spec.field(field);
        if !field.is_empty() {
            errors.push(field.forbidden("may not be set for ExternalName services"));
        }
    }
    let name = spec.field("externalName");
    // A full domain name may end in a dot.
    match name.text().strip_suffix('.').unwrap_or(name.text()) {
        "" => errors.push(name.required("")),
        text => name.complain(names::check_dns1123_subdomain(text), errors),
    }
}

fn unique_ports(ports: &Spot<'_>, ty: &str, errors: &mut Errors) {
    let (mut named, mut numbered, mut on_nodes) =
        (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for port in ports.elements() {
        let name = port.field("name");
        if name.is_empty() {
            if ports.len() > 1 {
                errors.push(name.required(""));
            }
        } else if !named.insert(name.text().to_owned()) {
            errors.push(name.duplicate());
        }
        let (protocol, number) = (port.field("protocol"), port.field("port"));
        if !numbered.insert((protocol.text().to_owned(), number.number())) {
            let both = serde_json::json!({"port": number.value, "protocol": protocol.value});
            errors.push(FieldError::duplicate(port.path(), both));
        }
        let node_port = port.field("nodePort");
        let Some(on_node) = node_port.number().filter(|number| *number != 0) else {
            continue;
        };
        if ty == "ClusterIP" {
            errors.push(node_port.forbidden("may not be used when `type` is 'ClusterIP'"));
        } else if !on_nodes.insert((protocol.text().to_owned(), on_node)) {
            errors.push(node_port.duplicate());
        }
        port_number(&node_port, errors);
    }
}

fn affinity(spec: &Spot<'_>, errors: &mut Errors) {
    let config = spec.field("sessionAffinityConfig");
    let client = config.field("clientIP");
    let seconds = client.field("timeoutSeconds");
    match spec.field("sessionAffinity").text() {
        "None" if config.is_set() => {
            errors.push(config.forbidden("must not be set when session affinity is None"));
        }
        "ClientIP"
            if !seconds
                .number()
                .is_some_and(|seconds| (1..=AFFINITY_SECONDS).contains(&seconds)) =>
        {
            errors.push(seconds.invalid(format!(
                "must be greater than 0 and less than {AFFINITY_SECONDS}"
            )));
        }
        _ => {}
    }
}

fn only_for_load_balancers(spec: &Spot<'_>, ty: &str, errors: &mut Errors) {
    let ranges = spec.field("loadBalancerSourceRanges");
    if ranges.is_empty() {
        // Nothing to say about networks.
    } else if ty == "LoadBalancer" {
        ranges.elements().for_each(|range| cidr(&range, errors));
    } else {
        errors.push(ranges.forbidden("may only be used when `type` is 'LoadBalancer'"));
    }
    for field in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
        let field = spec.field(field);
        if field.is_set() && ty != "LoadBalancer" {
            errors.push(field.forbidden("may only be used when `type` is 'LoadBalancer'"));
        }
    }
}

fn traffic_policies(spec: &Spot<'_>, ty: &str, errors: &mut Errors) {
    let external = spec.field("externalTrafficPolicy");
    let reachable = matches!(ty, "LoadBalancer" | "NodePort")
        || ty == "ClusterIP" && !spec.field("externalIPs").is_empty();
    if !reachable && !external.is_empty() {
        errors.push(external.invalid("may only be set for externally-accessible services"));
    }
    let check = spec.field("healthCheckNodePort");
    if check.number().is_some_and(|number| number != 0) {
        if ty == "LoadBalancer" && external.text() == "Local" {
            port_number(&check, errors);
        } else {
            errors.push(check.invalid(
                "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
            ));
        }
    }
}
