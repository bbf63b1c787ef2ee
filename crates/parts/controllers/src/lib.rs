//! The controllers of the control plane, one folder each: from a template to its works, and back to its status.
//!
//! Stand around the scheduler. Before it, [`claim`] says which policy a template belongs to and writes its binding, and
//! [`policies`] lets policies go. After it, [`works`] renders the template for each target cluster; [`dependencies`] sends
//! along what it refers to; [`aggregate`] brings back what members report. Beside it, [`evictions`] moves workloads away from
//! trouble, [`rebalancer`] asks for fresh decisions, [`autoscaling`] leaves replicas to members, [`clockwork`] scales by the
//! clock, [`marks`] writes on clusters what their conditions call for, and [`quotas`] shares out what a namespace may use.
//!
//! Entry point: [`run`]. It starts what [`Enabled`] allows and returns; everything runs until the spawner is stopped:
//!
//! ```ignore
//! let options = controllers::Options::default(); // gates, exemptions, workers, which controllers
//! let rules = controllers::customizations::follow(&caches, &cx, &spawner, &options.gates);
//! controllers::run(&cx, &caches, &spawner, rules, options);
//! ```
//!
//! When customizations change there is a new `Interpreter` in `rules`; the controllers take it up at once.
//!
//! Each controller is a pure `plan` over what its shell gathered from caches, and `keys` that say whom a change wakes.
//! Everything is driven by watches: nothing is polled, and a reconcile that finds all in order writes nothing.
//!
//! Invariants:
//! - One writer for each field, as ARCHITECTURE.md lists them.
//! - What is deleted is decided on complete views alone, and says why.
//! - A restart takes the same way as an event and writes nothing where nothing changed.
//!
//! Non-goals: choosing clusters (`scheduler`), talking to members (`member`), interpreting kinds (`interpret`).

pub mod enabled;
mod kinds;

pub mod answers;
pub mod binding_view;
pub mod bindings;
mod change;
pub mod courier;
pub mod customizations;
pub mod members;
pub mod rulebook;
pub mod setback;
pub mod templates;
pub mod views;

pub mod aggregate;
pub mod autoscaling;
pub mod claim;
pub mod clockwork;
pub mod dependencies;
pub mod evictions;
pub mod marks;
pub mod policies;
pub mod quotas;
pub mod rebalancer;
pub mod works;

#[cfg(test)]
mod told;

use std::{sync::Arc, time::Duration};

use api::{
    policy::PurgeMode,
    well_known::feature_gates::{FeatureGates, Gate},
};
use client::Caches;
use control::Cx;
use interpret::Interpreter;
use policy::Preemption;
use runtime::Spawner;
use tokio::sync::watch;

pub use crate::enabled::Enabled;
use crate::{
    aggregate::Aggregator,
    answers::{Answers, Components},
    autoscaling::{Marker, Syncer},
    claim::Claims,
    clockwork::Clockwork,
    marks::{Remedies, TaintPolicies},
    policies::{PolicyReleaser, unserved::UnservedKinds},
    quotas::Quotas,
    rebalancer::Rebalancer,
    views::Views,
    works::WorkMaker,
};
/// What is never a template.
pub use policy::Exemptions;

/// How the controllers run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which of them.
    pub enabled: Enabled,
    /// What is switched on or off.
    pub gates: FeatureGates,
    /// What is never a template.
    pub exemptions: Exemptions,
    /// How many keys each of the busy controllers looks at at once.
    pub workers: usize,
    /// How workloads leave clusters.
    pub eviction: Eviction,
}

/// How workloads leave clusters; the flags of the reference by other names.
#[derive(Clone, Copy, Debug)]
pub struct Eviction {
    /// How long an old copy may wait for its replacement (`--graceful-eviction-timeout`).
    pub grace: Duration,
    /// Whether taints drive workloads away (`--enable-no-execute-taint-eviction`); needs the gate `Failover`.
    pub heeds_taints: bool,
    /// How a copy leaves a tainted cluster whose policy does not say (`--no-execute-taint-eviction-purge-mode`).
    pub purge_mode: PurgeMode,
    /// How long a worker rests after it has taken a workload off a tainted cluster (one over
    /// `--resource-eviction-rate`).
    pub rest: Duration,
}

/// What operators get who say nothing.
impl Default for Eviction {
    fn default() -> Self {
        Self {
            grace: Duration::from_secs(600),
            heeds_taints: false,
            purge_mode: PurgeMode::Gracefully,
            rest: Duration::from_secs(2),
        }
    }
}

/// What operators get who say nothing.
impl Default for Options {
    fn default() -> Self {
        let exemptions = Exemptions::parse("", [policy::exemption::DEFAULT_SKIPPED_NAMESPACES]);
        Self {
            enabled: Enabled::default(),
            gates: FeatureGates::default(),
            exemptions: exemptions.expect("invariant: the default expression is valid"),
            // Reconciles wait for writes more than they compute; a write in the process takes well under a millisecond.
            workers: 8,
            eviction: Eviction::default(),
        }
    }
}

/// Starts the controllers. They begin once everything they look at has been seen once, and stop with the spawner.
pub fn run(
    cx: &Cx,
    caches: &Caches,
    spawner: &Spawner,
    rules: watch::Receiver<Arc<Interpreter>>,
    options: Options,
) {
    let is_on = |gate: Gate| options.gates.is_enabled(gate);
    let components = if is_on(Gate::MultiplePodTemplatesScheduling) {
        Components::On
    } else {
        Components::Off
    };
    customizations::tell_problems(rules.clone(), caches, cx, spawner);
    let answers = Answers::new(rules, components);
    let views = Views::follow(caches, options.exemptions.clone(), spawner);
    let claiming = claim::Options {
        preemption: if is_on(Gate::PropagationPolicyPreemption) {
            Preemption::On
        } else {
            Preemption::Off
        },
        priorities: is_on(Gate::PriorityBasedScheduling),
        workload_groups: is_on(Gate::WorkloadAffinity),
        workers: options.workers,
    };
    // Upstream: claims and dependencies are not in the list of controllers, so they cannot be switched off there.
    Claims::start(&views, &answers, claiming, caches, spawner, cx);
    PolicyReleaser::start(&views, spawner, cx);
    UnservedKinds::start(&views, spawner, cx);
    if is_on(Gate::PropagateDeps) {
        dependencies::start(&views, &answers, options.workers, spawner, cx);
    }
    if options.enabled.is_on("binding") {
        let making = works::Options {
            hands_state_over: is_on(Gate::StatefulFailoverInjection),
            workers: options.workers,
        };
        WorkMaker::start(&views, &answers, making, spawner, cx);
    }
    if options.enabled.is_on("bindingStatus") {
        Aggregator::start(&views, &answers, options.workers, spawner, cx);
    }
    if options.enabled.is_on("workloadRebalancer") {
        Rebalancer::start(&views, caches, spawner, cx);
    }
    if options.enabled.is_on("hpaScaleTargetMarker") {
        Marker::start(&views, caches, spawner, cx);
    }
    if options.enabled.is_on("deploymentReplicasSyncer") {
        Syncer::start(&views, spawner, cx);
    }
    if options
        .enabled
        .is_on("cronFederatedHorizontalPodAutoscaler")
    {
        Clockwork::start(&views.templates, caches, spawner, cx);
    }
    if options.enabled.is_on("remedy") {
        Remedies::start(&views.clusters, caches, spawner, cx);
    }
    if options.enabled.is_on("clustertaintpolicy") && is_on(Gate::Failover) {
        TaintPolicies::start(&views.clusters, caches, spawner, cx);
    }
    let enforces = is_on(Gate::FederatedQuotaEnforcement)
        && options.enabled.is_on("federatedResourceQuotaEnforcement");
    let counting = quotas::Options {
        shares: options.enabled.is_on("federatedResourceQuotaSync"),
        counts: options.enabled.is_on("federatedResourceQuotaStatus"),
        enforces,
    };
    Quotas::start(&views, counting, caches, spawner, cx);
    let eviction = options.eviction;
    let leaving = evictions::Options {
        rules: evictions::plan::Rules {
            grace_seconds: i64::try_from(eviction.grace.as_secs()).unwrap_or(i64::MAX),
            is_graceful: is_on(Gate::GracefulEviction),
            preserves_state: is_on(Gate::StatefulFailoverInjection),
            default_purge: eviction.purge_mode,
        },
        hands_over: options.enabled.is_on("gracefulEviction"),
        moves_applications: options.enabled.is_on("applicationFailover"),
        heeds_taints: eviction.heeds_taints && is_on(Gate::Failover),
        rest: eviction.rest,
    };
    evictions::start(&views, leaving, spawner, cx);
}
