//! DaemonSets: one pod on every node that suits.
//!
//! Reads:  the DaemonSet, its pods and revisions, the nodes.
//! Writes: revisions of the template, pods for nodes that lack one, deletions of those too many or too old, the status.
//! Keeps:  at most one pod of the set on a node, or two where a new one comes before the old one goes; no more than
//!         `maxUnavailable` are missing for an update.

mod plan;

use std::sync::Arc;

use crate::controllers::claim;
use crate::engine::action::Plan;
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};

use plan::Inputs;

pub(crate) const CONTROLLER: Controller = Controller {
    name: "daemonset",
    component: "daemonset-controller",
    wakes,
    plan,
};

fn wakes(seen: &Seen, mirror: &Mirror, keys: &mut Vec<Arc<str>>) {
    if seen.kind == Kind::Node {
        keys.extend(mirror.all(Kind::DaemonSet).map(|(key, _)| Arc::clone(key)));
        return;
    }
    claim::wake(seen, mirror, Kind::DaemonSet, Kind::Pod, keys);
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    let Some(set) = view.mirror.find(Kind::DaemonSet, key) else {
        return Plan::default();
    };
    let nodes: Vec<_> = view.mirror.all(Kind::Node).map(|(_, node)| node).collect();
    let claims = claim::claim(view.mirror, set, Kind::Pod, |_| true);
    let revisions = claim::claim(view.mirror, set, Kind::ControllerRevision, |_| true);
    let plan = plan::plan(&Inputs {
        set,
        pods: &claims.held,
        revisions: &revisions.held,
        nodes: &nodes,
        now: view.now,
    });
    claims.before(revisions.before(plan))
}
