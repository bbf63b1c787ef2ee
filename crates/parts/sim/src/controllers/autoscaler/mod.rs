//! HorizontalPodAutoscalers: as many replicas as the usage of the pods asks for.
//!
//! Reads:  the autoscaler, what it scales, the pods of that, their simulated usage.
//! Writes: the replicas of the target, the autoscaler's status.
//! Keeps:  within the bounds; down only after the highest wish of the last five minutes has passed.

mod plan;

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
    wakes,
    plan,
};

fn wakes(seen: &Seen, _: &Mirror, keys: &mut Vec<Arc<str>>) {
    if seen.kind == Kind::HorizontalPodAutoscaler && seen.after.is_some() {
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
            Sample {
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
        now: view.now,
    })
}
