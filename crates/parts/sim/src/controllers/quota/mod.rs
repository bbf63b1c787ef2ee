//! ResourceQuotas: what a namespace uses of what it may.
//!
//! Reads:  the quota, and what the objects of its namespace use, which the server's admission counts.
//! Writes: its status. Admission holds new objects against it.
//! Keeps:  `used` is the sum over what is there.

use std::sync::Arc;

use admission::Quota;
use object::Value;
use serde_json::json;

use crate::engine::action::{Plan, Writer};
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};

pub(crate) const CONTROLLER: Controller = Controller {
    name: "quota",
    component: "resourcequota-controller",
    wakes,
    plan,
};

/// Seconds after which a quota of something the engine does not follow is looked at again.
const AGAIN: i64 = 5;

fn wakes(seen: &Seen, mirror: &Mirror, keys: &mut Vec<Arc<str>>) {
    if seen.kind == Kind::ResourceQuota {
        keys.push(Arc::clone(&seen.key));
        return;
    }
    // Most members have none, and everything that changes comes by here.
    if mirror.all(Kind::ResourceQuota).next().is_none() || !seen.kind.row().namespaced {
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
    let rule = Quota::read(&Value::Object(quota.fields().clone()));
    let used = view.quotas.used(quota.namespace(), &rule);
    let used: object::Map = used
        .iter()
        .map(|(name, amount)| (name.clone(), json!(amount.to_string())))
        .collect();
    let status = json!({"hard": quota.at(&["spec", "hard"]), "used": used});
    plan.status(Kind::ResourceQuota, quota, status, Writer::Controllers);
    let is_followed = |name: &str| {
        admission::resource_of(name).is_none_or(|(group, plural)| {
            let mut rows = Kind::ALL.iter().map(|kind| kind.row());
            rows.any(|row| (row.group, row.plural) == (group, plural))
        })
    };
    if rule.hard.keys().any(|name| !is_followed(name)) {
        plan.wake_at(view.now.plus_seconds(AGAIN));
    }
    plan
}
