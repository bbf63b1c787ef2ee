//! StatefulSets: pods with names, made and replaced one after the other.
//!
//! Reads:  the StatefulSet, its pods, its claims, its revisions.
//! Writes: revisions of the template, claims, pods, the status.
//! Keeps:  at most one pod of each ordinal; in order unless the policy is parallel; nothing below the partition changes.

mod plan;
mod pods;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::controllers::claim;
use crate::engine::action::Plan;
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};

use plan::Inputs;

pub(crate) const CONTROLLER: Controller = Controller {
    name: "statefulset",
    component: "statefulset-controller",
    wakes,
    plan,
};

fn wakes(seen: &Seen, mirror: &Mirror, keys: &mut Vec<Arc<str>>) {
    claim::wake(seen, mirror, Kind::StatefulSet, Kind::Pod, keys);
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    let Some(set) = view.mirror.find(Kind::StatefulSet, key) else {
        return Plan::default();
    };
    let has_claim = |name: &str| {
        let key = format!("{}/{name}", set.namespace());
        view.mirror
            .find(Kind::PersistentVolumeClaim, &key)
            .is_some()
    };
    // Upstream: only a pod with one of its names can be one of its pods.
    let claims = claim::claim(view.mirror, set, Kind::Pod, |pod| {
        pods::ordinal_of(set, pod).is_some()
    });
    let revisions = claim::claim(view.mirror, set, Kind::ControllerRevision, |_| true);
    let plan = plan::plan(&Inputs {
        set,
        pods: &claims.held,
        has_claim: &has_claim,
        revisions: &revisions.held,
        now: view.now,
    });
    claims.before(revisions.before(plan))
}
