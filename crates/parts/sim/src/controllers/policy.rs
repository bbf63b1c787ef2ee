//! ValidatingAdmissionPolicies are told whether their expressions fit the kinds they are about.

use std::sync::Arc;

use object::Value;

use crate::engine::action::{Plan, Writer};
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};

pub(crate) const CONTROLLER: Controller = Controller {
    name: "policy",
    component: "validatingadmissionpolicy-status-controller",
    wakes,
    plan,
};

fn wakes(seen: &Seen, _: &Mirror, keys: &mut Vec<Arc<str>>) {
    if seen.kind == Kind::ValidatingAdmissionPolicy && seen.after.is_some() {
        keys.push(Arc::clone(&seen.key));
    }
}

/// Looks at every generation of a policy once. Upstream: a kind that is defined later changes nothing.
fn plan(view: &View<'_>, key: &str) -> Plan {
    let mut plan = Plan::default();
    let kind = Kind::ValidatingAdmissionPolicy;
    let Some(policy) = view.mirror.find(kind, key) else {
        return plan;
    };
    let seen = policy.at(&["status", "observedGeneration"]);
    if seen.is_some() && seen == policy.at(&["metadata", "generation"]) {
        return plan;
    }
    let value = Value::Object(policy.fields().clone());
    let status = admission::policy_status(&value, view.table);
    plan.status(kind, policy, status, Writer::Controllers);
    plan
}
