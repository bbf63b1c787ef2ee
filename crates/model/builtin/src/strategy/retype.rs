//! A service that changes its type: what only the old type had goes, unless the author changes it too.
//!
//! Whoever patches a type sends nothing about ports on nodes or addresses, because the server gave them. They would be
//! errors under the new type. What the author does change stays and is judged.

use object::{Map, Value};

/// Drops from `spec` what `before` had for the sake of its type and the new type has no use for.
pub(super) fn drop_unused(before: &Value, spec: &mut Map) {
    let after = Value::Object(spec.clone());
    let mut drop_unchanged = |needs: fn(&Value) -> bool, fields: &[&str]| {
        if !needs(before) || needs(&after) {
            return;
        }
        for field in fields {
            if before.get(field) == after.get(field) {
                spec.shift_remove(*field);
            }
        }
    };
    drop_unchanged(
        |spec| ty(spec) != "ExternalName",
        &["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"],
    );
    drop_unchanged(
        |spec| ty(spec) == "LoadBalancer",
        &["allocateLoadBalancerNodePorts", "loadBalancerClass"],
    );
    drop_unchanged(is_reached_from_outside, &["externalTrafficPolicy"]);
    drop_unchanged(is_checked_on_nodes, &["healthCheckNodePort"]);
    if has_node_ports(before) && !has_node_ports(&after) && node_ports(before) == node_ports(&after)
    {
        let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
        for port in ports.into_iter().flatten() {
            if let Some(port) = port.as_object_mut() {
                port.shift_remove("nodePort");
            }
        }
    }
}

fn ty(spec: &Value) -> &str {
    let ty = spec.get("type").and_then(Value::as_str);
    ty.filter(|ty| !ty.is_empty()).unwrap_or("ClusterIP")
}

fn has_node_ports(spec: &Value) -> bool {
    matches!(ty(spec), "NodePort" | "LoadBalancer")
}

fn is_reached_from_outside(spec: &Value) -> bool {
    let has_addresses = spec
        .get("externalIPs")
        .and_then(Value::as_array)
        .is_some_and(|list| !list.is_empty());
    has_node_ports(spec) || ty(spec) == "ClusterIP" && has_addresses
}

fn is_checked_on_nodes(spec: &Value) -> bool {
    let policy = spec.get("externalTrafficPolicy").and_then(Value::as_str);
    ty(spec) == "LoadBalancer" && policy == Some("Local")
}

fn node_ports(spec: &Value) -> Vec<i64> {
    let ports = spec.get("ports").and_then(Value::as_array);
    let mut numbers: Vec<i64> = ports
        .into_iter()
        .flatten()
        .filter_map(|port| port.get("nodePort")?.as_i64())
        .filter(|number| *number != 0)
        .collect();
    numbers.sort_unstable();
    numbers
}
