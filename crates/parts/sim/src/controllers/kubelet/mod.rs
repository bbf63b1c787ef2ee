//! The kubelets: pods of a node seem to start, run, fail, restart and end, as their behaviour says.
//!
//! Reads:  a node and its pods; which ConfigMaps and Secrets there are, and how sessions in containers ended.
//! Writes: the status of pods; the deletion of pods that have ended on request.
//! Keeps:  no two pods of a node have the same address, or the same port of the node. A pod's next state follows from its present status and the
//!         time alone, so a restart of the member changes nothing.

mod companion;
mod configuration;
mod container;
mod ending;
mod identity;
mod image;
mod plan;
mod pod;
mod refusal;
mod resize;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use object::{Object, Value};

use crate::engine::action::Plan;
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, KUBELET, View};
use crate::read;

use configuration::Source;
use plan::Inputs;

pub(crate) const CONTROLLER: Controller = Controller {
    name: "kubelet",
    component: KUBELET,
    wakes,
    plan,
};

fn wakes(seen: &Seen, mirror: &Mirror, keys: &mut Vec<Arc<str>>) {
    match seen.kind {
        Kind::ConfigMap | Kind::Secret => {
            let Some(object) = &seen.after else { return };
            let waiting = mirror
                .within(Kind::Pod, object.namespace())
                .filter(|pod| !read::node_of(pod).is_empty() && may_lack(pod));
            keys.extend(waiting.map(|pod| Arc::from(read::node_of(pod))));
        }
        Kind::Node => keys.push(Arc::clone(&seen.key)),
        Kind::Pod => {
            // One that is gone leaves room for the others.
            if let Some(pod) = seen.either()
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
    let entries = |source: Source, namespace: &str, name: &str| -> Option<Vec<String>> {
        let kind = match source {
            Source::ConfigMap => Kind::ConfigMap,
            Source::Secret => Kind::Secret,
        };
        let object = view.mirror.find(kind, &format!("{namespace}/{name}"))?;
        let fields = ["data", "binaryData"].iter();
        let fields = fields.filter_map(|field| object.at(&[field])?.as_object());
        Some(fields.flat_map(|data| data.keys().cloned()).collect())
    };
    plan::plan(&Inputs {
        node,
        pods: &pods,
        rules: view.rules,
        is_failing: &is_failing,
        entries: &entries,
        left: &|pod, container, since| view.sessions.left(pod.uid(), container, since),
        now: view.now,
    })
}

/// Whether a pod may be waiting for configuration.
fn may_lack(pod: &Object) -> bool {
    let statuses = read::list(pod, &["status", "containerStatuses"]);
    read::phase(pod) == "Pending"
        || statuses.iter().any(|status| {
            let reason = status.pointer("/state/waiting/reason");
            reason.and_then(Value::as_str) == Some("CreateContainerConfigError")
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
