//! Cells of nodes and of kinds about the cluster itself.

use std::collections::{BTreeMap, BTreeSet};

use object::{Value, time::Time};

use super::{Cell, or, storage::quantity};
use crate::path;

/// Labels with this prefix name a node's roles, as does the value of [`ROLE_LABEL`].
const ROLE_PREFIX: &str = "node-role.kubernetes.io/";
const ROLE_LABEL: &str = "kubernetes.io/role";

/// Status, Roles, Internal-IP, External-IP of a node.
pub(super) fn node(node: &Value, _now: Time) -> Vec<Cell> {
    let ready = path::list(node, "status.conditions")
        .iter()
        .rfind(|condition| path::text(condition, "type") == "Ready");
    let mut status = match ready.map(|condition| path::text(condition, "status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if path::flag(node, "spec.unschedulable") {
        status.push_str(",SchedulingDisabled");
    }
    let address = |ty: &str| {
        let mut addresses = path::list(node, "status.addresses").iter();
        let found = addresses.find(|address| path::text(address, "type") == ty);
        found.map_or("<none>", |address| path::text(address, "address"))
    };
    vec![
        status.into(),
        or(&roles(node), "<none>").into(),
        address("InternalIP").into(),
        address("ExternalIP").into(),
    ]
}

/// Status, Message and Error of a component.
pub(super) fn component_status(component: &Value, _now: Time) -> Vec<Cell> {
    let mut conditions = path::list(component, "conditions").iter();
    let Some(healthy) = conditions.find(|condition| path::text(condition, "type") == "Healthy")
    else {
        return vec!["Unknown".into(), "".into(), "".into()];
    };
    let status = if path::text(healthy, "status") == "True" {
        "Healthy"
    } else {
        "Unhealthy"
    };
    vec![
        status.into(),
        path::text(healthy, "message").into(),
        path::text(healthy, "error").into(),
    ]
}

/// Request and Limit of a quota.
pub(super) fn resource_quota(quota: &Value, _now: Time) -> Vec<Cell> {
    let hard = path::at(quota, "status.hard").and_then(Value::as_object);
    let sorted: BTreeMap<&String, &Value> = hard.into_iter().flatten().collect();
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for (resource, bound) in sorted {
        let used = path::at(quota, "status.used").and_then(|used| used.get(resource));
        let text = format!("{resource}: {}/{}", quantity(used), quantity(Some(bound)));
        if resource.starts_with("limits.") {
            limits.push(text)
        } else {
            requests.push(text)
        }
    }
    vec![requests.join(", ").into(), limits.join(", ").into()]
}

/// Service and Available of an API service.
pub(super) fn api_service(service: &Value, _now: Time) -> Vec<Cell> {
    let host = match path::at(service, "spec.service").filter(|value| !value.is_null()) {
        Some(service) => format!(
            "{}/{}",
            path::text(service, "namespace"),
            path::text(service, "name")
        ),
        None => "Local".to_owned(),
    };
    let mut conditions = path::list(service, "status.conditions").iter();
    let available = conditions.find(|condition| path::text(condition, "type") == "Available");
    let available = match available.map(|condition| {
        (
            path::text(condition, "status"),
            path::text(condition, "reason"),
        )
    }) {
        None => "Unknown".to_owned(),
        Some(("True", _)) => "True".to_owned(),
        Some((status, "")) => status.to_owned(),
        Some((status, reason)) => format!("{status} ({reason})"),
    };
    vec![host.into(), available.into()]
}

/// MissingPL of a flow schema.
pub(super) fn flow_schema(schema: &Value, _now: Time) -> Vec<Cell> {
    let mut conditions = path::list(schema, "status.conditions").iter();
    let dangling = conditions.find(|condition| path::text(condition, "type") == "Dangling");
    vec![
        dangling
            .map_or("?", |condition| path::text(condition, "status"))
            .into(),
    ]
}

/// State of a claim for devices.
pub(super) fn resource_claim(claim: &Value, _now: Time) -> Vec<Cell> {
    let deleted = path::is_set(claim, "metadata.deletionTimestamp");
    let allocated = path::is_set(claim, "status.allocation");
    let reserved = allocated && !path::list(claim, "status.reservedFor").is_empty();
    let states = [
        ("deleted", deleted),
        ("pending", !deleted && !allocated),
        ("allocated", allocated),
        ("reserved", reserved),
    ];
    vec![
        states
            .iter()
            .filter(|(_, holds)| *holds)
            .map(|(state, _)| *state)
            .collect::<Vec<_>>()
            .join(",")
            .into(),
    ]
}

fn roles(node: &Value) -> String {
    let labels = path::at(node, "metadata.labels").and_then(Value::as_object);
    let roles: BTreeSet<&str> = labels
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| match key.strip_prefix(ROLE_PREFIX) {
            Some(role) => Some(role),
            None if key == ROLE_LABEL => value.as_str(),
            None => None,
        })
        .filter(|role| !role.is_empty())
        .collect();
    roles.into_iter().collect::<Vec<_>>().join(",")
}
