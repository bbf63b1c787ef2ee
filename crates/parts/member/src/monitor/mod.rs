//! Notices when nobody reports on a cluster any more.
//!
//! Reads:  the cluster's Ready condition and the Lease of its reporter.
//! Writes: that Ready condition, as Unknown, when both have been silent for too long.
//! Keeps:  time is measured by the clock here alone; a cluster that this process reports on itself never becomes unknown.

mod plan;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use api::cluster::{Cluster, sync_mode};
use api::names::CLUSTER_NAMESPACE;
use api::well_known::conditions::cluster::READY;
use client::{Cache, Caches, Scope};
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use intent::{Action, Part, Plan};
use object::condition::{find, with_condition};
use object::time::MicroTime;
use object::{Object, ObjectKey};
use runtime::Spawner;
use telemetry::chain;

pub use crate::monitor::plan::Grace;
use crate::monitor::plan::{Record, Reporter, Sight, judge};
use crate::resources;

/// Watches over all clusters.
struct Monitor {
    clusters: Cache,
    leases: Cache,
    grace: Grace,
    /// Lost in a restart, which grants everybody a fresh grace.
    records: Mutex<HashMap<String, Record>>,
}

/// Starts the monitor.
pub fn run(caches: &Caches, cx: Cx, grace: Grace, spawner: &Spawner) {
    let monitor = Monitor {
        clusters: caches.follow(&resources::of::<Cluster>(), Scope::all()),
        leases: caches.follow(
            &resources::leases(),
            Scope::all().in_namespace(CLUSTER_NAMESPACE),
        ),
        grace,
        records: Mutex::default(),
    };
    let (clusters, leases) = (monitor.clusters.clone(), monitor.leases.clone());
    Controller::new("cluster-monitor", monitor)
        .watch(&clusters, |change| [change.object().name().to_owned()])
        .watch(&leases, |change| [change.object().name().to_owned()])
        .run(spawner, cx);
}

impl Reconcile for Monitor {
    type Key = String;

    async fn reconcile(&self, name: &String, cx: &Cx) -> Result<Wake, ReconcileError> {
        let Some(object) = self.clusters.get(&ObjectKey::cluster(name.as_str())) else {
            self.records().remove(name);
            return Ok(Wake::OnChange);
        };
        let cluster: Cluster = api::read::read(&object)
            .map_err(|error| ReconcileError::Terminal(chain(&error).to_string()))?;
        let lease = self
            .leases
            .get(&ObjectKey::namespaced(CLUSTER_NAMESPACE, name.as_str()));
        let reporter = match cluster.spec.sync_mode.as_str() {
            sync_mode::PULL => Reporter::Elsewhere,
            _ => Reporter::Here,
        };
        let sight = Sight {
            created: cluster.metadata.creation_timestamp,
            ready: find(&cluster.status.conditions, READY),
            renewed: lease.as_deref().and_then(renewed),
            reporter,
            now: cx.now(),
        };
        let judgement = {
            let mut records = self.records();
            let judgement = judge(records.remove(name), &sight, self.grace);
            records.insert(name.clone(), judgement.record.clone());
            judgement
        };
        if let Some(verdict) = judgement.verdict {
            let conditions = with_condition(cluster.status.conditions.clone(), verdict, cx.now()).0;
            let patch = serde_json::json!({"status": {"conditions": conditions}});
            let mut plan = Plan::default();
            plan.push(Action::patch(
                resources::of::<Cluster>(),
                &object,
                patch,
                Part::Status,
            ));
            cx.carry_out(&plan).await?;
        }
        Ok(judgement.look_again.map_or(Wake::OnChange, Wake::At))
    }
}

impl Monitor {
    fn records(&self) -> MutexGuard<'_, HashMap<String, Record>> {
        // Nothing that runs under the lock leaves it half changed.
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn renewed(lease: &Object) -> Option<MicroTime> {
    lease.text_at(&["spec", "renewTime"])?.parse().ok()
}
