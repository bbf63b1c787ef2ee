//! Load balancers: services of that type and ingresses get an address.
//!
//! Reads:  services, ingresses.
//! Writes: their `status.loadBalancer`.
//! Keeps:  the address of an object is always the same; one that somebody else gave out stays.

use std::sync::Arc;

use object::{Object, Value};
use serde_json::json;

use crate::engine::action::{Plan, Writer};
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};

pub(crate) const CONTROLLER: Controller = Controller {
    name: "exposure",
    component: "service-controller",
    wakes,
    plan,
};

fn wakes(seen: &Seen, _: &Mirror, keys: &mut Vec<Arc<str>>) {
    let mark = match seen.kind {
        Kind::Service => "service",
        Kind::Ingress => "ingress",
        _ => return,
    };
    keys.push(format!("{mark}:{}", seen.key).into());
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    let mut plan = Plan::default();
    let kind = match key.split_once(':') {
        Some(("service", key)) => (Kind::Service, key),
        Some(("ingress", key)) => (Kind::Ingress, key),
        _ => return plan,
    };
    let Some(object) = view.mirror.find(kind.0, kind.1) else {
        return plan;
    };
    if object.is_terminating() {
        return plan;
    }
    let has_address = object
        .at(&["status", "loadBalancer", "ingress"])
        .and_then(Value::as_array)
        .is_some_and(|entries| !entries.is_empty());
    let is_asked = object
        .text_at(&["spec", "loadBalancerIP"])
        .is_some_and(|asked| !asked.is_empty());
    let is_balanced =
        kind.0 == Kind::Ingress || object.text_at(&["spec", "type"]) == Some("LoadBalancer");
    let balancer = if is_balanced {
        let mut entry = json!({"ip": address_of(object)});
        if let (Some(fields), Kind::Service) = (entry.as_object_mut(), kind.0) {
            fields.insert("ipMode".to_owned(), json!("VIP"));
        }
        json!({"ingress": [entry]})
    } else {
        json!({})
    };
    // An address that somebody else gave out is as good as any.
    let is_settled = if is_balanced {
        has_address && !is_asked
    } else {
        !has_address
    };
    if is_settled {
        return plan;
    }
    let mut status = object.at(&["status"]).cloned().unwrap_or_else(|| json!({}));
    if let Some(fields) = status.as_object_mut() {
        fields.insert("loadBalancer".to_owned(), balancer);
    }
    plan.status(kind.0, object, status, Writer::Controllers);
    plan
}

/// The address that is asked for, or one that follows from the object's uid.
fn address_of(object: &Object) -> String {
    let asked = object.text_at(&["spec", "loadBalancerIP"]);
    if let Some(asked) = asked.filter(|asked| !asked.is_empty()) {
        return asked.to_owned();
    }
    let sum = object.uid().bytes().fold(7_u32, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    format!(
        "172.31.{}.{}",
        (sum >> 8) & 0xff,
        (sum & 0xff).clamp(1, 254)
    )
}
