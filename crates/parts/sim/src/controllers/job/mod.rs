//! Jobs: pods that run until enough have ended well, or too many have not.
//!
//! Reads:  the Job and its pods.
//! Writes: pods, the status, the deletion of a Job whose time is over.
//! Keeps:  no more than `parallelism` pods at once, no more failures than `backoffLimit`, or than `backoffLimitPerIndex`
//!         for each index.

mod indexes;
mod plan;
mod policy;
mod tally;
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
    name: "job",
    component: "job-controller",
    wakes,
    plan,
};

fn wakes(seen: &Seen, mirror: &Mirror, keys: &mut Vec<Arc<str>>) {
    claim::wake(seen, mirror, Kind::Job, Kind::Pod, keys);
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    let Some(job) = view.mirror.find(Kind::Job, key) else {
        return Plan::default();
    };
    let claims = claim::claim(view.mirror, job, Kind::Pod, |_| true);
    let plan = plan::plan(&Inputs {
        job,
        pods: &claims.held,
        now: view.now,
    });
    match plan::is_managed_elsewhere(job) {
        true => plan,
        false => claims.before(plan),
    }
}
