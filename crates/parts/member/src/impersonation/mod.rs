//! Keeps in every member the rules by which the proxy may act as users of the control plane.
//!
//! Reads:  clusters, ClusterRoles and ClusterRoleBindings of the control plane.
//! Writes: works for each cluster: a ClusterRole that lists who may be impersonated and its binding; the same in each
//!         namespace whose service accounts may be; and what the administrator of the control plane may do there.
//! Keeps:  only those may be impersonated in a member who may use the proxy to it, and nobody only because they are of the
//!         system.

mod plan;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use api::cluster::Cluster;
use api::names::{cluster_of_execution_space, execution_space};
use api::work::v1alpha1::Work;
use client::{Cache, Caches, Change, Scope};
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use object::{Object, ObjectKey, Value};
use runtime::Spawner;

pub(crate) use crate::impersonation::plan::ADMINISTRATION;
use crate::impersonation::plan::{Inputs, is_ours, plan};
use crate::resources;

/// The works that this has made, by the execution namespace they are in.
const OF_IMPERSONATION: &str = "rules of impersonation";

struct Impersonation {
    clusters: Cache,
    namespaces: Cache,
    roles: Cache,
    bindings: Cache,
    works: Cache,
}

/// Starts keeping the rules.
pub fn run(caches: &Caches, cx: Cx, spawner: &Spawner) {
    let follow = |resource| caches.follow(&resource, Scope::all());
    let impersonation = Impersonation {
        clusters: follow(resources::of::<Cluster>()),
        namespaces: follow(resources::namespaces()),
        roles: follow(resources::cluster_roles()),
        bindings: follow(resources::cluster_role_bindings()),
        works: follow(resources::of::<Work>()),
    };
    impersonation.works.index_by(OF_IMPERSONATION, spaces);
    let (clusters, namespaces, works) = (
        impersonation.clusters.clone(),
        impersonation.namespaces.clone(),
        impersonation.works.clone(),
    );
    let (roles, bindings) = (impersonation.roles.clone(), impersonation.bindings.clone());
    let (of_roles, of_bindings) = (clusters.clone(), clusters.clone());
    Controller::new("unified-auth", impersonation)
        .watch(&clusters, |change| match is_new(change) {
            true => Some(change.object().name().to_owned()),
            false => None,
        })
        .watch(&namespaces, |change| {
            cluster_of_execution_space(change.object().name()).map(str::to_owned)
        })
        .watch(&roles, move |_| names(&of_roles))
        .watch(&bindings, move |_| names(&of_bindings))
        .needs(&works)
        .run(spawner, cx);
}

impl Reconcile for Impersonation {
    type Key = String;

    async fn reconcile(&self, name: &String, cx: &Cx) -> Result<Wake, ReconcileError> {
        let Some(cluster) = self.clusters.get(&ObjectKey::cluster(name.as_str())) else {
            return Ok(Wake::OnChange);
        };
        // Works can be put there as soon as the execution namespace is there, which wakes this again.
        let space = self
            .namespaces
            .get(&ObjectKey::cluster(execution_space(name)));
        if space.is_none_or(|space| space.is_terminating()) {
            return Ok(Wake::OnChange);
        }
        let (roles, bindings) = (self.roles.list(), self.bindings.list());
        let roles: Vec<&Object> = roles.iter().map(Arc::as_ref).collect();
        let bindings: Vec<&Object> = bindings.iter().map(Arc::as_ref).collect();
        let works = self.works.indexed(OF_IMPERSONATION, &execution_space(name));
        let works: Vec<&Object> = works.iter().map(Arc::as_ref).collect();
        let views = [&self.roles, &self.bindings, &self.works];
        let plan = plan(&Inputs {
            cluster: &cluster,
            roles: &roles,
            bindings: &bindings,
            works: &works,
            are_all: views.iter().all(|view| view.complete().is_some()),
        });
        cx.carry_out(&plan).await?;
        Ok(plan.wake)
    }
}

/// The execution namespace of a work, if it is one of these.
fn spaces(work: &Object) -> Vec<String> {
    let manifest = work.at(&["spec", "workload", "manifests"]);
    let manifest = manifest
        .and_then(Value::as_array)
        .and_then(|all| all.first());
    // Works of users' own templates belong to nobody.
    let is_for_cluster = work.owner_references().any(|owner| owner.kind == "Cluster");
    match is_for_cluster && manifest.is_some_and(is_ours) {
        true => vec![work.namespace().to_owned()],
        false => Vec::new(),
    }
}

/// Whether a cluster came, or names another account.
fn is_new(change: &Change) -> bool {
    let (Some(before), Some(after)) = (&change.before, &change.after) else {
        return change.after.is_some();
    };
    let account = |cluster: &Object| cluster.at(&["spec", "impersonatorSecretRef"]).cloned();
    account(before) != account(after)
}

fn names(clusters: &Cache) -> Vec<String> {
    let keys = clusters.keys_in_namespace("").into_iter();
    keys.map(|key| key.name).collect()
}
