//! What a service asks for that no other service may have, and where it says so.

use std::net::Ipv4Addr;

use object::Value;
use object::field::{FieldError, FieldPath};
use serde_json::json;

use super::ledger::{Claim, NETWORK, NETWORK_BITS, NODE_PORTS};

/// Something a service asks for.
pub(super) struct Asked {
    what: What,
    path: FieldPath,
    value: Value,
}

enum What {
    Address(String),
    NodePort(i64),
    /// The port on which nodes say whether they have a pod behind the service.
    ProbePort(i64),
}

/// Everything a service asks for.
pub(super) fn asked_by(service: &Value) -> Vec<Asked> {
    let spec = FieldPath::new("spec");
    let mut asked = Vec::new();
    if kind_of(service) == "ExternalName" {
        return asked;
    }
    let address = service.pointer("/spec/clusterIP").and_then(Value::as_str);
    if let Some(address) = address.filter(|address| !matches!(*address, "" | "None")) {
        asked.push(Asked {
            what: What::Address(address.to_owned()),
            path: spec.child("clusterIPs"),
            value: json!([address]),
        });
    }
    let number = |value: &Value, name: &str| value.get(name)?.as_i64().filter(|port| *port != 0);
    let ports = service.pointer("/spec/ports").and_then(Value::as_array);
    for (place, port) in ports.into_iter().flatten().enumerate() {
        if let Some(port) = number(port, "nodePort") {
            asked.push(Asked {
                what: What::NodePort(port),
                path: spec.child("ports").index(place).child("nodePort"),
                value: json!(port),
            });
        }
    }
    if let Some(port) = service
        .get("spec")
        .and_then(|spec| number(spec, "healthCheckNodePort"))
    {
        asked.push(Asked {
            what: What::ProbePort(port),
            path: spec.child("healthCheckNodePort"),
            value: json!(port),
        });
    }
    asked
}

/// The type of a service.
pub(super) fn kind_of(service: &Value) -> &str {
    let kind = service.pointer("/spec/type").and_then(Value::as_str);
    kind.unwrap_or("ClusterIP")
}

/// Whether every port of a service has one on the nodes.
pub(super) fn has_ports(service: &Value) -> bool {
    let declines = service.pointer("/spec/allocateLoadBalancerNodePorts") == Some(&json!(false));
    match kind_of(service) {
        "NodePort" => true,
        "LoadBalancer" => !declines,
        _ => false,
    }
}

/// Whether nodes are asked for the pods behind a service.
pub(super) fn is_probed(service: &Value) -> bool {
    let policy = service.pointer("/spec/externalTrafficPolicy");
    kind_of(service) == "LoadBalancer" && policy == Some(&json!("Local"))
}

impl Asked {
    /// What it is, if it is in its range.
    pub(super) fn claim(&self) -> Option<Claim> {
        match &self.what {
            What::Address(text) => {
                let address: Ipv4Addr = text.parse().ok()?;
                let is_inside = u32::from(address) >> (32 - NETWORK_BITS)
                    == u32::from(NETWORK) >> (32 - NETWORK_BITS);
                is_inside.then_some(Claim::Address(address))
            }
            What::NodePort(port) | What::ProbePort(port) => {
                let port = u16::try_from(*port).ok()?;
                NODE_PORTS.contains(&port).then_some(Claim::Port(port))
            }
        }
    }

    /// Another service has it.
    pub(super) fn is_taken(&self) -> FieldError {
        match &self.what {
            What::Address(address) => self.refuse(format!(
                "failed to allocate IP {address}: provided IP is already allocated"
            )),
            What::NodePort(_) => self.refuse("provided port is already allocated".to_owned()),
            What::ProbePort(port) => self.refuse(format!(
                "failed to allocate requested HealthCheck NodePort {port}: provided port is already allocated"
            )),
        }
    }

    /// Nobody can have it.
    pub(super) fn is_outside(&self) -> FieldError {
        let (first, last) = (NODE_PORTS.start(), NODE_PORTS.end());
        let ports = format!(
            "provided port is not in the valid range. The range of valid ports is {first}-{last}"
        );
        match &self.what {
            What::Address(address) => self.refuse(format!(
                "failed to allocate IP {address}: the provided IP ({address}) is not in the valid range. The range of \
                 valid IPs is {NETWORK}/{NETWORK_BITS}"
            )),
            What::NodePort(_) => self.refuse(ports),
            What::ProbePort(port) => self.refuse(format!(
                "failed to allocate requested HealthCheck NodePort {port}: {ports}"
            )),
        }
    }

    fn refuse(&self, why: String) -> FieldError {
        FieldError::invalid(self.path.clone(), self.value.clone(), why)
    }
}
