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
use tokio::sync::{Notify, OnceCell, Semaphore};
use tracing::{info, warn};

use crate::{
    cycle::{ASIDE, Desk},
    estimator::Estimators,
    fleet::Fleet,
    groups::{self, Ahead},
    line::{Key, Line},
    metrics::Metrics,
    placements::Placements,
    queue::{Counts, Turn},
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
    if settings.enables_nothing() {
        let list = settings.plugins.join(",");
        warn!(
            plugins = list,
            "no plugin is enabled, so every cluster suits every template; write *,-Name for all but one"
        );
    }
    // Upstream: whoever looks for what a scheduler did looks for its name.
    let mut cx = cx.clone();
    cx.events = cx.events.speaking_as(&settings.name);
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
        spawner: spawner.clone(),
        line: Line::new(settings.patience),
        fleet: Fleet::default(),
        placements: Placements::default(),
        assumptions: Default::default(),
        ahead: Ahead::default(),
        metrics: Metrics::default(),
        recorder,
        estimators: settings.estimators.clone().map(|settings| {
            let (client, clusters) = (cx.client.clone(), clusters.clone());
            Estimators::new(settings, client, clusters, spawner.clone())
        }),
        clusters,
        bindings: follow(&registry::RESOURCE_BINDING),
        cluster_bindings: follow(&registry::CLUSTER_RESOURCE_BINDING),
        places_at_once: OnceLock::new(),
        greeted: OnceCell::new(),
        aside: Arc::new(Semaphore::new(ASIDE)),
        settings,
    });
    desk.bindings.index_by(groups::INDEX, groups::keys);
    let subscriptions = subscribe(&desk);
    let line: Weak<Desk> = Arc::downgrade(&desk);
    // Whoever only tells what became of bindings gives way to those that are to be placed.
    let counted = Arc::new(cx.pressure.count_by(move || {
        let line = line.upgrade();
        line.map_or(0, |desk| desk.line.counts().active)
    }));
    for number in 0..desk.settings.workers {
        let desk = Arc::clone(&desk);
        let held = (Arc::clone(&subscriptions), Arc::clone(&counted));
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
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    () = desk.greet() => {}
                }
                if number == 0 {
                    info!(
                        controller = "scheduler",
                        bindings = desk.line.counts().active,
                        "scheduling begins"
                    );
                }
                while let Some(turn) = desk.line.take(&stop).await {
                    if desk.asks_others() {
                        attempt_aside(&desk, turn).await;
                    } else {
                        desk.attempt(turn, &Notify::const_new()).await;
                    }
                }
                drop(held);
            },
        );
    }
    Ok(Scheduler { desk })
}

/// Attempts a binding; as soon as others have to be waited for, that goes on beside the worker.
async fn attempt_aside(desk: &Arc<Desk>, turn: Turn<Key>) {
    let waits = Arc::new(Notify::new());
    let (ours, told) = (Arc::clone(desk), Arc::clone(&waits));
    let mut attempt = Box::pin(async move { ours.attempt(turn, &told).await });
    tokio::select! {
        biased;
        () = &mut attempt => return,
        () = waits.notified() => {}
    }
    let Ok(place) = Arc::clone(&desk.aside).try_acquire_owned() else {
        attempt.await;
        return;
    };
    let goes_on = "an attempt that waits for others";
    desk.spawner.spawn_brief(goes_on, move |stop| async move {
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = attempt => {}
        }
        drop(place);
    });
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
