//! What is written about the pods behind a service.

use std::collections::BTreeMap;
use std::sync::Arc;

use object::{Object, Value};
use serde_json::json;

use crate::controllers::slices;
use crate::engine::action::Plan;
use crate::engine::kind::Kind;
use crate::read;

/// As many endpoints as one slice has.
const SLICE: usize = 100;
/// As many addresses as one Endpoints object has.
const MOST: usize = 1000;
const MANAGER: &str = "endpointslice-controller.k8s.io";

/// Everything the decision may look at.
pub(crate) struct Inputs<'a> {
    pub(crate) service: &'a Object,
    /// Pods it selects that have not ended.
    pub(crate) pods: &'a [&'a Arc<Object>],
    pub(crate) endpoints: Option<&'a Object>,
    pub(crate) slices: &'a [&'a Arc<Object>],
    pub(crate) zone_of: &'a dyn Fn(&str) -> Option<String>,
}

pub(crate) fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    let service = inputs.service;
    let has_selector = service
        .at(&["spec", "selector"])
        .is_some_and(|selector| !selector.is_null());
    if service.is_terminating()
        || !has_selector
        || service.text_at(&["spec", "type"]) == Some("ExternalName")
    {
        return plan;
    }
    let mut reached: Vec<&Object> = inputs
        .pods
        .iter()
        .map(|pod| &***pod)
        .filter(|pod| {
            pod.text_at(&["status", "podIP"])
                .is_some_and(|ip| !ip.is_empty())
        })
        .collect();
    reached.sort_by(|one, other| one.name().cmp(other.name()));
    slices(inputs, &reached, &mut plan);
    whole(inputs, &reached, &mut plan);
    plan
}

/// A pod's port numbers for the ports of a service; one that a pod does not have is left out.
fn ports(service: &Object, pod: &Object) -> Vec<Value> {
    let ports = read::list(service, &["spec", "ports"]).iter().filter_map(|port| {
        let wanted = port.get("targetPort").unwrap_or(port.get("port")?);
        let number = match wanted.as_str() {
            Some(name) => named_port(pod, name)?,
            None => wanted.as_i64().filter(|number| *number != 0).or_else(|| port.get("port")?.as_i64())?,
        };
        let mut entry = json!({"port": number, "protocol": port.get("protocol").cloned().unwrap_or_else(|| json!("TCP"))});
        if let (Some(fields), Some(name)) = (entry.as_object_mut(), port.get("name")) {
            fields.insert("name".to_owned(), name.clone());
        }
        Some(entry)
    });
    ports.collect()
}

fn named_port(pod: &Object, name: &str) -> Option<i64> {
    read::list(pod, &["spec", "containers"])
        .iter()
        .flat_map(|container| read::items(container, "ports"))
        .find(|port| read::text(port, "name") == name)?
        .get("containerPort")?
        .as_i64()
}

fn is_published_early(service: &Object) -> bool {
    service
        .at(&["spec", "publishNotReadyAddresses"])
        .and_then(Value::as_bool)
        == Some(true)
}

fn reference(pod: &Object) -> Value {
    json!({"kind": "Pod", "namespace": pod.namespace(), "name": pod.name(), "uid": pod.uid()})
}

/// Slices by the ports their pods have, so many endpoints each.
fn slices(inputs: &Inputs<'_>, reached: &[&Object], plan: &mut Plan) {
    let service = inputs.service;
    let mut by_ports: BTreeMap<String, (Vec<Value>, Vec<Value>)> = BTreeMap::new();
    for pod in reached {
        let ports = ports(service, pod);
        let (serving, terminating) = (read::is_ready(pod), pod.is_terminating());
        let mut endpoint = json!({
            "addresses": [pod.text_at(&["status", "podIP"])],
            "conditions": {
                "ready": (serving || is_published_early(service)) && (!terminating || is_published_early(service)),
                "serving": serving, "terminating": terminating,
            },
            "nodeName": read::node_of(pod), "targetRef": reference(pod),
        });
        if let Some(fields) = endpoint.as_object_mut() {
            if let Some(zone) = (inputs.zone_of)(read::node_of(pod)) {
                fields.insert("zone".to_owned(), json!(zone));
            }
            if let Some(host) = pod.text_at(&["spec", "hostname"]) {
                fields.insert("hostname".to_owned(), json!(host));
            }
        }
        let group = by_ports
            .entry(json!(ports).to_string())
            .or_insert((ports, Vec::new()));
        group.1.push(endpoint);
    }
    if by_ports.is_empty() {
        by_ports.insert(String::new(), (Vec::new(), Vec::new()));
    }
    let mut wanted: BTreeMap<String, Value> = BTreeMap::new();
    for (ports, endpoints) in by_ports.into_values() {
        let mut chunks: Vec<&[Value]> = endpoints.chunks(SLICE).collect();
        if chunks.is_empty() {
            chunks.push(&[]);
        }
        for chunk in chunks {
            let name = slices::name_of(service, wanted.len());
            let slice = slice(service, &name, &ports, chunk);
            wanted.insert(name, slice);
        }
    }
    slices::settle(plan, inputs.slices, wanted);
}

fn slice(service: &Object, name: &str, ports: &[Value], endpoints: &[Value]) -> Value {
    let mut labels = service
        .at(&["metadata", "labels"])
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    labels.insert(slices::SERVICE.to_owned(), json!(service.name()));
    labels.insert(slices::MANAGED_BY.to_owned(), json!(MANAGER));
    if service.text_at(&["spec", "clusterIP"]) == Some("None") {
        labels.insert("service.kubernetes.io/headless".to_owned(), json!(""));
    }
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {
            "name": name, "namespace": service.namespace(), "generateName": format!("{}-", service.name()),
            "labels": labels, "ownerReferences": [read::owner_reference(service)],
        },
        "addressType": "IPv4", "endpoints": endpoints, "ports": ports,
    })
}

/// The older form: one object with everybody in it.
fn whole(inputs: &Inputs<'_>, reached: &[&Object], plan: &mut Plan) {
    let service = inputs.service;
    /// Ports, and the addresses that are ready and not ready behind them.
    type Subset = (Vec<Value>, Vec<Value>, Vec<Value>);
    let mut by_ports: BTreeMap<String, Subset> = BTreeMap::new();
    for pod in reached
        .iter()
        .filter(|pod| !pod.is_terminating())
        .take(MOST)
    {
        let ports = ports(service, pod);
        let mut address = json!({
            "ip": pod.text_at(&["status", "podIP"]), "nodeName": read::node_of(pod), "targetRef": reference(pod),
        });
        if let (Some(fields), Some(host)) =
            (address.as_object_mut(), pod.text_at(&["spec", "hostname"]))
        {
            fields.insert("hostname".to_owned(), json!(host));
        }
        let entry =
            by_ports
                .entry(json!(ports).to_string())
                .or_insert((ports, Vec::new(), Vec::new()));
        if read::is_ready(pod) || is_published_early(service) {
            entry.1.push(address);
        } else {
            entry.2.push(address);
        }
    }
    let subsets: Vec<Value> = by_ports
        .into_values()
        .map(|(ports, ready, unready)| {
            let mut subset = json!({"ports": ports});
            if let Some(fields) = subset.as_object_mut() {
                for (name, addresses) in [("addresses", ready), ("notReadyAddresses", unready)] {
                    if !addresses.is_empty() {
                        fields.insert(name.to_owned(), addresses.into());
                    }
                }
            }
            subset
        })
        .collect();
    let Some(endpoints) = inputs.endpoints else {
        plan.create(
            Kind::Endpoints,
            json!({
                "apiVersion": "v1", "kind": "Endpoints",
                "metadata": {
                    "name": service.name(), "namespace": service.namespace(),
                    "labels": {"endpoints.kubernetes.io/managed-by": "endpoint-controller"},
                    "ownerReferences": [{
                        "apiVersion": "v1", "kind": "Service", "name": service.name(), "uid": service.uid(),
                    }],
                },
                "subsets": subsets,
            }),
        );
        return;
    };
    if read::list(endpoints, &["subsets"]) != subsets.as_slice() {
        plan.merge(Kind::Endpoints, endpoints, json!({"subsets": subsets}));
    }
}
