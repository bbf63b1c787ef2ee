//! Which slices show what Endpoints say.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use object::{Map, Object, Value};
use serde_json::json;

use crate::controllers::slices;
use crate::engine::action::Plan;
use crate::read;

pub(crate) const MANAGER: &str = "endpointslicemirroring-controller.k8s.io";
/// Endpoints with this label are nobody's to mirror.
const SKIP: &str = "endpointslice.kubernetes.io/skip-mirror";
/// Endpoints with this annotation are no addresses but a lock.
const LOCK: &str = "control-plane.alpha.kubernetes.io/leader";
/// As many addresses of a subset as are shown.
const MOST: usize = 1000;
/// What slices do not take over from Endpoints.
const OWN_NOTES: [&str; 2] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "endpoints.kubernetes.io/last-change-trigger-time",
];

/// Everything the decision may look at.
pub(crate) struct Inputs<'a> {
    pub(crate) endpoints: &'a Object,
    pub(crate) service: Option<&'a Object>,
    /// Those the Endpoints own.
    pub(crate) slices: &'a [&'a Arc<Object>],
}

pub(crate) fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    let mut wanted = BTreeMap::new();
    let endpoints = inputs.endpoints;
    if is_mirrored(inputs) {
        for subset in read::list(endpoints, &["subsets"]) {
            for (family, shown) in by_family(subset) {
                let name = slices::name_of(endpoints, wanted.len());
                let ports = read::items(subset, "ports");
                let slice = slice(endpoints, &name, family, &shown, ports);
                wanted.insert(name, slice);
            }
        }
    }
    slices::settle(&mut plan, inputs.slices, wanted);
    plan
}

fn is_mirrored(inputs: &Inputs<'_>) -> bool {
    let endpoints = inputs.endpoints;
    let selects = |service: &Object| {
        let selector = service.at(&["spec", "selector"]).and_then(Value::as_object);
        selector.is_some_and(|selector| !selector.is_empty())
    };
    !endpoints.is_terminating()
        && endpoints.label(SKIP) != Some("true")
        && endpoints.annotation(LOCK).is_none()
        && inputs
            .service
            .is_some_and(|service| !service.is_terminating() && !selects(service))
}

/// The addresses of a subset as slices have them, apart by kind of address.
fn by_family(subset: &Value) -> BTreeMap<&'static str, Vec<Value>> {
    let mut families: BTreeMap<&'static str, Vec<Value>> = BTreeMap::new();
    let lists = [("addresses", true), ("notReadyAddresses", false)];
    let all = lists.iter().flat_map(|(field, ready)| {
        let addresses = read::items(subset, field).iter();
        addresses.map(move |address| (address, *ready))
    });
    for (address, ready) in all.take(MOST) {
        let text = read::text(address, "ip");
        let family = match text.parse() {
            Ok(IpAddr::V4(_)) => "IPv4",
            Ok(IpAddr::V6(_)) => "IPv6",
            Err(_) => continue,
        };
        let mut endpoint = Map::new();
        endpoint.insert("addresses".to_owned(), json!([text]));
        endpoint.insert("conditions".to_owned(), json!({"ready": ready}));
        for field in ["hostname", "nodeName", "targetRef"] {
            if let Some(value) = address.get(field) {
                endpoint.insert(field.to_owned(), value.clone());
            }
        }
        families.entry(family).or_default().push(endpoint.into());
    }
    families
}

fn slice(endpoints: &Object, name: &str, family: &str, shown: &[Value], ports: &[Value]) -> Value {
    let part = |name: &str| {
        let part = endpoints.at(&["metadata", name]).and_then(Value::as_object);
        part.cloned().unwrap_or_default()
    };
    let mut labels = part("labels");
    labels.insert(slices::SERVICE.to_owned(), json!(endpoints.name()));
    labels.insert(slices::MANAGED_BY.to_owned(), json!(MANAGER));
    let mut annotations = part("annotations");
    annotations.retain(|name, _| !OWN_NOTES.contains(&name.as_str()));
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {
            "name": name, "namespace": endpoints.namespace(), "generateName": format!("{}-", endpoints.name()),
            "labels": labels, "annotations": annotations, "ownerReferences": [read::owner_reference(endpoints)],
        },
        "addressType": family, "endpoints": shown, "ports": ports,
    })
}
