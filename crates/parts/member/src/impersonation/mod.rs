//! Keeps in every member the rules by which the proxy may act as users of the control plane.
//!
//! Reads:  clusters, ClusterRoles and ClusterRoleBindings of the control plane.
//! Writes: two works for each cluster: a ClusterRole that lists who may be impersonated, and its binding.
//! Keeps:  only those may be impersonated in a member who may use the proxy to it.

mod plan;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use api::cluster::Cluster;
use api::names::{cluster_of_execution_space, execution_space};
use api::work::v1alpha1::Work;
use client::{Cache, Caches, Change, Scope};
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use object::{Object, ObjectKey};
use runtime::Spawner;

use crate::impersonation::plan::{Inputs, bare, plan};
use crate::{resources, sending};

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
        let works = bare().map(|object| self.works.get(&sending::key(&object, name)));
        let plan = plan(&Inputs {
            cluster: &cluster,
            roles: &roles,
            bindings: &bindings,
            works: [works[0].as_deref(), works[1].as_deref()],
        });
        cx.carry_out(&plan).await?;
        Ok(plan.wake)
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
    clusters
        .list()
        .iter()
        .map(|cluster| cluster.name().to_owned())
        .collect()
}
