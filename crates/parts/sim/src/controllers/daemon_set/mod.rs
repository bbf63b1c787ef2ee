//! DaemonSets: one pod on every node that suits.
//!
//! Reads:  the DaemonSet, its pods, the nodes.
//! Writes: pods for nodes that lack one, deletions of those too many or too old, the status.
//! Keeps:  at most one pod of the set on a node; no more than `maxUnavailable` are missing for an update.

mod plan;

use std::sync::Arc;

use crate::controllers::replica_set::wake_owner;
use crate::engine::action::Plan;
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};

use plan::Inputs;

pub(crate) const CONTROLLER: Controller = Controller {
    name: "daemonset",
    wakes,
    plan,
};

fn wakes(seen: &Seen, mirror: &Mirror, keys: &mut Vec<Arc<str>>) {
    if seen.kind == Kind::Node {
        keys.extend(mirror.all(Kind::DaemonSet).map(|(key, _)| Arc::clone(key)));
        return;
    }
    wake_owner(seen, Kind::DaemonSet, keys);
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    let Some(set) = view.mirror.find(Kind::DaemonSet, key) else {
        return Plan::default();
    };
    let nodes: Vec<_> = view.mirror.all(Kind::Node).map(|(_, node)| node).collect();
    plan::plan(&Inputs {
        set,
        pods: &view.mirror.owned(set.uid(), Kind::Pod),
        nodes: &nodes,
        now: view.now,
    })
}
