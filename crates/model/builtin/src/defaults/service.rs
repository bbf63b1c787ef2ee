//! Defaults of services and network policies that look at more than one field.

use object::{Map, Value};
use serde_json::json;

use super::{
    plan::is_zero,
    rules::{below, set_default, text},
};

/// Three hours: how long a client is remembered.
const AFFINITY_SECONDS: i64 = 3 * 60 * 60;

pub(super) fn service(fields: &mut Map) {
    let Some(spec) = below(fields, "spec") else {
        return;
    };
    set_default(spec, "sessionAffinity", "None");
    set_default(spec, "type", "ClusterIP");
    match text(spec, "sessionAffinity") {
        "None" => {
            spec.shift_remove("sessionAffinityConfig");
        }
        "ClientIP" => {
            let timeout = spec
                .get("sessionAffinityConfig")
                .and_then(|config| config.get("clientIP"))
                .and_then(|client| client.get("timeoutSeconds"));
            if timeout.is_none_or(Value::is_null) {
                let config = json!({"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}});
                spec.insert("sessionAffinityConfig".to_owned(), config);
            }
        }
        _ => {}
    }
    let ty = text(spec, "type").to_owned();
    let external_addresses = spec.get("externalIPs").is_some_and(|list| !is_zero(list));
    let external = match ty.as_str() {
        "NodePort" | "LoadBalancer" => true,
        "ClusterIP" => external_addresses,
        _ => false,
    };
    if external {
        set_default(spec, "externalTrafficPolicy", "Cluster");
    }
    if matches!(ty.as_str(), "ClusterIP" | "NodePort" | "LoadBalancer") {
        spec.entry("internalTrafficPolicy")
            .or_insert_with(|| Value::from("Cluster"));
    }
    if ty == "LoadBalancer" {
        spec.entry("allocateLoadBalancerNodePorts")
            .or_insert(Value::Bool(true));
        show_address_mode(fields);
    }
}

/// An address of a load balancer is its own unless the balancer says otherwise.
fn show_address_mode(service: &mut Map) {
    let entries = below(service, "status")
        .and_then(|status| below(status, "loadBalancer"))
        .and_then(|balancer| balancer.get_mut("ingress"))
        .and_then(Value::as_array_mut);
    for entry in entries
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        if !text(entry, "ip").is_empty() {
            entry.entry("ipMode").or_insert_with(|| Value::from("VIP"));
        }
    }
}

/// Traffic goes to the same port at the pods unless another is named.
pub(super) fn port(fields: &mut Map) {
    if let Some(number) = fields.get("port").cloned() {
        set_default(fields, "targetPort", number);
    }
}

/// A policy covers ingress, and egress as soon as it says something about it.
pub(super) fn network_policy(fields: &mut Map) {
    let egress = fields.get("egress").is_some_and(|rules| !is_zero(rules));
    let types = if egress {
        json!(["Ingress", "Egress"])
    } else {
        json!(["Ingress"])
    };
    set_default(fields, "policyTypes", types);
}
