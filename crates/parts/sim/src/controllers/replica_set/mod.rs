//! ReplicaSets keep their number of pods.
//!
//! Reads:  the ReplicaSet and the pods it controls.
//! Writes: pods of the template, deletions of those too many, the status.
//! Keeps:  as many active pods as are wanted; those go first that are missed least.

mod plan;
mod ranking;

use std::sync::Arc;

use crate::engine::action::Plan;
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};
use crate::read;

use plan::Inputs;
pub(crate) use ranking::least_missed;

pub(crate) const CONTROLLER: Controller = Controller {
    name: "replicaset",
    wakes,
    plan,
};

fn wakes(seen: &Seen, _: &Mirror, keys: &mut Vec<Arc<str>>) {
    wake_owner(seen, Kind::ReplicaSet, keys);
}

/// Wakes an object of a kind, and the one that controls a pod that changed.
pub(crate) fn wake_owner(seen: &Seen, kind: Kind, keys: &mut Vec<Arc<str>>) {
    if seen.kind == kind {
        keys.push(Arc::clone(&seen.key));
        return;
    }
    if seen.kind != Kind::Pod {
        return;
    }
    for pod in seen.both() {
        if let Some(owner) = read::controller(pod)
            && read::text(owner, "kind") == kind.row().kind
        {
            keys.push(format!("{}/{}", pod.namespace(), read::text(owner, "name")).into());
        }
    }
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    let Some(set) = view.mirror.find(Kind::ReplicaSet, key) else {
        return Plan::default();
    };
    let pods = view.mirror.owned(set.uid(), Kind::Pod);
    plan::plan(&Inputs {
        set,
        pods: &pods,
        trouble: view.trouble,
        now: view.now,
    })
}
