//! Jobs: pods that run until enough have ended well, or too many have not.
//!
//! Reads:  the Job and its pods.
//! Writes: pods, the status, the deletion of a Job whose time is over.
//! Keeps:  no more than `parallelism` pods at once, no more failures than `backoffLimit`.

mod plan;

use std::sync::Arc;

use crate::controllers::replica_set::wake_owner;
use crate::engine::action::Plan;
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};

use plan::Inputs;

pub(crate) const CONTROLLER: Controller = Controller {
    name: "job",
    wakes,
    plan,
};

fn wakes(seen: &Seen, _: &Mirror, keys: &mut Vec<Arc<str>>) {
    wake_owner(seen, Kind::Job, keys);
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    let Some(job) = view.mirror.find(Kind::Job, key) else {
        return Plan::default();
    };
    plan::plan(&Inputs {
        job,
        pods: &view.mirror.owned(job.uid(), Kind::Pod),
        now: view.now,
    })
}
