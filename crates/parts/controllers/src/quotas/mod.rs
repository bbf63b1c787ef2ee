//! Shares FederatedResourceQuotas out to members, and counts what is used of them.
//!
//! Reads:  FederatedResourceQuotas, their works, clusters; ResourceBindings where what they ask for is counted.
//! Writes: works that hold a ResourceQuota for each assigned cluster; the status of FederatedResourceQuotas.
//! Keeps:  one work for each cluster that is there and has an assignment, none for any other.
//!
//! Where quotas are enforced, the API server charges them for what bindings ask before it stores those. This controller
//! then counts what is stored, a little later, so that it takes back only what was charged and came to nothing.

pub mod plan;
#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use api::{
    policy::FederatedResourceQuota,
    read::read,
    well_known::labels::{FEDERATED_RESOURCE_QUOTA_NAME, FEDERATED_RESOURCE_QUOTA_NAMESPACE},
    work::v1alpha2::ResourceBindingSpec,
};
use client::{Cache, Caches, Change, Scope};
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use object::{Object, ObjectKey};
use runtime::Spawner;

use self::plan::{Inputs, Quota};
use crate::{binding_view::Binding, change, kinds, views::Views};

/// The index of works by the quota they are for.
const BY_QUOTA: &str = "quota";

/// How long after a change of bindings they are counted: a binding is stored right after its quotas were charged.
const SETTLING: Duration = Duration::from_secs(1);

/// What is switched on or off.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether shares become works (`federatedResourceQuotaSync`).
    pub shares: bool,
    /// Whether what is used is written (`federatedResourceQuotaStatus`).
    pub counts: bool,
    /// Whether what bindings ask for is what is used (gate `FederatedQuotaEnforcement`).
    pub enforces: bool,
}

/// The controller.
#[derive(Debug)]
pub struct Quotas {
    views: Views,
    quotas: Cache,
    options: Options,
}

impl Quotas {
    /// Starts the controller.
    pub fn start(views: &Views, options: Options, caches: &Caches, spawner: &Spawner, cx: &Cx) {
        let quotas = caches.follow(&kinds::of::<FederatedResourceQuota>(), Scope::all());
        views.bindings.works.index_by(BY_QUOTA, |work| {
            quota_of(work)
                .map(|key| key.to_string())
                .into_iter()
                .collect()
        });
        let controller = Self {
            views: views.clone(),
            quotas: quotas.clone(),
            options,
        };
        let (assigned, sharing) = (quotas.clone(), quotas.clone());
        let enforces = options.enforces;
        let mut controller = Controller::new("federatedResourceQuota", controller)
            .watch(&quotas, move |change| {
                (!enforces || is_asked(change)).then(|| change.key())
            })
            .watch(&views.bindings.works, of_work)
            .watch(&views.clusters, move |change| of_cluster(change, &assigned));
        if enforces {
            let (charged, asked) = (controller.queue(), controller.queue());
            let followed = [
                quotas.on_change(move |change| charged.add_after(change.key(), SETTLING)),
                views.bindings.namespaced.on_change(move |change| {
                    for key in of_binding(change, &sharing) {
                        asked.add_after(key, SETTLING);
                    }
                }),
            ];
            spawner.spawn("federatedResourceQuota uses", |stop| async move {
                stop.cancelled().await;
                drop(followed);
            });
            controller = controller.needs(&views.bindings.namespaced);
        }
        controller.run(spawner, cx.clone());
    }

    fn asked_in(&self, namespace: &str) -> Vec<ResourceBindingSpec> {
        let bindings = self.views.bindings.namespaced.in_namespace(namespace);
        bindings
            .iter()
            .filter(|binding| !binding.is_terminating())
            .filter_map(|binding| Some(Binding::read(binding).ok()?.spec))
            .collect()
    }
}

impl Reconcile for Quotas {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey, cx: &Cx) -> Result<Wake, ReconcileError> {
        let object = self.quotas.get(key);
        let is_known = object.is_some() || self.quotas.complete().is_some();
        let quota: Option<FederatedResourceQuota> = match &object {
            Some(object) => {
                Some(read(object).map_err(|error| ReconcileError::Terminal(error.to_string()))?)
            }
            None => None,
        };
        let works: Vec<Arc<Object>> = self
            .views
            .bindings
            .works
            .indexed(BY_QUOTA, &key.to_string());
        let works: Vec<&Object> = works.iter().map(Arc::as_ref).collect();
        let clusters: BTreeSet<String> = self
            .views
            .clusters
            .list()
            .iter()
            .map(|cluster| cluster.name().to_owned())
            .collect();
        let asked = self.options.enforces.then(|| self.asked_in(&key.namespace));
        let inputs = Inputs {
            key,
            quota: object
                .as_deref()
                .zip(quota.as_ref())
                .map(|(object, quota)| Quota { object, quota }),
            clusters: &clusters,
            works: &works,
            are_all: is_known
                && self.views.bindings.works.complete().is_some()
                && self.views.clusters.complete().is_some(),
            bindings: asked.as_deref(),
        };
        let mut wake = Wake::OnChange;
        if self.options.shares {
            let plan = plan::share(&inputs);
            cx.carry_out(&plan).await?;
            wake = plan.wake;
        }
        if self.options.counts {
            cx.carry_out(&plan::count(&inputs)).await?;
        }
        Ok(wake)
    }
}

/// The quota that a work is for; `None` for works of others.
fn quota_of(work: &Object) -> Option<ObjectKey> {
    Some(ObjectKey::namespaced(
        work.label(FEDERATED_RESOURCE_QUOTA_NAMESPACE)?,
        work.label(FEDERATED_RESOURCE_QUOTA_NAME)?,
    ))
}

/// Whether a quota asks for something else than before, or is gone.
fn is_asked(change: &Change) -> bool {
    change::is_more_than_status(change.before.as_ref(), change.after.as_ref())
}

/// The quota of a work that came, went or reports something.
fn of_work(change: &Change) -> Vec<ObjectKey> {
    let keys: BTreeSet<ObjectKey> = change.states().filter_map(|work| quota_of(work)).collect();
    keys.into_iter().collect()
}

/// The quotas that assign something to a cluster that came or went.
fn of_cluster(change: &Change, quotas: &Cache) -> Vec<ObjectKey> {
    if change.before.is_some() && change.after.is_some() {
        return Vec::new();
    }
    let quotas = quotas.list();
    let assigning = quotas.iter().filter(|quota| {
        quota
            .at(&["spec", "staticAssignments"])
            .and_then(object::Value::as_array)
            .is_some_and(|shares| !shares.is_empty())
    });
    assigning.map(|quota| quota.key()).collect()
}

/// The quotas of a binding's namespace, if what it asks for may have changed.
fn of_binding(change: &Change, quotas: &Cache) -> Vec<ObjectKey> {
    if !change::is_more_than_status(change.before.as_ref(), change.after.as_ref()) {
        return Vec::new();
    }
    let quotas = quotas.in_namespace(&change.key().namespace);
    quotas.iter().map(|quota| quota.key()).collect()
}
