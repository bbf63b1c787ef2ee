//! The kubelets: pods of a node seem to start, run, fail, restart and end, as their behaviour says.
//!
//! Reads:  a node and its pods.
//! Writes: the status of pods; the deletion of pods that have ended on request.
//! Keeps:  no two pods of a node have the same address. A pod's next state follows from its present status and the
//!         time alone, so a restart of the member changes nothing.

mod container;
mod plan;
mod pod;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use object::Object;

use crate::engine::action::Plan;
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, KUBELET, View};
use crate::read;

use plan::Inputs;

pub(crate) const CONTROLLER: Controller = Controller {
    name: "kubelet",
    component: KUBELET,
    wakes,
    plan,
};

fn wakes(seen: &Seen, _: &Mirror, keys: &mut Vec<Arc<str>>) {
    match seen.kind {
        Kind::Node => keys.push(Arc::clone(&seen.key)),
        Kind::Pod => {
            if let Some(pod) = &seen.after
                && !read::node_of(pod).is_empty()
            {
                keys.push(read::node_of(pod).into());
            }
        }
        _ => {}
    }
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    let Some(node) = view.mirror.find(Kind::Node, key) else {
        return Plan::default();
    };
    if view.faults.lost_nodes.contains(key) {
        return Plan::default();
    }
    let pods: Vec<&Object> = view.mirror.pods_on(key).map(|(_, pod)| &**pod).collect();
    let is_failing = |pod: &Object| {
        !view.faults.failing_workloads.is_empty()
            && workloads(view.mirror, pod)
                .iter()
                .any(|name| view.faults.failing_workloads.contains(name))
    };
    plan::plan(&Inputs {
        node,
        pods: &pods,
        rules: view.rules,
        is_failing: &is_failing,
        now: view.now,
    })
}

/// What a pod belongs to, as `namespace/name`: itself, what controls it, and what controls that.
fn workloads(mirror: &Mirror, pod: &Object) -> Vec<String> {
    let mut names = vec![format!("{}/{}", pod.namespace(), pod.name())];
    let mut owner = read::controller(pod).cloned();
    while let Some(reference) = owner.take() {
        let key = format!("{}/{}", pod.namespace(), read::text(&reference, "name"));
        let kind = Kind::named(
            read::text(&reference, "apiVersion"),
            read::text(&reference, "kind"),
        );
        let object = kind.and_then(|kind| mirror.find(kind, &key));
        owner = object
            .and_then(|object| read::controller(object))
            .cloned()
            .filter(|_| names.len() < 4);
        names.push(key);
    }
    names
}
