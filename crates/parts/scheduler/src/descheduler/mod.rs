//! Takes replicas back from clusters whose nodes have no room for them.
//!
//! Reads:  bindings of Deployments whose replicas follow room, the reports of members, and what estimators say of pods
//!         that found no node.
//! Writes: fewer replicas in `spec.clusters` of such a binding; the scheduler then finds the rest another place.
//! Keeps:  what is ready stays; nothing is taken while any estimator asked about a binding does not answer.

mod plan;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use api::registry;
use client::{Cache, Caches, PatchKind, Scope, WriteOptions};
use control::Cx;
use intent::{Action, Part};
use object::{Object, ResourceType};
use runtime::Spawner;
use telemetry::chain;
use tracing::{debug, info, warn};

use crate::{
    bound::Bound,
    estimator::{EstimatorSettings, Estimators},
    placements::Placements,
};

/// How often and for whom replicas are taken back.
#[derive(Clone, Debug)]
pub struct DeschedulerSettings {
    /// How often all bindings are looked at: `--descheduling-interval`.
    pub interval: Duration,
    /// How long a pod must have found no node: `--unschedulable-threshold`.
    pub threshold: Duration,
    /// How estimators are found and spoken to.
    pub estimators: EstimatorSettings,
}

impl Default for DeschedulerSettings {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(2 * 60),
            threshold: Duration::from_secs(5 * 60),
            estimators: EstimatorSettings::default(),
        }
    }
}

/// Everything a round looks at.
struct Descheduler {
    settings: DeschedulerSettings,
    estimators: Estimators,
    placements: Placements,
    bindings: Cache,
    cx: Cx,
}

/// Looks at all bindings every interval, until the spawner stops.
pub fn deschedule(settings: DeschedulerSettings, caches: &Caches, cx: &Cx, spawner: &Spawner) {
    let follow = |resource| caches.follow(&ResourceType::from(resource), Scope::all());
    let clusters = follow(&registry::CLUSTER);
    let descheduler = Descheduler {
        estimators: Estimators::new(
            settings.estimators.clone(),
            cx.client.clone(),
            clusters,
            spawner.clone(),
        ),
        placements: Placements::default(),
        bindings: follow(&registry::RESOURCE_BINDING),
        cx: cx.clone(),
        settings,
    };
    spawner.spawn("descheduler", move |stop| async move {
        let running = async {
            descheduler.bindings.synced().await;
            let mut rounds = tokio::time::interval(descheduler.settings.interval);
            // A round that takes longer than the interval is followed by a pause, not by a pile of rounds.
            rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                rounds.tick().await;
                descheduler.round().await;
            }
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = running => {}
        }
    });
}

impl Descheduler {
    async fn round(&self) {
        debug!(
            bindings = self.bindings.len(),
            "looking for replicas without a node"
        );
        for binding in self.bindings.walk() {
            if let Ok(bound) = Bound::read(&binding)
                && plan::is_concerned(&bound, |text| self.placements.applied(text))
            {
                self.look_at(&binding, &bound).await;
            }
        }
    }

    async fn look_at(&self, binding: &Arc<Object>, bound: &Bound) {
        let observed = plan::observe(bound);
        let clusters: Vec<Arc<str>> = observed
            .iter()
            .filter(|target| target.is_undesired())
            .map(|target| Arc::clone(&target.cluster))
            .collect();
        if clusters.is_empty() {
            return;
        }
        let asked = self
            .estimators
            .unschedulable(bound, self.settings.threshold, clusters);
        let mut unplaced = Vec::new();
        for (cluster, answer) in asked.await {
            match answer {
                Ok(count) => unplaced.push((cluster, count)),
                Err(problem) => {
                    debug!(binding = %binding.key(), cluster = %cluster, error = %chain(&problem), "left alone: an estimator is not heard");
                    return;
                }
            }
        }
        let Some(change) = plan::plan(&observed, &unplaced) else {
            return;
        };
        let patch = crate::plan::guarded(binding, change.patch(&bound.spec));
        let (resource, key) = (crate::plan::resource(binding), binding.key());
        let (part, options) = (Part::Object, WriteOptions::default());
        let client = &self.cx.client;
        let result = client
            .patch(&resource, &key, PatchKind::Merge, &patch, &part, &options)
            .await;
        match &result {
            Ok(_) => {
                let replicas = change.total();
                info!(binding = %binding.key(), replicas, "replicas without a node taken back");
            }
            // Somebody wrote meanwhile: the next round sees it as it is then.
            Err(error) if error.is_conflict() || error.is_not_found() => return,
            Err(error) => {
                warn!(binding = %binding.key(), error = %chain(error), "replicas cannot be taken back");
            }
        }
        let event = change.event(result.err().map(|error| chain(&error).to_string()));
        for action in crate::plan::report_twice(bound, binding, &event) {
            if let Action::Report {
                about,
                kind,
                reason,
                message,
            } = action
            {
                self.cx.events.record(&about, kind, &reason, &message);
            }
        }
    }
}
