//! PodDisruptionBudgets say how many pods may be evicted.
//!
//! Reads:  the budget and the pods it selects.
//! Writes: its status.
//! Keeps:  `disruptionsAllowed` is what is healthy beyond what must be.

use std::sync::Arc;

use object::int_or_string::{IntOrString, Rounding};
use object::{Object, Value};
use serde_json::json;

use crate::engine::action::{Plan, Writer};
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};
use crate::read;

pub(crate) const CONTROLLER: Controller = Controller {
    name: "disruption",
    component: "controllermanager",
    wakes,
    plan,
};

fn wakes(seen: &Seen, mirror: &Mirror, keys: &mut Vec<Arc<str>>) {
    match seen.kind {
        Kind::PodDisruptionBudget => keys.push(Arc::clone(&seen.key)),
        Kind::Pod => {
            let Some(pod) = seen.either() else { return };
            for budget in mirror.within(Kind::PodDisruptionBudget, pod.namespace()) {
                keys.push(format!("{}/{}", budget.namespace(), budget.name()).into());
            }
        }
        _ => {}
    }
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    let mut plan = Plan::default();
    let Some(budget) = view.mirror.find(Kind::PodDisruptionBudget, key) else {
        return plan;
    };
    let selector = read::selector(budget.at(&["spec", "selector"]));
    let pods: Vec<&Arc<Object>> = view
        .mirror
        .within(Kind::Pod, budget.namespace())
        .filter(|pod| {
            selector
                .as_ref()
                .is_some_and(|selector| read::selects(selector, pod))
        })
        .filter(|pod| !read::has_ended(pod))
        .collect();
    let expected = expected(view.mirror, &pods);
    let healthy = pods
        .iter()
        .filter(|pod| read::is_ready(pod) && !pod.is_terminating())
        .count();
    let healthy = i64::try_from(healthy).unwrap_or(i64::MAX);
    let share = |name: &str| {
        let value = budget.at(&["spec", name])?;
        let value: IntOrString = serde_json::from_value(value.clone()).ok()?;
        value.share_of(expected, Rounding::Up).ok()
    };
    let desired = match (share("minAvailable"), share("maxUnavailable")) {
        (Some(least), _) => least,
        (None, Some(most)) => (expected - most).max(0),
        (None, None) => expected,
    };
    let allowed = (healthy - desired)
        .max(0)
        .min(if expected == 0 { 0 } else { i64::MAX });
    let (state, reason) = if allowed > 0 {
        ("True", "SufficientPods")
    } else {
        ("False", "InsufficientPods")
    };
    let mut conditions = read::conditions(budget);
    let condition = json!({
        "type": "DisruptionAllowed", "status": state, "reason": reason, "message": "",
        "observedGeneration": budget.generation(),
    });
    read::put_condition(&mut conditions, condition, view.now);
    let status = json!({
        "observedGeneration": budget.generation(), "disruptionsAllowed": allowed, "currentHealthy": healthy,
        "desiredHealthy": desired, "expectedPods": expected, "conditions": conditions,
    });
    plan.status(
        Kind::PodDisruptionBudget,
        budget,
        status,
        Writer::Controllers,
    );
    plan
}

/// How many pods there should be: what those who control them want, or how many there are.
fn expected(mirror: &Mirror, pods: &[&Arc<Object>]) -> i64 {
    let mut owners: Vec<&Value> = Vec::new();
    let mut loose = 0_i64;
    for pod in pods {
        match read::controller(pod) {
            None => loose += 1,
            Some(owner)
                if owners
                    .iter()
                    .any(|known| known.get("uid") == owner.get("uid")) => {}
            Some(owner) => owners.push(owner),
        }
    }
    let wanted = owners.into_iter().map(|owner| {
        let namespace = pods.first().map_or("", |pod| pod.namespace());
        let key = format!("{namespace}/{}", read::text(owner, "name"));
        let kind = Kind::named(read::text(owner, "apiVersion"), read::text(owner, "kind"));
        let object = kind.and_then(|kind| mirror.find(kind, &key));
        object
            .and_then(|object| object.integer_at(&["spec", "replicas"]))
            .unwrap_or(0)
    });
    wanted.fold(loose, i64::saturating_add)
}
