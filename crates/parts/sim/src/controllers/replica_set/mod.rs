//! ReplicaSets, and the ReplicationControllers before them, keep their number of pods.
//!
//! Reads:  the set, the pods it controls, and those it selects that nobody controls.
//! Writes: pods of the template, the owner of pods it takes or lets go of, deletions of those too many, the status.
//! Keeps:  as many active pods as are wanted; those go first that are missed least.

mod plan;
mod ranking;

use std::sync::Arc;

use crate::controllers::claim;
use crate::engine::action::Plan;
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};
use crate::read;

use plan::Inputs;
pub(crate) use ranking::least_missed;

pub(crate) const CONTROLLER: Controller = Controller {
    name: "replicaset",
    component: "replicaset-controller",
    wakes,
    plan,
};

/// The older kind, which differs in how it selects.
pub(crate) const OLDER: Controller = Controller {
    name: "replication",
    component: "replication-controller",
    wakes: |seen, mirror, keys| {
        claim::wake(seen, mirror, Kind::ReplicationController, Kind::Pod, keys);
    },
    plan: |view, key| plan_for(Kind::ReplicationController, view, key),
};

fn wakes(seen: &Seen, mirror: &Mirror, keys: &mut Vec<Arc<str>>) {
    claim::wake(seen, mirror, Kind::ReplicaSet, Kind::Pod, keys);
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    plan_for(Kind::ReplicaSet, view, key)
}

fn plan_for(kind: Kind, view: &View<'_>, key: &str) -> Plan {
    let Some(set) = view.mirror.find(kind, key) else {
        return Plan::default();
    };
    let claims = claim::claim(view.mirror, set, Kind::Pod, read::is_active);
    let plan = plan::plan(&Inputs {
        kind,
        set,
        pods: &claims.held,
        trouble: view.trouble,
        now: view.now,
    });
    claims.before(plan)
}
