//! Deployments: one ReplicaSet for each revision of the template, and the way from one to the next.
//!
//! Reads:  the Deployment, the ReplicaSets it controls, and those it selects that nobody controls.
//! Writes: ReplicaSets (made, sized, annotated, and the oldest deleted), the Deployment's status and revision.
//! Keeps:  at most `replicas + maxSurge` pods wanted, at least `replicas - maxUnavailable` of them available, while one
//!         revision takes over from another.

mod plan;
mod progress;
mod rollout;
mod sets;
mod status;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::controllers::claim;
use crate::engine::action::Plan;
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};
use crate::read;

use plan::Inputs;

pub(crate) const CONTROLLER: Controller = Controller {
    name: "deployment",
    component: "deployment-controller",
    wakes,
    plan,
};

fn wakes(seen: &Seen, mirror: &Mirror, keys: &mut Vec<Arc<str>>) {
    match seen.kind {
        Kind::Deployment | Kind::ReplicaSet => {
            claim::wake(seen, mirror, Kind::Deployment, Kind::ReplicaSet, keys);
        }
        // Recreate waits for the last old pod to be gone.
        Kind::Pod if seen.after.is_none() => {
            let Some(pod) = seen.either() else { return };
            if let Some(owner) = read::controller(pod)
                && read::text(owner, "kind") == "ReplicaSet"
                && let Some((name, _)) = read::text(owner, "name").rsplit_once('-')
            {
                keys.push(format!("{}/{name}", pod.namespace()).into());
            }
        }
        _ => {}
    }
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    let Some(deployment) = view.mirror.find(Kind::Deployment, key) else {
        return Plan::default();
    };
    let claims = claim::claim(view.mirror, deployment, Kind::ReplicaSet, |_| true);
    let pods_of = |uid: &str| {
        let pods = view.mirror.owned(uid, Kind::Pod);
        pods.iter().filter(|pod| !read::has_ended(pod)).count()
    };
    let plan = plan::plan(&Inputs {
        deployment,
        sets: &claims.held,
        pods_of: &pods_of,
        now: view.now,
    });
    claims.before(plan)
}
