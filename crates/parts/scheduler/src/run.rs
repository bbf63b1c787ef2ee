//! Starting a scheduler.

use std::{
    fmt,
    sync::{Arc, OnceLock, Weak},
};

use api::registry;
use client::{Caches, Change, Scope, Subscription};
use control::Cx;
use object::ResourceType;
use runtime::Spawner;
use tracing::{error, info};

use crate::{
    cycle::{Desk, TURN},
    estimator::Estimators,
    fleet::Fleet,
    groups::{self, JustWritten},
    line::Line,
    metrics::Metrics,
    placements::Placements,
    queue::{Counts, Ending},
    recorder::{FileError, Recorder},
    settings::{Settings, SettingsError},
};

/// A running scheduler; clones are the same one. It stops with the spawner it was started on.
#[derive(Clone)]
pub struct Scheduler {
    desk: Arc<Desk>,
}

impl Scheduler {
    /// How many bindings are where.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.desk.line.counts()
    }

    /// The last decisions, if they are recorded.
    #[must_use]
    pub fn recorder(&self) -> Option<&Recorder> {
        self.desk.recorder.as_ref()
    }

    /// What was counted, in the text format of Prometheus.
    #[must_use]
    pub fn metrics(&self) -> String {
        self.desk.metrics.render(self.counts())
    }
}

/// Why a scheduler does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It cannot be set up like this.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// What an earlier one wrote down cannot be read.
    #[error("cannot read earlier decisions")]
    Recorder(#[from] FileError),
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler")
            .field("name", &self.desk.settings.name)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

/// Starts a scheduler on `spawner`: it follows clusters and bindings through `caches` and writes through `cx`.
///
/// Whoever runs several processes starts it in the one that is elected; it ends when the spawner's tasks do. Decisions
/// begin once everything there is has been seen.
pub fn run(
    settings: Settings,
    caches: &Caches,
    cx: &Cx,
    spawner: &Spawner,
) -> Result<Scheduler, StartError> {
    let plugins = settings.enabled_plugins()?;
    let webhooks = settings.enabled_webhooks()?;
    let recorder = settings.recorder.clone();
    let recorder = recorder
        .map(|settings| Recorder::start(settings, spawner))
        .transpose()?;
    let follow = |resource| caches.follow(&ResourceType::from(resource), Scope::all());
    let clusters = follow(&registry::CLUSTER);
    let desk = Arc::new(Desk {
        plugins,
        webhooks,
        cx: cx.clone(),
        line: Line::new(settings.patience),
        fleet: Fleet::default(),
        placements: Placements::default(),
        assumptions: Default::default(),
        just_written: JustWritten::default(),
        metrics: Metrics::default(),
        recorder,
        estimators: settings
            .estimators
            .clone()
            .map(|settings| Estimators::new(settings, cx.client.clone(), clusters.clone())),
        clusters,
        bindings: follow(&registry::RESOURCE_BINDING),
        cluster_bindings: follow(&registry::CLUSTER_RESOURCE_BINDING),
        places_at_once: OnceLock::new(),
        settings,
    });
    desk.bindings.index_by(groups::INDEX, groups::keys);
    let subscriptions = subscribe(&desk);
    for number in 0..desk.settings.workers {
        let desk = Arc::clone(&desk);
        let subscriptions = Arc::clone(&subscriptions);
        spawner.spawn(
            format!("scheduler worker {number}"),
            move |stop| async move {
                for cache in [&desk.clusters, &desk.bindings, &desk.cluster_bindings] {
                    tokio::select! {
                        biased;
                        () = stop.cancelled() => return,
                        () = cache.synced() => {}
                    }
                }
                if number == 0 {
                    info!(
                        controller = "scheduler",
                        bindings = desk.line.counts().active,
                        "scheduling begins"
                    );
                }
                while let Some(turn) = desk.line.take(&stop).await {
                    let key = Arc::clone(&turn.key);
                    let attempt = std::panic::AssertUnwindSafe(desk.attempt(turn));
                    let attempt = futures_util::FutureExt::catch_unwind(attempt);
                    match tokio::time::timeout(TURN, attempt).await {
                        Ok(Ok(())) => {}
                        // A panicking attempt costs its binding a wait, not the process.
                        Ok(Err(panic)) => {
                            let panic = runtime::panic_text(&*panic);
                            error!(binding = %key, panic, "an attempt at a binding panicked");
                            desk.line.finish(&key, Ending::Failed);
                        }
                        Err(_) => {
                            error!(binding = %key, "an attempt at a binding did not end");
                            desk.line.finish(&key, Ending::Failed);
                        }
                    }
                }
                drop(subscriptions);
            },
        );
    }
    Ok(Scheduler { desk })
}

/// The callbacks live as long as a worker does, and hold the desk weakly: caches must not keep alive who keeps them.
fn subscribe(desk: &Arc<Desk>) -> Arc<OnceLock<Vec<Subscription>>> {
    let to = |desk: &Arc<Desk>, call: fn(&Desk, &Change)| {
        let desk: Weak<Desk> = Arc::downgrade(desk);
        move |change: &Change| {
            if let Some(desk) = desk.upgrade() {
                call(&desk, change);
            }
        }
    };
    let held = OnceLock::new();
    let _ = held.set(vec![
        desk.clusters.on_change(to(desk, Desk::cluster_changed)),
        desk.bindings.on_change(to(desk, Desk::binding_changed)),
        desk.cluster_bindings
            .on_change(to(desk, Desk::binding_changed)),
    ]);
    Arc::new(held)
}
