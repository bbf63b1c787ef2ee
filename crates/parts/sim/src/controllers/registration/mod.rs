//! Every version of every group that is served is registered, as clients that ask for APIServices expect.
//!
//! Reads:  the table of what is served, definitions, registrations.
//! Writes: registrations of what the member serves itself, and that they are available.
//! Keeps:  registrations that somebody else made are not touched; nothing is served because of one.

use std::collections::BTreeMap;
use std::sync::Arc;

use object::{Object, Value};
use serde_json::json;

use crate::engine::action::{Plan, Writer};
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};
use crate::parts::METRICS_GROUP;
use crate::read;

pub(crate) const CONTROLLER: Controller = Controller {
    name: "registration",
    component: "apiservice-registration-controller",
    wakes,
    plan,
};

/// Marks registrations that come and go with what is served.
const MANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";
/// The most a registration may ask for.
const MOST_PRIORITY: u32 = 20_000;

fn wakes(seen: &Seen, _: &Mirror, keys: &mut Vec<Arc<str>>) {
    match seen.kind {
        Kind::CustomResourceDefinition => keys.push(Arc::from("")),
        // One of the member's own that was taken away comes back.
        Kind::APIService if seen.after.is_none() => keys.push(Arc::from("")),
        Kind::APIService => keys.push(Arc::clone(&seen.key)),
        _ => {}
    }
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    let mut plan = Plan::default();
    if !view.shape.registers {
        return plan;
    }
    if !key.is_empty() {
        if let Some(service) = view.mirror.find(Kind::APIService, key) {
            show(&mut plan, service, view);
        }
        return plan;
    }
    let wanted = wanted(view);
    for (name, spec) in &wanted {
        if view.mirror.find(Kind::APIService, name).is_none() {
            let object = json!({
                "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
                "metadata": {"name": name, "labels": {MANAGED: "onstart"}}, "spec": spec,
            });
            plan.create(Kind::APIService, object);
        }
    }
    for (name, service) in view.mirror.all(Kind::APIService) {
        if service.label(MANAGED).is_some() && !wanted.contains_key(&**name) {
            plan.delete(Kind::APIService, service);
        } else {
            show(&mut plan, service, view);
        }
    }
    plan
}

/// The specs of all registrations, by name.
fn wanted(view: &View<'_>) -> BTreeMap<String, Value> {
    let mut wanted = BTreeMap::new();
    for resource in view.table.iter() {
        let count = resource.versions.len();
        for (place, version) in resource.versions.iter().enumerate() {
            let mut spec = json!({
                "group": &*resource.group, "version": &*version.name,
                "groupPriorityMinimum": resource.group_priority.clamp(1, MOST_PRIORITY),
                "versionPriority": count.saturating_sub(place),
            });
            if let (Some(fields), METRICS_GROUP) = (spec.as_object_mut(), &*resource.group) {
                fields.insert("insecureSkipTLSVerify".to_owned(), json!(true));
                let service =
                    json!({"namespace": "kube-system", "name": "metrics-server", "port": 443});
                fields.insert("service".to_owned(), service);
            }
            let name = format!("{}.{}", version.name, resource.group);
            wanted.entry(name).or_insert(spec);
        }
    }
    wanted
}

/// Says whether one of the member's own registrations is available: not while a fault takes its group away.
fn show(plan: &mut Plan, service: &Object, view: &View<'_>) {
    if service.label(MANAGED).is_none() {
        return;
    }
    let group = service.text_at(&["spec", "group"]).unwrap_or_default();
    let (status, reason, message) = if view.faults.dropped_groups.contains(group) {
        let version = service.text_at(&["spec", "version"]).unwrap_or_default();
        let message = format!(
            "failing or missing response from /apis/{group}/{version}: the group was dropped by a fault"
        );
        ("False", "FailedDiscoveryCheck", message)
    } else if service.at(&["spec", "service"]).is_some() {
        ("True", "Passed", "all checks passed".to_owned())
    } else {
        let message = "Local APIServices are always available".to_owned();
        ("True", "Local", message)
    };
    let mut conditions = read::conditions(service);
    let condition =
        json!({"type": "Available", "status": status, "reason": reason, "message": message});
    read::put_condition(&mut conditions, condition, view.now);
    let status = json!({"conditions": conditions});
    plan.status(Kind::APIService, service, status, Writer::Controllers);
}
