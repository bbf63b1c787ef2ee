//! What is written when a workload leaves a cluster, and when its old copy may go.

use std::collections::{BTreeMap, BTreeSet};

use api::{
    TypeName,
    kubernetes::scheduling::{Taint, Toleration},
    policy::PurgeMode,
    well_known::events::binding::{
        EVICT_WORKLOAD_FROM_CLUSTER_FAILED, EVICT_WORKLOAD_FROM_CLUSTER_SUCCEED,
    },
    work::v1alpha2::{
        ResourceBinding, ResourceBindingSpec, ResourceBindingStatus, eviction_producer,
        eviction_reason,
    },
};
use failover::{
    application,
    eviction::{Eviction, evict, withdraw},
    finished, handover, state,
    taints::{Stay, stay},
};
use intent::{Action, EventKind, ObjectRef, Part, Plan};
use object::{Object, time::Time};
use serde_json::json;

use crate::binding_view;

/// The reason of the event when a task is taken back.
const WITHDRAWN: &str = "EvictWorkloadFromClusterWithdrawn";

/// What every decision here looks at.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The binding.
    pub binding: &'a Object,
    /// What it says.
    pub spec: &'a ResourceBindingSpec,
    /// What became of it.
    pub status: &'a ResourceBindingStatus,
    /// The template, if it is there.
    pub template: Option<&'a Object>,
    /// Now.
    pub now: Time,
}

/// What is switched on or off, and how long things take.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// How long an old copy may wait for its replacement, in seconds, if nothing else is said.
    pub grace_seconds: i64,
    /// Whether graceful hand-over is there for applications (`GracefulEviction`).
    pub is_graceful: bool,
    /// Whether state of the old copy is preserved (`StatefulFailoverInjection`).
    pub preserves_state: bool,
    /// How a copy leaves a tainted cluster whose policy does not say.
    pub default_purge: PurgeMode,
}

/// Ends the tasks whose old copy may go. `gone` has the clusters of tasks that are known not to exist.
#[must_use]
pub fn hand_over(subject: Subject<'_>, gone: &BTreeSet<String>, rules: Rules) -> Plan {
    let mut plan = Plan::default();
    if subject.binding.is_terminating() || subject.spec.graceful_eviction_tasks.is_empty() {
        return plan;
    }
    let found = handover::look(
        subject.spec,
        subject.status,
        subject.binding.generation(),
        gone,
        rules.grace_seconds,
        subject.now,
    );
    if found.is_changed {
        let patch = json!({"spec": {"gracefulEvictionTasks": found.kept}});
        plan.push(subject.patch(patch));
    }
    for (cluster, end) in &found.ended {
        let message = format!("left cluster {cluster}: {}", end.as_str());
        let reason = EVICT_WORKLOAD_FROM_CLUSTER_SUCCEED;
        subject.tell(&mut plan, EventKind::Normal, reason, &message);
    }
    if let Some(time) = found.next {
        plan.wake_at(time);
    }
    plan
}

/// Takes a binding off clusters whose taints it does not tolerate any longer. `taints` has those of its clusters.
///
/// What has run to its end on a cluster stays there: elsewhere it would run again.
#[must_use]
pub fn leave_tainted(
    subject: Subject<'_>,
    taints: &BTreeMap<String, Vec<Taint>>,
    tolerations: &[Toleration],
    rules: Rules,
) -> Plan {
    let mut plan = Plan::default();
    if subject.binding.is_terminating() {
        return plan;
    }
    let failover = subject.spec.failover.as_ref();
    let behavior = failover.and_then(|failover| failover.cluster.as_ref());
    let purge_mode = match behavior {
        Some(behavior) => behavior.purge_mode.unwrap_or(PurgeMode::Gracefully),
        None => rules.default_purge,
    };
    let preservation = behavior.and_then(|behavior| behavior.state_preservation.as_ref());
    let mut spec = subject.spec.clone();
    let mut is_changed = false;
    for (cluster, taints) in taints {
        if spec.target(cluster).is_none() {
            continue;
        }
        match stay(taints, tolerations, subject.now) {
            Stay::ForGood => continue,
            Stay::Until(time) => {
                plan.wake_at(time);
                continue;
            }
            Stay::Over => {}
        }
        if finished::is_over(&spec, subject.status, subject.template, cluster) {
            continue;
        }
        let preservation = preservation.filter(|_| rules.preserves_state);
        let labels = match state::preserve(preservation, subject.status, cluster) {
            Ok(labels) => labels,
            Err(error) => {
                subject.refuse(&mut plan, cluster, &error.to_string());
                continue;
            }
        };
        let evicted = evict(
            &spec,
            &Eviction {
                cluster,
                reason: eviction_reason::TAINT_UNTOLERATED,
                producer: eviction_producer::TAINT_MANAGER,
                purge_mode: Some(purge_mode),
                preserved_label_state: labels,
                ..Eviction::default()
            },
        );
        if let Some(evicted) = evicted {
            spec.clusters = evicted.clusters;
            spec.graceful_eviction_tasks = evicted.tasks;
            is_changed = true;
        }
    }
    if is_changed {
        plan.push(subject.lists(&spec));
    }
    plan
}

/// Lets a binding go on where it was, once the taints that drove it away are gone and before anybody has taken over.
/// `taints` has those of the clusters it leaves.
#[must_use]
pub fn stay_after_all(
    subject: Subject<'_>,
    taints: &BTreeMap<String, Vec<Taint>>,
    tolerations: &[Toleration],
) -> Plan {
    let mut plan = Plan::default();
    if subject.binding.is_terminating() {
        return plan;
    }
    let mut spec = subject.spec.clone();
    let mut back = Vec::new();
    for (cluster, taints) in taints {
        if stay(taints, tolerations, subject.now) == Stay::Over {
            continue;
        }
        if let Some(evicted) = withdraw(&spec, cluster, eviction_producer::TAINT_MANAGER) {
            spec.clusters = evicted.clusters;
            spec.graceful_eviction_tasks = evicted.tasks;
            back.push(cluster);
        }
    }
    if back.is_empty() {
        return plan;
    }
    plan.push(subject.lists(&spec));
    for cluster in back {
        let message = format!("stays on cluster {cluster}: its taints are gone");
        subject.tell(&mut plan, EventKind::Normal, WITHDRAWN, &message);
    }
    plan
}

/// Takes an application off the clusters where it has failed for too long; says where it fails now, and since when.
#[must_use]
pub fn leave_failing(
    subject: Subject<'_>,
    known: &BTreeMap<String, Time>,
    rules: Rules,
) -> (Plan, BTreeMap<String, Time>) {
    let mut plan = Plan::default();
    let Some(behavior) = application::behavior(subject.spec) else {
        return (plan, BTreeMap::new());
    };
    if subject.binding.is_terminating() {
        return (plan, BTreeMap::new());
    }
    let mut watch = application::look(subject.spec, subject.status, behavior, known, subject.now);
    if let Some(time) = watch.next {
        plan.wake_at(time);
    }
    let Some(purge) = application::purge(behavior, rules.is_graceful) else {
        for cluster in &watch.evict {
            let message = "a graceful hand-over is asked for, and GracefulEviction is off";
            subject.refuse(&mut plan, cluster, message);
        }
        return (plan, watch.failing);
    };
    let preservation = behavior
        .state_preservation
        .as_ref()
        .filter(|_| rules.preserves_state);
    let producer = if subject.binding.kind() == ResourceBinding::KIND {
        eviction_producer::RESOURCE_BINDING_APPLICATION_FAILOVER
    } else {
        eviction_producer::CLUSTER_RESOURCE_BINDING_APPLICATION_FAILOVER
    };
    let mut spec = subject.spec.clone();
    let mut is_changed = false;
    for cluster in &watch.evict {
        let labels = match state::preserve(preservation, subject.status, cluster) {
            Ok(labels) => labels,
            Err(error) => {
                subject.refuse(&mut plan, cluster, &error.to_string());
                continue;
            }
        };
        let evicted = evict(
            &spec,
            &Eviction {
                cluster,
                reason: eviction_reason::APPLICATION_FAILURE,
                producer,
                purge_mode: Some(purge.mode),
                grace_period_seconds: purge.grace_period_seconds,
                suppress_deletion: purge.suppress_deletion,
                preserved_label_state: labels,
                notes_clusters: rules.preserves_state,
                ..Eviction::default()
            },
        );
        if let Some(evicted) = evicted {
            spec.clusters = evicted.clusters;
            spec.graceful_eviction_tasks = evicted.tasks;
            watch.failing.remove(cluster);
            is_changed = true;
        }
    }
    if is_changed {
        plan.push(subject.lists(&spec));
    }
    (plan, watch.failing)
}

impl Subject<'_> {
    /// Both lists are shared with the scheduler, so they are written only as they were seen.
    fn lists(&self, spec: &ResourceBindingSpec) -> Action {
        self.patch(json!({"spec": {
            "clusters": spec.clusters,
            "gracefulEvictionTasks": spec.graceful_eviction_tasks,
        }}))
    }

    fn patch(&self, patch: object::Value) -> Action {
        let resource = binding_view::resource(self.binding.namespace());
        Action::patch(resource, self.binding, patch, Part::Object)
    }

    fn refuse(&self, plan: &mut Plan, cluster: &str, message: &str) {
        plan.problem(cluster, message);
        let reason = EVICT_WORKLOAD_FROM_CLUSTER_FAILED;
        let message = format!("cannot leave cluster {cluster}: {message}");
        self.tell(plan, EventKind::Warning, reason, &message);
    }

    fn tell(&self, plan: &mut Plan, kind: EventKind, reason: &str, message: &str) {
        for about in [Some(self.binding), self.template].into_iter().flatten() {
            plan.push(Action::report(ObjectRef::of(about), kind, reason, message));
        }
    }
}
