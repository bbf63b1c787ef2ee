//! ResourceQuotas: what a namespace uses of what it may.
//!
//! Reads:  the quota and the objects of its namespace.
//! Writes: its status. Admission holds new objects against it.
//! Keeps:  `used` is the sum over what is there.

mod count;

use std::sync::Arc;

use serde_json::json;

use crate::engine::action::{Plan, Writer};
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};

pub(crate) use count::{cost, format};

pub(crate) const CONTROLLER: Controller = Controller {
    name: "quota",
    component: "resourcequota-controller",
    wakes,
    plan,
};

/// The kinds whose objects quotas count.
const COUNTED: [Kind; 6] = [
    Kind::Pod,
    Kind::Service,
    Kind::PersistentVolumeClaim,
    Kind::Deployment,
    Kind::ReplicaSet,
    Kind::Job,
];

fn wakes(seen: &Seen, mirror: &Mirror, keys: &mut Vec<Arc<str>>) {
    if seen.kind == Kind::ResourceQuota {
        keys.push(Arc::clone(&seen.key));
        return;
    }
    if !COUNTED.contains(&seen.kind) {
        return;
    }
    let Some(object) = seen.either() else { return };
    for quota in mirror.within(Kind::ResourceQuota, object.namespace()) {
        keys.push(format!("{}/{}", quota.namespace(), quota.name()).into());
    }
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    let mut plan = Plan::default();
    let Some(quota) = view.mirror.find(Kind::ResourceQuota, key) else {
        return plan;
    };
    let hard = quota
        .at(&["spec", "hard"])
        .and_then(object::Value::as_object);
    let mut used = object::Map::new();
    for name in hard.into_iter().flatten().map(|(name, _)| name) {
        let mut sum = 0_i64;
        for kind in COUNTED {
            for object in view.mirror.within(kind, quota.namespace()) {
                sum = sum.saturating_add(cost(name, kind.row().group, kind.row().plural, object));
            }
        }
        used.insert(name.clone(), json!(format(name, sum)));
    }
    let status = json!({"hard": hard, "used": used});
    plan.status(Kind::ResourceQuota, quota, status, Writer::Controllers);
    plan
}
