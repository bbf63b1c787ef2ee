//! Marks clusters by what their conditions say: taints by ClusterTaintPolicies, and the actions that Remedies call for.
//!
//! Reads:  clusters, ClusterTaintPolicies, Remedies.
//! Writes: taints of clusters that a policy names; `status.remedyActions` of clusters.
//! Keeps:  a taint stays when its policy goes; an action goes with the last remedy that calls for it.

pub mod plan;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use api::{policy::ClusterTaintPolicy, read::read, remedy::Remedy};
use client::{Cache, Caches, Change, Scope};
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use failover::remedy::Prescription;
use object::{Object, ObjectKey};
use runtime::Spawner;

use crate::{change::is_more_than_status, kinds};

/// Puts taints on clusters and takes them off, as policies say.
#[derive(Debug)]
pub struct TaintPolicies {
    clusters: Cache,
    policies: Cache,
}

/// Writes on clusters what remedies call for.
#[derive(Debug)]
pub struct Remedies {
    clusters: Cache,
    remedies: Cache,
}

impl TaintPolicies {
    /// Starts the controller.
    pub fn start(clusters: &Cache, caches: &Caches, spawner: &Spawner, cx: &Cx) {
        let policies = caches.follow(&kinds::of::<ClusterTaintPolicy>(), Scope::all());
        let controller = Self {
            clusters: clusters.clone(),
            policies: policies.clone(),
        };
        let all = clusters.clone();
        Controller::new("clustertaintpolicy", controller)
            .watch(clusters, of_cluster)
            .watch(&policies, move |change| of_rule(change, &all))
            .run(spawner, cx.clone());
    }
}

impl Remedies {
    /// Starts the controller.
    pub fn start(clusters: &Cache, caches: &Caches, spawner: &Spawner, cx: &Cx) {
        let remedies = caches.follow(&kinds::of::<Remedy>(), Scope::all());
        let controller = Self {
            clusters: clusters.clone(),
            remedies: remedies.clone(),
        };
        let all = clusters.clone();
        Controller::new("remedy", controller)
            .watch(clusters, of_patient)
            .watch(&remedies, move |change| of_rule(change, &all))
            .run(spawner, cx.clone());
    }
}

impl Reconcile for TaintPolicies {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey, cx: &Cx) -> Result<Wake, ReconcileError> {
        let Some(cluster) = self.clusters.get(key) else {
            return Ok(Wake::OnChange);
        };
        let policies: Vec<ClusterTaintPolicy> = readable(&self.policies.list());
        let plan = plan::taint(&cluster, &policies, cx.now());
        cx.carry_out(&plan).await?;
        Ok(plan.wake)
    }
}

impl Reconcile for Remedies {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey, cx: &Cx) -> Result<Wake, ReconcileError> {
        let Some(cluster) = self.clusters.get(key) else {
            return Ok(Wake::OnChange);
        };
        let prescriptions: Vec<Prescription> = self
            .remedies
            .list()
            .iter()
            .filter_map(|object| {
                Some(Prescription {
                    remedy: read(object).ok()?,
                    is_conditional: object.at(&["spec", "decisionMatches"]).is_some(),
                })
            })
            .collect();
        let plan = plan::prescribe(&cluster, &prescriptions);
        cx.carry_out(&plan).await?;
        Ok(plan.wake)
    }
}

/// A cluster that came, or whose conditions changed.
#[must_use]
pub fn of_cluster(change: &Change) -> Option<ObjectKey> {
    differs(change, &["status", "conditions"]).then(|| change.key())
}

/// A cluster that came, or whose conditions or remedies changed.
#[must_use]
pub fn of_patient(change: &Change) -> Option<ObjectKey> {
    let concerns =
        differs(change, &["status", "conditions"]) || differs(change, &["status", "remedyActions"]);
    concerns.then(|| change.key())
}

/// All clusters, when a rule that may be for any of them changes: there are few rules, and they change rarely.
fn of_rule(change: &Change, clusters: &Cache) -> Vec<ObjectKey> {
    if !is_more_than_status(change.before.as_ref(), change.after.as_ref()) {
        return Vec::new();
    }
    let clusters = clusters.list();
    clusters.iter().map(|cluster| cluster.key()).collect()
}

fn differs(change: &Change, path: &[&str]) -> bool {
    match (&change.before, &change.after) {
        (Some(before), Some(after)) => before.at(path) != after.at(path),
        (None, Some(_)) => true,
        (_, None) => false,
    }
}

/// What admission let through can be read; what cannot is no rule.
fn readable<T: api::Kind>(objects: &[Arc<Object>]) -> Vec<T> {
    objects
        .iter()
        .filter_map(|object| read(object).ok())
        .collect()
}
