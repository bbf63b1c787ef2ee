//! Asks for a fresh decision about workloads that a `WorkloadRebalancer` names.
//!
//! Reads:  WorkloadRebalancers, bindings.
//! Writes: `spec.rescheduleTriggeredAt` of bindings; the status of WorkloadRebalancers, and deletes them when their time is
//!         up.
//! Keeps:  a workload is triggered once for each rebalancer.

pub mod plan;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use api::{apps::WorkloadRebalancer, read::read};
use client::{Cache, Caches, Scope};
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use failover::rebalance;
use object::{ObjectKey, time::Time};
use runtime::Spawner;

use self::plan::{Inputs, plan};
use crate::{change::is_more_than_status, kinds, views::Views};

/// The controller.
#[derive(Debug)]
pub struct Rebalancer {
    views: Views,
    rebalancers: Cache,
}

impl Rebalancer {
    /// Starts the controller.
    pub fn start(views: &Views, caches: &Caches, spawner: &Spawner, cx: &Cx) {
        let rebalancers = caches.follow(&kinds::of::<WorkloadRebalancer>(), Scope::all());
        let rebalancer = Self {
            views: views.clone(),
            rebalancers: rebalancers.clone(),
        };
        Controller::new("workloadRebalancer", rebalancer)
            .watch(&rebalancers, |change| {
                is_more_than_status(change.before.as_ref(), change.after.as_ref())
                    .then(|| change.key())
            })
            .run(spawner, cx.clone());
    }

    /// The bindings that exist, and since when a fresh decision has been asked of each.
    fn triggered(&self, rebalancer: &WorkloadRebalancer) -> BTreeMap<ObjectKey, Option<Time>> {
        let workloads = rebalancer.spec.workloads.iter();
        workloads
            .filter_map(|workload| {
                let key = rebalance::binding(workload);
                let binding = self.views.bindings.get(&key)?;
                let since = binding
                    .text_at(&["spec", "rescheduleTriggeredAt"])
                    .and_then(|text| text.parse().ok());
                Some((key, since))
            })
            .collect()
    }
}

impl Reconcile for Rebalancer {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey, cx: &Cx) -> Result<Wake, ReconcileError> {
        self.views.ready().await;
        let Some(object) = self.rebalancers.get(key) else {
            return Ok(Wake::OnChange);
        };
        let rebalancer: WorkloadRebalancer =
            read(&object).map_err(|error| ReconcileError::Terminal(error.to_string()))?;
        let plan = plan(&Inputs {
            object: &object,
            rebalancer: &rebalancer,
            triggered: &self.triggered(&rebalancer),
            now: cx.now(),
        });
        cx.carry_out(&plan).await?;
        Ok(plan.wake)
    }
}
