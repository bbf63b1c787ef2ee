//! Sends the control plane's namespaces to all clusters, so that what is propagated has a place to go.
//!
//! Reads:  namespaces, clusters, ClusterOverridePolicies, works.
//! Writes: one `Work` for each namespace and cluster, owned by the namespace: when that goes, so do they.
//! Keeps:  namespaces of the system, and those that opted out, are never sent; a work that goes while its namespace stays
//!         comes back; a work that has lost its owner gets it back; a work that a binding writes is the binding's.

mod plan;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use api::cluster::Cluster;
use api::names::{cluster_of_execution_space, execution_space};
use api::policy::ClusterOverridePolicy;
use api::work::v1alpha1::Work;
use client::{Cache, Caches, CallError, Change, Scope};
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use object::{Object, ObjectKey, Value};
use overrides::{Overrides, Policy};
use runtime::Spawner;

pub use crate::namespaces::plan::Skipped;
use crate::namespaces::plan::{Target, has_lost, plan, standing};
use crate::{resources, sending};

struct Namespaces {
    namespaces: Cache,
    clusters: Cache,
    works: Cache,
    rules: Cache,
    skipped: Skipped,
}

/// Starts sending namespaces.
pub fn run(caches: &Caches, cx: Cx, skipped: Skipped, spawner: &Spawner) {
    let follow = |resource| caches.follow(&resource, Scope::all());
    let namespaces = Namespaces {
        namespaces: follow(resources::namespaces()),
        clusters: follow(resources::of::<Cluster>()),
        works: follow(resources::of::<Work>()),
        rules: follow(resources::of::<ClusterOverridePolicy>()),
        skipped,
    };
    let (all, clusters, works, rules) = (
        namespaces.namespaces.clone(),
        namespaces.clusters.clone(),
        namespaces.works.clone(),
        namespaces.rules.clone(),
    );
    let (of_spaces, of_clusters, of_rules) = (all.clone(), all.clone(), all.clone());
    Controller::new("namespace", namespaces)
        .watch(&all, move |change| keys_for_namespace(change, &of_spaces))
        .watch(&clusters, move |change| match is_relabelled(change) {
            true => names(&of_clusters),
            false => Vec::new(),
        })
        .watch(&rules, move |_| names(&of_rules))
        .watch(&works, keys_for_work)
        .run(spawner, cx);
}

impl Reconcile for Namespaces {
    type Key = String;

    async fn reconcile(&self, name: &String, cx: &Cx) -> Result<Wake, ReconcileError> {
        let Some(namespace) = self.namespaces.get(&ObjectKey::cluster(name.as_str())) else {
            return Ok(Wake::OnChange);
        };
        // Most namespaces of a small control plane are its own: nothing is gathered for them.
        if self.skipped.contains(name) {
            return Ok(Wake::OnChange);
        }
        let targets: Vec<Target> = self
            .clusters
            .list()
            .into_iter()
            .filter(|cluster| !cluster.is_terminating() && self.has_space(cluster.name()))
            .map(|cluster| Target {
                work: self.works.get(&sending::key(&namespace, cluster.name())),
                cluster,
            })
            .collect();
        let is_sure = has_lost(&targets) && stays(&namespace, cx).await?;
        let standing = standing(&namespace, is_sure);
        let overrides = self.overrides();
        let plan = plan(&namespace, &targets, &overrides, &self.skipped, standing);
        for problem in &plan.problems {
            tracing::warn!(
                cluster = problem.subject,
                name,
                error = problem.message,
                "cannot send a namespace"
            );
        }
        cx.carry_out(&plan).await?;
        Ok(plan.wake)
    }
}

impl Namespaces {
    /// Whether works can be put there: the execution namespace comes soon after its cluster, and says so when it does.
    fn has_space(&self, cluster: &str) -> bool {
        let space = self
            .namespaces
            .get(&ObjectKey::cluster(execution_space(cluster)));
        space.is_some_and(|space| !space.is_terminating())
    }

    fn overrides(&self) -> Overrides {
        let mut overrides = Overrides::default();
        for object in self.rules.list() {
            if let Ok(policy) = api::read::read::<ClusterOverridePolicy>(&object) {
                overrides.insert(Policy::from(&policy));
            }
        }
        overrides
    }
}

/// The namespace itself; all of them when a cluster's execution namespace comes into being.
fn keys_for_namespace(change: &Change, namespaces: &Cache) -> Vec<String> {
    let name = change.object().name();
    if cluster_of_execution_space(name).is_none() {
        return vec![name.to_owned()];
    }
    match change.before {
        None => names(namespaces),
        Some(_) => Vec::new(),
    }
}

/// Asks the server itself whether a namespace is there and is not on its way out: what owns works by what was once seen
/// takes them with it.
async fn stays(namespace: &Object, cx: &Cx) -> Result<bool, CallError> {
    let (resource, key) = (resources::namespaces(), namespace.key());
    match cx.client.get_metadata(&resource, &key).await {
        Ok(now) => Ok(now.uid() == namespace.uid() && !now.is_terminating()),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error),
    }
}

/// The namespaces that lost a work: somebody deleted it, or took its owner away, or the binding it was made for has left the
/// cluster.
fn keys_for_work(change: &Change) -> Vec<String> {
    let was_owned = |before: &Arc<Object>| before.owner_references().next().is_some();
    let is_lost = change.after.as_ref().is_none_or(|after| {
        change.before.as_ref().is_some_and(was_owned) && sending::is_lost(after)
    });
    if !is_lost {
        return Vec::new();
    }
    let work = change.object();
    let manifests = work.at(&["spec", "workload", "manifests"]);
    let manifests = manifests.and_then(Value::as_array).into_iter().flatten();
    let namespaces = manifests.filter(|manifest| {
        manifest.get("kind").and_then(Value::as_str) == Some("Namespace")
            && manifest.get("apiVersion").and_then(Value::as_str) == Some("v1")
    });
    namespaces
        .filter_map(|manifest| manifest.pointer("/metadata/name")?.as_str())
        .map(str::to_owned)
        .collect()
}

/// Whether something changed that rules may ask about a cluster.
fn is_relabelled(change: &Change) -> bool {
    let (Some(before), Some(after)) = (&change.before, &change.after) else {
        return change.after.is_some();
    };
    let differs = |path: &[&str]| before.at(path) != after.at(path);
    differs(&["metadata", "labels"])
        || ["provider", "region", "zones"]
            .iter()
            .any(|field| differs(&["spec", field]))
}

fn names(namespaces: &Cache) -> Vec<String> {
    let all = namespaces.keys_in_namespace("").into_iter();
    let own = |name: &String| cluster_of_execution_space(name).is_none();
    all.map(|key| key.name).filter(own).collect()
}
