//! Applications that fail where they are.

use std::collections::BTreeMap;

use api::{
    policy::{ApplicationFailoverBehavior, PurgeMode},
    work::{
        ResourceHealth,
        v1alpha2::{ResourceBindingSpec, ResourceBindingStatus},
    },
};
use object::time::Time;

/// How long a failure is borne if the policy does not say: what the schema fills in.
const TOLERATION_SECONDS: i32 = 300;

/// What a look at an application came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Watch {
    /// Where it fails, and since when that is known.
    pub failing: BTreeMap<String, Time>,
    /// Where it has failed for too long.
    pub evict: Vec<String>,
    /// When the next of them is up.
    pub next: Option<Time>,
}

/// What becomes of the old copy, as the policy says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purge {
    /// How it goes.
    pub mode: PurgeMode,
    /// How long it may wait for its replacement.
    pub grace_period_seconds: Option<i32>,
    /// Whether it stays until somebody decides about it.
    pub suppress_deletion: Option<bool>,
}

/// The policy's wish, if applications of this binding are moved at all.
///
/// Upstream: only together with what they refer to (`propagateDeps`).
#[must_use]
pub fn behavior(spec: &ResourceBindingSpec) -> Option<&ApplicationFailoverBehavior> {
    let behavior = spec.failover.as_ref()?.application.as_ref()?;
    spec.propagate_deps.then_some(behavior)
}

/// Looks where an application fails, given what was known before.
///
/// Upstream: a toleration of zero seconds starts no clock, so that nothing happens until the binding changes; here it is
/// over at once.
#[must_use]
pub fn look(
    spec: &ResourceBindingSpec,
    status: &ResourceBindingStatus,
    behavior: &ApplicationFailoverBehavior,
    known: &BTreeMap<String, Time>,
    now: Time,
) -> Watch {
    let seconds = behavior
        .decision_conditions
        .toleration_seconds
        .unwrap_or(TOLERATION_SECONDS)
        .max(0);
    let mut watch = Watch::default();
    for item in &status.aggregated_status {
        let cluster = item.cluster_name.as_str();
        let is_leaving = spec
            .graceful_eviction_tasks
            .iter()
            .any(|task| task.from_cluster == cluster);
        if item.health != Some(ResourceHealth::Unhealthy)
            || is_leaving
            || spec.target(cluster).is_none()
        {
            continue;
        }
        let since = known.get(cluster).copied().unwrap_or(now);
        watch.failing.insert(cluster.to_owned(), since);
        let over = since.plus_seconds(i64::from(seconds));
        if over <= now {
            watch.evict.push(cluster.to_owned());
        } else {
            watch.next = watch.next.into_iter().chain([over]).min();
        }
    }
    watch
}

/// What becomes of the old copy. `None` where the policy asks for a graceful hand-over that is switched off.
#[must_use]
pub fn purge(behavior: &ApplicationFailoverBehavior, is_graceful_allowed: bool) -> Option<Purge> {
    let mode = behavior.purge_mode.unwrap_or(PurgeMode::Gracefully);
    let plain = Purge {
        mode,
        grace_period_seconds: None,
        suppress_deletion: None,
    };
    match mode.current() {
        PurgeMode::Never => Some(Purge {
            suppress_deletion: Some(true),
            ..plain
        }),
        PurgeMode::Directly | PurgeMode::Immediately => Some(plain),
        PurgeMode::Gracefully | PurgeMode::Graciously => is_graceful_allowed.then_some(Purge {
            grace_period_seconds: behavior.grace_period_seconds,
            ..plain
        }),
    }
}
