//! What was promised to bindings but may not show in the clusters' reports yet.
//!
//! Without it two decisions in a row see the same room and hand it out twice. Promises are kept per binding, end when the
//! workload is healthy on the cluster, and lapse by themselves after five minutes: then the cluster's report has had
//! time to show what runs.
//!
//! Several decisions may be under way at once. Each is made from a [`View`]; when its result is promised and another
//! decision has meanwhile promised something on one of the same clusters, the promise is refused and the decision is
//! made again from a new view. So room is handed out once, and nobody waits for a decision about other clusters.

use std::{
    collections::{BTreeMap, BTreeSet},
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

/// What is promised on each cluster, for one decision.
pub type ByCluster = BTreeMap<Arc<str>, Arc<Assumed>>;

/// Promises by binding and by cluster.
#[derive(Clone, Debug, Default)]
pub struct Assumptions {
    by_binding: BTreeMap<Arc<str>, Promise>,
    by_cluster: BTreeMap<Arc<str>, OnCluster>,
    /// The sums that decisions look at, up to date but for the clusters in `stale`.
    sums: Arc<ByCluster>,
    stale: BTreeSet<Arc<str>>,
    /// Counts promises made, so that a view can tell whether it is of today.
    version: u64,
    /// Nothing lapses before this; `None` while nothing is promised.
    first_lapse: Option<Time>,
}

#[derive(Clone, Debug)]
struct Promise {
    until: Time,
    clusters: Vec<Arc<str>>,
}

#[derive(Clone, Debug, Default)]
struct OnCluster {
    workloads: BTreeMap<Arc<str>, Workload>,
    /// The version that last added to it.
    grew: u64,
}

/// What is promised at one moment. Cheap to make and to keep.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// By cluster, a binding's own promises included.
    pub by_cluster: Arc<ByCluster>,
    version: u64,
}

/// Another decision has promised something on one of the clusters since the view was taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("room on cluster {0} was promised to another binding meanwhile")]
pub struct Overtaken(pub Arc<str>);

impl Assumptions {
    /// What is promised now, for one decision.
    pub fn view(&mut self, now: Time) -> View {
        self.sweep(now);
        if !self.stale.is_empty() {
            let sums = Arc::make_mut(&mut self.sums);
            for cluster in std::mem::take(&mut self.stale) {
                let workloads = self.by_cluster.get(&cluster).map(|on| &on.workloads);
                match workloads.filter(|workloads| !workloads.is_empty()) {
                    Some(workloads) => {
                        let sum = Assumed::of(workloads.values().cloned().collect());
                        sums.insert(cluster, Arc::new(sum));
                    }
                    None => drop(sums.remove(&cluster)),
                }
            }
        }
        View {
            by_cluster: Arc::clone(&self.sums),
            version: self.version,
        }
    }

    /// Promises `targets` to the binding called `key`, as decided from `view`. Clusters that left its result lose their
    /// promise.
    ///
    /// Only for workloads: nothing else takes room. The full count of each cluster is remembered, not what was added.
    pub fn promise(
        &mut self,
        view: &View,
        key: &str,
        spec: &ResourceBindingSpec,
        targets: &[Target],
        now: Time,
    ) -> Result<(), Overtaken> {
        if targets.is_empty() || !spec.is_workload() {
            return Ok(());
        }
        for target in targets {
            let on = self.by_cluster.get(&target.cluster);
            if on.is_some_and(|on| on.grew > view.version) {
                return Err(Overtaken(Arc::clone(&target.cluster)));
            }
        }
        self.release(key);
        self.version += 1;
        let key: Arc<str> = key.into();
        for target in targets {
            let workload = Workload {
                namespace: spec.resource.namespace.clone(),
                components: promised(spec, target),
            };
            let on = self
                .by_cluster
                .entry(Arc::clone(&target.cluster))
                .or_default();
            on.grew = self.version;
            on.workloads.insert(Arc::clone(&key), workload);
            self.stale.insert(Arc::clone(&target.cluster));
        }
        let promise = Promise {
            until: now.plus_seconds(LIFETIME),
            clusters: targets
                .iter()
                .map(|target| Arc::clone(&target.cluster))
                .collect(),
        };
        self.first_lapse.get_or_insert(promise.until);
        self.by_binding.insert(key, promise);
        Ok(())
    }

    /// Forgets the promises of a binding: it was deleted, is no longer ours, or its result could not be written. Returns
    /// the clusters that have room again.
    pub fn release(&mut self, key: &str) -> Vec<Arc<str>> {
        let Some(promise) = self.by_binding.remove(key) else {
            return Vec::new();
        };
        for cluster in &promise.clusters {
            self.take_back(key, cluster);
        }
        promise.clusters
    }

    /// Forgets the promises on clusters where the workload became healthy between two versions of the binding, and
    /// returns these clusters.
    pub fn release_healthy(
        &mut self,
        key: &str,
        before: &[AggregatedStatusItem],
        after: &[AggregatedStatusItem],
    ) -> Vec<Arc<str>> {
        let Some(promise) = self.by_binding.get_mut(key) else {
            return Vec::new();
        };
        let is_healthy = |items: &[AggregatedStatusItem], cluster: &str| {
            let item = items.iter().find(|item| item.cluster_name == cluster);
            item.is_some_and(|item| item.health == Some(ResourceHealth::Healthy))
        };
        let healed: Vec<Arc<str>> = promise
            .clusters
            .extract_if(.., |cluster| {
                !is_healthy(before, cluster) && is_healthy(after, cluster)
            })
            .collect();
        if promise.clusters.is_empty() {
            self.by_binding.remove(key);
        }
        for cluster in &healed {
            self.take_back(key, cluster);
        }
        healed
    }

    /// Whether anything is promised to the binding.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.by_binding.contains_key(key)
    }

    /// Forgets what has lapsed.
    fn sweep(&mut self, now: Time) {
        if self.first_lapse.is_none_or(|first| now < first) {
            return;
        }
        let lapsed =
            |(key, promise): (&Arc<str>, &Promise)| (promise.until <= now).then(|| Arc::clone(key));
        let lapsed: Vec<Arc<str>> = self.by_binding.iter().filter_map(lapsed).collect();
        for key in lapsed {
            self.release(&key);
        }
        self.first_lapse = self.by_binding.values().map(|promise| promise.until).min();
    }

    fn take_back(&mut self, key: &str, cluster: &Arc<str>) {
        if let Some(on) = self.by_cluster.get_mut(cluster) {
            on.workloads.remove(key);
            self.stale.insert(Arc::clone(cluster));
        }
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
