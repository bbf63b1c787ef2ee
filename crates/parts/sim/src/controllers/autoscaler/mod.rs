//! HorizontalPodAutoscalers: as many replicas as the usage of the pods asks for.
//!
//! Reads:  the autoscaler, what it scales, the pods of that, their simulated usage.
//! Writes: the replicas of the target, the autoscaler's status.
//! Keeps:  within the bounds, and as fast as its behaviour says: unless told otherwise down only after the highest wish
//!         of the last five minutes has passed, and up by four pods or twice as many in fifteen seconds.

mod pace;
mod plan;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use object::Object;

use crate::controllers::scheduler::requests_of;
use crate::engine::action::Plan;
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};
use crate::read;
use crate::usage;

use plan::{Inputs, Sample};

pub(crate) const CONTROLLER: Controller = Controller {
    name: "autoscaler",
    component: "horizontal-pod-autoscaler",
    wakes,
    plan,
};

/// A new autoscaler, or one that wants something else; what it writes itself is no reason to look again before its time.
fn wakes(seen: &Seen, _: &Mirror, keys: &mut Vec<Arc<str>>) {
    let spec = |object: &Option<Arc<Object>>| {
        object
            .as_ref()
            .and_then(|object| object.at(&["spec"]).cloned())
    };
    if seen.kind == Kind::HorizontalPodAutoscaler && spec(&seen.before) != spec(&seen.after) {
        keys.push(Arc::clone(&seen.key));
    }
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    let Some(scaler) = view.mirror.find(Kind::HorizontalPodAutoscaler, key) else {
        return Plan::default();
    };
    let kind = Kind::named(
        scaler
            .text_at(&["spec", "scaleTargetRef", "apiVersion"])
            .unwrap_or_default(),
        scaler
            .text_at(&["spec", "scaleTargetRef", "kind"])
            .unwrap_or_default(),
    );
    let name = scaler
        .text_at(&["spec", "scaleTargetRef", "name"])
        .unwrap_or_default();
    let target = kind.and_then(|kind| {
        let key = format!("{}/{name}", scaler.namespace());
        Some((kind, &**view.mirror.find(kind, &key)?))
    });
    let selector = target.and_then(|(_, target)| read::selector(target.at(&["spec", "selector"])));
    let is_one = |pod: &Arc<Object>| {
        read::is_active(pod)
            && selector
                .as_ref()
                .is_some_and(|selector| read::selects(selector, pod))
    };
    let samples: Vec<Sample> = view
        .mirror
        .within(Kind::Pod, scaler.namespace())
        .filter(|pod| is_one(pod))
        .map(|pod| {
            let (used, asked) = (usage::of_pod(pod, view.rules, view.now), requests_of(pod));
            let containers = read::list(pod, &["spec", "containers"]);
            let first = containers.first().map_or("", |of| read::text(of, "name"));
            Sample {
                pod: pod.name().to_owned(),
                container: first.to_owned(),
                is_ready: read::is_ready(pod),
                cpu: used.cpu_millis,
                memory: used.memory_bytes,
                cpu_asked: asked.get("cpu"),
                memory_asked: asked.get("memory"),
            }
        })
        .collect();
    plan::plan(&Inputs {
        scaler,
        target,
        samples: &samples,
        noted: view.noted,
        now: view.now,
    })
}
