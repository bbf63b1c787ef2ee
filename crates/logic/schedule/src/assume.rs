//! What was promised to bindings but may not show in the clusters' reports yet.
//!
//! Without it two decisions in a row see the same room and hand it out twice. Promises are kept per binding, end when the
//! workload is healthy on the cluster, and lapse by themselves after five minutes: then the cluster's report has had
//! time to show what runs.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

use api::work::{
    ResourceHealth,
    v1alpha2::{AggregatedStatusItem, ResourceBindingSpec},
};
use estimate::{Assumed, Component, Workload, demand};
use object::time::Time;

use crate::decision::Target;

/// How long a promise is kept, in seconds, unless it is renewed.
const LIFETIME: i64 = 300;

/// Promises by binding and by cluster.
#[derive(Clone, Debug, Default)]
pub struct Assumptions {
    by_binding: BTreeMap<Arc<str>, Promise>,
}

#[derive(Clone, Debug)]
struct Promise {
    until: Time,
    by_cluster: BTreeMap<Arc<str>, Workload>,
}

impl Assumptions {
    /// Remembers that the binding called `key` was given `targets`. Clusters that left its result lose their promise.
    ///
    /// Only for workloads: nothing else takes room. The full count of each cluster is remembered, not what was added.
    pub fn record(&mut self, key: &str, spec: &ResourceBindingSpec, targets: &[Target], now: Time) {
        if targets.is_empty() || !spec.is_workload() {
            return;
        }
        let by_cluster = targets.iter().map(|target| {
            let workload = Workload {
                namespace: spec.resource.namespace.clone(),
                components: promised(spec, target),
            };
            (Arc::clone(&target.cluster), workload)
        });
        let promise = Promise {
            until: now.plus_seconds(LIFETIME),
            by_cluster: by_cluster.collect(),
        };
        self.by_binding.insert(key.into(), promise);
    }

    /// Forgets the promises of a binding: it was deleted, or is no longer ours.
    pub fn release(&mut self, key: &str) {
        self.by_binding.remove(key);
    }

    /// Forgets the promises on clusters where the workload became healthy between two versions of the binding.
    pub fn release_healthy(
        &mut self,
        key: &str,
        before: &[AggregatedStatusItem],
        after: &[AggregatedStatusItem],
    ) {
        let Entry::Occupied(mut promise) = self.by_binding.entry(key.into()) else {
            return;
        };
        let is_healthy = |items: &[AggregatedStatusItem], cluster: &str| {
            let item = items.iter().find(|item| item.cluster_name == cluster);
            item.is_some_and(|item| item.health == Some(ResourceHealth::Healthy))
        };
        promise
            .get_mut()
            .by_cluster
            .retain(|cluster, _| is_healthy(before, cluster) || !is_healthy(after, cluster));
        if promise.get().by_cluster.is_empty() {
            promise.remove();
        }
    }

    /// Forgets what has lapsed. Lapsed promises do not count before either; this only frees their memory.
    pub fn sweep(&mut self, now: Time) {
        self.by_binding.retain(|_, promise| promise.until > now);
    }

    /// What is promised on each cluster now, a binding's own promises included.
    #[must_use]
    pub fn by_cluster(&self, now: Time) -> BTreeMap<Arc<str>, Assumed> {
        let mut workloads: BTreeMap<Arc<str>, Vec<Workload>> = BTreeMap::new();
        for promise in self
            .by_binding
            .values()
            .filter(|promise| promise.until > now)
        {
            for (cluster, workload) in &promise.by_cluster {
                workloads
                    .entry(Arc::clone(cluster))
                    .or_default()
                    .push(workload.clone());
            }
        }
        workloads
            .into_iter()
            .map(|(cluster, workloads)| (cluster, Assumed::of(workloads)))
            .collect()
    }
}

/// The pods that a target stands for.
fn promised(spec: &ResourceBindingSpec, target: &Target) -> Vec<Component> {
    if !spec.components.is_empty() {
        return spec.components.iter().map(Component::of).collect();
    }
    let needs = spec.replica_requirements.as_ref();
    vec![Component {
        replicas: i64::from(target.replicas.max(0)),
        request: needs.map(demand::request).unwrap_or_default(),
        priority_class: needs
            .map(|needs| needs.priority_class_name.clone())
            .unwrap_or_default(),
    }]
}
