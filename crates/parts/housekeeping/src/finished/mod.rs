//! Finished jobs go after their time.
//!
//! Reads:  Jobs.
//! Writes: deletes Jobs that finished longer ago than their `ttlSecondsAfterFinished`.
//! Keeps:  a job without that field stays.

mod plan;
#[cfg(test)]
mod tests;

use client::{Cache, Caches, Scope};
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use object::ObjectKey;
use runtime::Spawner;

use self::plan::plan;
use crate::resources;

struct Cleaner {
    jobs: Cache,
}

pub(crate) fn start(caches: &Caches, cx: &Cx, spawner: &Spawner) {
    let jobs = caches.follow(&resources::jobs(), Scope::all());
    let cleaner = Cleaner { jobs: jobs.clone() };
    Controller::new("ttl-after-finished", cleaner)
        .workers(5)
        .watch(&jobs, |change| {
            let after = change.after.as_ref()?;
            let has_time = after.at(&["spec", "ttlSecondsAfterFinished"]).is_some();
            has_time.then(|| change.key())
        })
        .run(spawner, cx.clone());
}

impl Reconcile for Cleaner {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey, cx: &Cx) -> Result<Wake, ReconcileError> {
        let Some(job) = self.jobs.get(key) else {
            return Ok(Wake::OnChange);
        };
        let plan = plan(&job, cx.now());
        cx.carry_out(&plan).await?;
        Ok(plan.wake)
    }
}
