//! CronJobs: a Job whenever its schedule says so.
//!
//! Reads:  the CronJob and its Jobs.
//! Writes: Jobs, deletions of old ones, the status.
//! Keeps:  a Job for each time of the schedule has a name derived from that time, so none is made twice.

mod plan;

use std::sync::Arc;

use crate::engine::action::Plan;
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};
use crate::read;

use plan::Inputs;

pub(crate) const CONTROLLER: Controller = Controller {
    name: "cronjob",
    component: "cronjob-controller",
    wakes,
    plan,
};

fn wakes(seen: &Seen, _: &Mirror, keys: &mut Vec<Arc<str>>) {
    match seen.kind {
        Kind::CronJob => keys.push(Arc::clone(&seen.key)),
        Kind::Job => {
            let Some(job) = seen.either() else { return };
            if let Some(owner) = read::controller(job)
                && read::text(owner, "kind") == "CronJob"
            {
                keys.push(format!("{}/{}", job.namespace(), read::text(owner, "name")).into());
            }
        }
        _ => {}
    }
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    let Some(cron) = view.mirror.find(Kind::CronJob, key) else {
        return Plan::default();
    };
    plan::plan(&Inputs {
        cron,
        jobs: &view.mirror.owned(cron.uid(), Kind::Job),
        now: view.now,
    })
}
