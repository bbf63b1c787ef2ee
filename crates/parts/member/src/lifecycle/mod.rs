//! What a cluster needs around it in the control plane: its execution namespace, its finalizer, its taints; and the order
//! in which all that goes.
//!
//! Reads:  the cluster, its execution namespace and the works in it, the bindings that name it as a target.
//! Writes: the execution namespace; the cluster's finalizer and the taints that follow from its condition; the finalizers
//!         of works that nobody can finish.
//! Keeps:  a cluster goes after its works, and after the scheduler has moved its bindings away; works of bindings are left
//!         to whoever makes them for a while, and then go with their namespace.

mod plan;
mod taints;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use api::cluster::Cluster;
use api::names::{cluster_of_execution_space, execution_space};
use api::work::v1alpha1::Work;
use api::work::v1alpha2::{ClusterResourceBinding, ResourceBinding};
use client::{Cache, Caches, Change, Scope};
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use object::{Object, ObjectKey, Value};
use runtime::Spawner;
use telemetry::chain;

use crate::lifecycle::plan::{Inputs, plan};
use crate::resources;

/// Bindings by the clusters they name.
const BY_TARGET: &str = "target clusters";

/// The clusters on their way out, all under this one text. A cluster is large, and every binding asks about its own.
const GOING: &str = "going";

/// Takes care of all clusters.
struct Lifecycle {
    clusters: Cache,
    namespaces: Cache,
    works: Cache,
    bindings: [Cache; 2],
}

/// Starts the controller of clusters.
pub fn run(caches: &Caches, cx: Cx, workers: usize, spawner: &Spawner) {
    let follow = |resource| caches.follow(&resource, Scope::all());
    let bindings = [
        follow(resources::of::<ResourceBinding>()),
        follow(resources::of::<ClusterResourceBinding>()),
    ];
    for cache in &bindings {
        cache.index_by(BY_TARGET, targets);
    }
    let clusters = follow(resources::of::<Cluster>());
    clusters.index_by(GOING, |cluster| {
        let is_going = cluster.is_terminating();
        is_going.then(|| GOING.to_owned()).into_iter().collect()
    });
    let lifecycle = Lifecycle {
        clusters,
        namespaces: follow(resources::namespaces()),
        works: follow(resources::of::<Work>()),
        bindings: bindings.clone(),
    };
    let (clusters, namespaces, works) = (
        lifecycle.clusters.clone(),
        lifecycle.namespaces.clone(),
        lifecycle.works.clone(),
    );
    let mut controller = Controller::new("cluster", lifecycle)
        .workers(workers)
        .watch(&clusters, |change| [change.object().name().to_owned()])
        .watch(&namespaces, owner_of_namespace)
        .needs(&works);
    for cache in &bindings {
        let known = clusters.clone();
        controller = controller.watch(cache, move |change| going_targets(change, &known));
    }
    controller.run(spawner, cx);
}

impl Reconcile for Lifecycle {
    type Key = String;

    async fn reconcile(&self, name: &String, cx: &Cx) -> Result<Wake, ReconcileError> {
        let Some(object) = self.clusters.get(&ObjectKey::cluster(name.as_str())) else {
            return Ok(Wake::OnChange);
        };
        let cluster = api::read::read(&object)
            .map_err(|error| ReconcileError::Terminal(chain(&error).to_string()))?;
        let space = execution_space(name);
        let namespace = self.namespaces.get(&ObjectKey::cluster(space.as_str()));
        let works = match object.is_terminating() {
            true => self.works.in_namespace(&space),
            false => Vec::new(),
        };
        let works: Vec<&Object> = works.iter().map(Arc::as_ref).collect();
        let targeted_by = match object.is_terminating() {
            true => self.targeted_by(name),
            false => None,
        };
        let plan = plan(&Inputs {
            object: &object,
            cluster: &cluster,
            namespace: namespace.as_deref(),
            works: &works,
            targeted_by: targeted_by.as_deref(),
            now: cx.now(),
        });
        cx.carry_out(&plan).await?;
        Ok(plan.wake)
    }
}

impl Lifecycle {
    /// The bindings that name the cluster; `None` while that is not known for sure.
    fn targeted_by(&self, name: &str) -> Option<Vec<String>> {
        let mut names = Vec::new();
        for cache in &self.bindings {
            cache.complete()?;
            let named = cache
                .indexed_keys(BY_TARGET, name)
                .into_iter()
                .map(|binding| {
                    let kind = match binding.namespace.as_str() {
                        "" => "ClusterResourceBinding",
                        _ => "ResourceBinding",
                    };
                    format!("{kind} {binding}")
                });
            names.extend(named);
        }
        names.sort_unstable();
        Some(names)
    }
}

/// The cluster whose execution namespace changed.
fn owner_of_namespace(change: &Change) -> Option<String> {
    cluster_of_execution_space(change.object().name()).map(str::to_owned)
}

/// The clusters on their way out that a binding names or named: they may wait for that alone.
fn going_targets(change: &Change, clusters: &Cache) -> Vec<String> {
    let is_going =
        |name: &String| clusters.is_indexed(GOING, GOING, &ObjectKey::cluster(name.as_str()));
    let mut names: Vec<String> = change
        .states()
        .flat_map(|binding| targets(binding))
        .filter(is_going)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The clusters a binding names.
fn targets(binding: &Object) -> Vec<String> {
    let targets = binding.at(&["spec", "clusters"]).and_then(Value::as_array);
    let names = targets
        .into_iter()
        .flatten()
        .filter_map(|target| target.get("name")?.as_str());
    names.map(str::to_owned).collect()
}
