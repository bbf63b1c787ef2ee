//! Moves workloads away from trouble, and lets the old copies go.
//!
//! Three controllers: one takes bindings off clusters whose `NoExecute` taints they do not tolerate, and back if the taints go
//! before anybody has taken over; one takes applications off clusters where they fail; one ends the hand-over when the new
//! copies are healthy, time is up or the cluster that is left is gone.
//!
//! Reads:  bindings, clusters, templates.
//! Writes: takes clusters out of `spec.clusters`, which is otherwise the scheduler's, and puts back what it took out;
//!         `spec.gracefulEvictionTasks`.
//! Keeps:  one task for each cluster that is being left.

mod awaited;
pub mod plan;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use api::{
    TypeName,
    kubernetes::scheduling::Toleration,
    policy::Placement,
    well_known::annotations::APPLIED_PLACEMENT,
    work::v1alpha2::{ClusterResourceBinding, ResourceBinding, ResourceBindingSpec},
};
use client::Change;
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use object::{Object, ObjectKey, Value, time::Time};
use runtime::Spawner;
use telemetry::metrics::Metric;
use tokio::time::Instant;

use self::{
    awaited::Awaited,
    plan::{Rules, Subject},
};
use crate::{binding_view::Binding, change::is_more_than_status, templates::Found, views::Views};

/// Which of the three run, and how.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What all of them go by.
    pub rules: Rules,
    /// Whether tasks are seen to (`gracefulEviction`).
    pub hands_over: bool,
    /// Whether failing applications are moved (`applicationFailover`).
    pub moves_applications: bool,
    /// Whether taints drive bindings away (gate `Failover` and `--enable-no-execute-taint-eviction`).
    pub heeds_taints: bool,
    /// How long a worker rests after it has taken a binding off a tainted cluster.
    pub rest: Duration,
}

/// Sees to tasks.
#[derive(Debug)]
struct Handover {
    views: Views,
    rules: Rules,
}

/// Moves applications that fail.
#[derive(Debug)]
struct ApplicationFailover {
    views: Views,
    rules: Rules,
    /// Where each application fails, and since when. Kept in memory: after a restart the clocks start anew.
    failing: Mutex<HashMap<ObjectKey, BTreeMap<String, Time>>>,
}

/// Moves bindings off tainted clusters.
#[derive(Debug)]
struct TaintManager {
    /// The name of its queue, for the figures.
    name: &'static str,
    views: Views,
    rules: Rules,
    rest: Duration,
    awaited: Awaited,
}

/// Starts those that are to run.
pub fn start(views: &Views, options: Options, spawner: &Spawner, cx: &Cx) {
    let rules = options.rules;
    let views = || views.clone();
    if options.hands_over {
        let handover = Handover {
            views: views(),
            rules,
        };
        Controller::new("gracefulEviction", handover)
            .workers(2)
            .watch(&views().bindings.namespaced, keys_with_tasks)
            .watch(&views().bindings.cluster, keys_with_tasks)
            .watch(&views().clusters, {
                let bindings = views().bindings;
                move |change| keys_of_gone(change, |cluster| bindings.on_cluster(cluster))
            })
            .run(spawner, cx.clone());
    }
    if options.moves_applications {
        let application = ApplicationFailover {
            views: views(),
            rules,
            failing: Mutex::default(),
        };
        Controller::new("applicationFailover", application)
            .workers(2)
            .watch(&views().bindings.namespaced, keys_with_failover)
            .watch(&views().bindings.cluster, keys_with_failover)
            .run(spawner, cx.clone());
    }
    if options.heeds_taints {
        // Upstream: a queue of three workers for each of the two kinds, by these names.
        for (name, is_namespaced) in [
            ("binding-eviction", true),
            ("cluster-binding-eviction", false),
        ] {
            let awaited = Awaited::default();
            let manager = TaintManager {
                name,
                views: views(),
                rules,
                rest: options.rest,
                awaited: awaited.clone(),
            };
            let bindings = views().bindings;
            let watched = match is_namespaced {
                true => bindings.namespaced.clone(),
                false => bindings.cluster.clone(),
            };
            let controller = Controller::new(name, manager)
                .workers(3)
                .patience(options.rest)
                .watch(&watched, keys_of_binding)
                .watch(&views().clusters, {
                    let awaited = awaited.clone();
                    move |change| {
                        let mut keys =
                            keys_of_cluster(change, |cluster| bindings.on_cluster(cluster));
                        keys.retain(|key| key.namespace.is_empty() != is_namespaced);
                        awaited.note(change, &keys);
                        keys
                    }
                });
            let gauge = controller.queue().gauge();
            let kind = match is_namespaced {
                true => ResourceBinding::KIND,
                false => ClusterResourceBinding::KIND,
            };
            cx.metrics.while_of_use(move |metrics| {
                let Some(counts) = gauge.counts() else {
                    return false;
                };
                metrics.add(Metric::EvictionQueueDepth, &[name], counts.ready as f64);
                for (cluster, waiting) in awaited.counts() {
                    metrics.add(Metric::EvictionKindTotal, &[&cluster, kind], waiting as f64);
                }
                true
            });
            controller.run(spawner, cx.clone());
        }
    }
}

/// A binding that has tasks, whatever changed: health is in its status.
#[must_use]
pub fn keys_with_tasks(change: &Change) -> Option<ObjectKey> {
    let binding = change.after.as_ref()?;
    let tasks = binding.at(&["spec", "gracefulEvictionTasks"]);
    let has_tasks = tasks
        .and_then(Value::as_array)
        .is_some_and(|tasks| !tasks.is_empty());
    has_tasks.then(|| change.key())
}

/// A binding whose policy moves failing applications; and one that is gone, to be forgotten.
#[must_use]
pub fn keys_with_failover(change: &Change) -> Option<ObjectKey> {
    let binding = change.object();
    let asks = binding.at(&["spec", "failover", "application"]).is_some();
    asks.then(|| change.key())
}

/// A binding of which more than the status changed.
#[must_use]
pub fn keys_of_binding(change: &Change) -> Option<ObjectKey> {
    let concerns = change.after.is_some()
        && is_more_than_status(change.before.as_ref(), change.after.as_ref());
    concerns.then(|| change.key())
}

/// The bindings on a cluster whose taints changed.
#[must_use]
pub fn keys_of_cluster(
    change: &Change,
    on_cluster: impl Fn(&str) -> Vec<ObjectKey>,
) -> Vec<ObjectKey> {
    let taints = |cluster: &Option<Arc<Object>>| {
        cluster
            .as_ref()
            .and_then(|cluster| cluster.at(&["spec", "taints"]).cloned())
    };
    if taints(&change.before) == taints(&change.after) {
        return Vec::new();
    }
    on_cluster(&change.key().name)
}

/// The bindings that go to a cluster or leave it, once it is gone.
#[must_use]
pub fn keys_of_gone(
    change: &Change,
    on_cluster: impl Fn(&str) -> Vec<ObjectKey>,
) -> Vec<ObjectKey> {
    match change.after {
        Some(_) => Vec::new(),
        None => on_cluster(&change.key().name),
    }
}

/// What is gathered about a binding.
struct Facts {
    object: Arc<Object>,
    binding: Binding,
    template: Option<Found>,
}

impl Facts {
    /// `None` if the binding is gone; an error if it cannot be read.
    fn gather(views: &Views, key: &ObjectKey) -> Result<Option<Self>, String> {
        let Some(object) = views.bindings.get(key) else {
            return Ok(None);
        };
        let binding = Binding::read(&object).map_err(|error| error.to_string())?;
        let template = views.templates.of_binding(&object);
        Ok(Some(Self {
            object,
            binding,
            template,
        }))
    }

    fn subject(&self, now: Time) -> Subject<'_> {
        Subject {
            binding: &self.object,
            spec: &self.binding.spec,
            status: &self.binding.status,
            template: self.template.as_ref().map(|found| &*found.object),
            now,
        }
    }
}

impl Reconcile for Handover {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey, cx: &Cx) -> Result<Wake, ReconcileError> {
        self.views.ready().await;
        let Some(facts) = Facts::gather(&self.views, key).map_err(ReconcileError::Terminal)? else {
            return Ok(Wake::OnChange);
        };
        let gone = self.gone(&facts.binding.spec);
        let plan = plan::hand_over(facts.subject(cx.now()), &gone, self.rules);
        cx.carry_out(&plan).await?;
        Ok(plan.wake)
    }
}

impl Handover {
    /// The clusters that a binding leaves and that do not exist; none while not all clusters are in view.
    fn gone(&self, spec: &ResourceBindingSpec) -> BTreeSet<String> {
        let Some(clusters) = self.views.clusters.complete() else {
            return BTreeSet::new();
        };
        let left = spec.graceful_eviction_tasks.iter();
        left.map(|task| &task.from_cluster)
            .filter(|cluster| clusters.get(&ObjectKey::cluster(*cluster)).is_none())
            .cloned()
            .collect()
    }
}

impl Reconcile for ApplicationFailover {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey, cx: &Cx) -> Result<Wake, ReconcileError> {
        self.views.ready().await;
        let Some(facts) = Facts::gather(&self.views, key).map_err(ReconcileError::Terminal)? else {
            self.remember(key, BTreeMap::new());
            return Ok(Wake::OnChange);
        };
        let known = self.known(key);
        let (plan, failing) = plan::leave_failing(facts.subject(cx.now()), &known, self.rules);
        cx.carry_out(&plan).await?;
        self.remember(key, failing);
        Ok(plan.wake)
    }
}

impl ApplicationFailover {
    fn known(&self, key: &ObjectKey) -> BTreeMap<String, Time> {
        let failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        failing.get(key).cloned().unwrap_or_default()
    }

    fn remember(&self, key: &ObjectKey, since: BTreeMap<String, Time>) {
        let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        if since.is_empty() {
            failing.remove(key);
        } else {
            failing.insert(key.clone(), since);
        }
    }
}

impl Reconcile for TaintManager {
    type Key = ObjectKey;

    async fn reconcile(&self, key: &ObjectKey, cx: &Cx) -> Result<Wake, ReconcileError> {
        self.views.ready().await;
        let Some(facts) = Facts::gather(&self.views, key).map_err(ReconcileError::Terminal)? else {
            self.awaited.over(key);
            return Ok(Wake::OnChange);
        };
        // A binding that the scheduler has not placed by this annotation was not placed under these tolerations.
        let Some(tolerations) = tolerations(&facts.object) else {
            self.awaited.over(key);
            return Ok(Wake::OnChange);
        };
        let spec = &facts.binding.spec;
        let left = spec.graceful_eviction_tasks.iter();
        let left = self
            .views
            .members
            .taints(left.map(|task| task.from_cluster.as_str()));
        let back = plan::stay_after_all(facts.subject(cx.now()), &left, &tolerations);
        if !back.is_empty() {
            cx.carry_out(&back).await?;
            self.awaited.over(key);
            // The binding comes again as it is now.
            return Ok(Wake::OnChange);
        }
        let taints = self
            .views
            .members
            .taints(spec.clusters.iter().map(|target| target.name.as_str()));
        let begun = Instant::now();
        let plan = plan::leave_tainted(facts.subject(cx.now()), &taints, &tolerations, self.rules);
        let carried = cx.carry_out(&plan).await;
        let result = if carried.is_ok() { "success" } else { "error" };
        let (total, latency) = (
            Metric::EvictionProcessingTotal,
            Metric::EvictionProcessingLatencySeconds,
        );
        cx.metrics.add(total, &[self.name, result], 1.0);
        cx.metrics.observe(latency, &[self.name], begun.elapsed());
        carried?;
        self.awaited.over(key);
        if !plan.is_empty() {
            // A whole cluster may be leaving: not all of it at once.
            tokio::time::sleep(self.rest).await;
        }
        Ok(plan.wake)
    }
}

/// The tolerations under which the scheduler placed a binding.
fn tolerations(binding: &Object) -> Option<Vec<Toleration>> {
    let text = binding.annotation(APPLIED_PLACEMENT)?;
    let placement: Placement = serde_json::from_str(text).ok()?;
    Some(placement.cluster_tolerations)
}
