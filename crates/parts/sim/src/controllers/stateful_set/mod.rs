//! StatefulSets: pods with names, made and replaced one after the other.
//!
//! Reads:  the StatefulSet, its pods, its claims, its revisions.
//! Writes: revisions of the template, claims and their owners, pods, the status.
//! Keeps:  at most one pod of each ordinal; in order unless the policy is parallel; nothing below the partition changes.

mod plan;
mod pods;
mod retention;
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
    name: "statefulset",
    component: "statefulset-controller",
    wakes,
    plan,
};

fn wakes(seen: &Seen, mirror: &Mirror, keys: &mut Vec<Arc<str>>) {
    claim::wake(seen, mirror, Kind::StatefulSet, Kind::Pod, keys);
    if seen.kind != Kind::PersistentVolumeClaim {
        return;
    }
    let owners = seen
        .both()
        .filter_map(|claim| Some((claim.namespace(), read::controller(claim)?)));
    for (namespace, owner) in owners {
        let key = format!("{namespace}/{}", read::text(owner, "name"));
        match read::text(owner, "kind") {
            "StatefulSet" => keys.push(key.into()),
            // A claim that goes with its pod.
            "Pod" => {
                let pod = mirror.find(Kind::Pod, &key);
                let owner = pod.and_then(|pod| read::controller(pod));
                let owner = owner.filter(|owner| read::text(owner, "kind") == "StatefulSet");
                let name = owner.map(|owner| read::text(owner, "name"));
                keys.extend(name.map(|name| Arc::from(format!("{namespace}/{name}"))));
            }
            _ => {}
        }
    }
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    let Some(set) = view.mirror.find(Kind::StatefulSet, key) else {
        return Plan::default();
    };
    let find_claim = |name: &str| {
        let key = format!("{}/{name}", set.namespace());
        let claim = view.mirror.find(Kind::PersistentVolumeClaim, &key);
        claim.map(|claim| &**claim)
    };
    // Upstream: only a pod with one of its names can be one of its pods.
    let claims = claim::claim(view.mirror, set, Kind::Pod, |pod| {
        pods::ordinal_of(set, pod).is_some()
    });
    let revisions = claim::claim(view.mirror, set, Kind::ControllerRevision, |_| true);
    let plan = plan::plan(&Inputs {
        set,
        pods: &claims.held,
        find_claim: &find_claim,
        revisions: &revisions.held,
        now: view.now,
    });
    claims.before(revisions.before(plan))
}
