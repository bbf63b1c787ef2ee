//! PodDisruptionBudgets say how many pods may be evicted.
//!
//! Reads:  the budget and the pods it selects.
//! Writes: its status.
//! Keeps:  `disruptionsAllowed` is what is healthy beyond what must be.

use std::sync::Arc;

use object::int_or_string::{IntOrString, Rounding};
use object::time::Time;
use object::{Map, Object, Value};
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
    let disrupted = disrupted(budget, &pods, view.now, &mut plan);
    let healthy = pods
        .iter()
        .filter(|pod| read::is_ready(pod) && !pod.is_terminating())
        .filter(|pod| !disrupted.contains_key(pod.name()))
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
    let mut status = json!({
        "observedGeneration": budget.generation(), "disruptionsAllowed": allowed, "currentHealthy": healthy,
        "desiredHealthy": desired, "expectedPods": expected, "conditions": conditions,
    });
    if let (Some(fields), false) = (status.as_object_mut(), disrupted.is_empty()) {
        fields.insert("disruptedPods".to_owned(), Value::Object(disrupted));
    }
    plan.status(
        Kind::PodDisruptionBudget,
        budget,
        status,
        Writer::Controllers,
    );
    plan
}

/// Pods that somebody was let evict and that are still there. After two minutes nobody expects them to go any more.
/// Upstream: the same time.
fn disrupted(budget: &Object, pods: &[&Arc<Object>], now: Time, plan: &mut Plan) -> Map {
    let noted = budget.at(&["status", "disruptedPods"]);
    let noted = noted.and_then(Value::as_object).into_iter().flatten();
    let kept = noted.filter(|(name, since)| {
        let since = since.as_str().and_then(|text| text.parse::<Time>().ok());
        let ends = since.unwrap_or(now).plus_seconds(DISRUPTED);
        let is_there = pods
            .iter()
            .any(|pod| pod.name() == name.as_str() && !pod.is_terminating());
        if is_there && ends > now {
            plan.wake_at(ends);
        }
        is_there && ends > now
    });
    kept.map(|(name, since)| (name.clone(), since.clone()))
        .collect()
}

/// How long a pod counts as good as gone, in seconds.
const DISRUPTED: i64 = 120;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_on_the_way_out_is_kept_for_two_minutes_while_it_is_there() {
        let now: Time = "2026-01-01T00:05:00Z".parse().unwrap();
        let pod = |name: &str, going: bool| {
            let mut pod = json!({"metadata": {"name": name, "namespace": "d"}});
            if going {
                pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:05:00Z");
            }
            Arc::new(Object::from_value(pod).unwrap())
        };
        let pods = [pod("fresh", false), pod("old", false), pod("going", true)];
        let pods: Vec<&Arc<Object>> = pods.iter().collect();
        let recent = "2026-01-01T00:04:00Z";
        let budget = json!({"status": {"disruptedPods": {
            "fresh": recent, "going": recent, "gone": recent, "old": "2026-01-01T00:03:00Z",
        }}});
        let budget = Object::from_value(budget).unwrap();
        let mut plan = Plan::default();
        let kept = disrupted(&budget, &pods, now, &mut plan);
        assert_eq!(Value::Object(kept), json!({"fresh": recent}));
        assert_eq!(plan.wake, Some(now.plus_seconds(60)));
    }
}
