//! One attempt at a binding: gather, decide, write.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use api::well_known::annotations;
use client::Cache;
use control::Cx;
use estimate::Answers;
use futures_util::FutureExt as _;
use intent::Action;
use object::Object;
use runtime::Spawner;
use schedule::{
    Decision, Inputs, Options,
    assume::{Assumptions, View},
    cluster::{ClusterFacts, Snapshot},
    plugin::Plugins,
    report,
    trigger::{Trigger, needs_cycle},
};
use telemetry::chain;
use tokio::{
    sync::{Notify, OnceCell, Semaphore},
    time::Instant,
};
use tracing::{debug, error, warn};

use crate::{
    bound::Bound,
    estimator::Estimators,
    fleet::Fleet,
    groups::{self, Ahead, Meant},
    line::{Key, Line},
    metrics::{self, Metrics},
    placements::{Placements, Prepared, Previous},
    plan,
    queue::{Ending, Turn},
    recorder::Recorder,
    settings::{Overcommit, Settings},
    webhook::{Heard, Webhook},
    writing::Became,
};

/// How long the first decisions wait for all estimators to answer a greeting.
const GREETING: Duration = Duration::from_millis(500);

/// How many attempts may wait for estimators and webhooks without a worker; further ones keep theirs.
pub(crate) const ASIDE: usize = 1024;

/// How often a decision is made again because others took the room, before it waits its turn like any failure.
const OVERTAKEN: u32 = 4;

/// How often it is made again because others of its groups were placed meanwhile: each time one of them got on.
const CROWDED: u32 = 64;

/// Everything that decisions share.
pub(crate) struct Desk {
    pub(crate) settings: Settings,
    pub(crate) plugins: Plugins,
    pub(crate) webhooks: Vec<Webhook>,
    pub(crate) cx: Cx,
    pub(crate) spawner: Spawner,
    pub(crate) line: Line,
    pub(crate) fleet: Fleet,
    pub(crate) placements: Placements,
    pub(crate) assumptions: Mutex<Assumptions>,
    pub(crate) ahead: Ahead,
    pub(crate) metrics: Metrics,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) estimators: Option<Estimators>,
    pub(crate) clusters: Cache,
    pub(crate) bindings: Cache,
    pub(crate) cluster_bindings: Cache,
    /// Whether the server takes result and status in one write; empty until it was asked.
    pub(crate) places_at_once: OnceLock<bool>,
    /// Set once it is known which estimators answer.
    pub(crate) greeted: OnceCell<()>,
    /// For attempts that wait for others beside the workers.
    pub(crate) aside: Arc<Semaphore>,
}

/// What a decision is about, gathered from the caches.
pub(crate) struct Facts {
    pub(crate) object: Arc<Object>,
    pub(crate) bound: Bound,
    pub(crate) prepared: Arc<Prepared>,
    pub(crate) trigger: Trigger,
}

/// A decision and the promises that were made for it.
struct Decided<'a> {
    decision: Decision,
    /// It has room.
    is_promised: bool,
    /// Others of its groups see where it goes; to be held until it is written.
    meant: Option<Meant<'a>>,
}

/// Why nothing was decided.
enum Undecided {
    /// Room was promised to others since the estimators were asked.
    Outdated,
    /// Others took the room or the places each time, or are about to.
    InVain,
}

impl Desk {
    /// Attempts a binding and tells the line how it ended. `waits` is told if others have to be waited for.
    pub(crate) async fn attempt(&self, turn: Turn<Key>, waits: &Notify) {
        let attempt = std::panic::AssertUnwindSafe(self.run(&turn, waits)).catch_unwind();
        let ending = match tokio::time::timeout(TURN, attempt).await {
            Ok(Ok(ending)) => ending,
            // A panicking attempt costs its binding a wait, not the process.
            Ok(Err(panic)) => {
                let panic = runtime::panic_text(&*panic);
                error!(binding = %turn.key, panic, "an attempt at a binding panicked");
                Ending::Failed
            }
            Err(_) => {
                error!(binding = %turn.key, "an attempt at a binding did not end");
                Ending::Failed
            }
        };
        if !matches!(ending, Ending::Settled(_)) {
            self.metrics.came(metrics::Incoming::ScheduleAttemptFailure);
        }
        self.line.finish(&turn.key, ending);
    }

    /// Whether attempts ask anybody outside of the process.
    pub(crate) fn asks_others(&self) -> bool {
        self.estimators.is_some() || !self.webhooks.is_empty()
    }

    /// Waits until it is known which estimators answer, or not any longer.
    pub(crate) async fn greet(&self) {
        let Some(estimators) = &self.estimators else {
            return;
        };
        let greeting = || async {
            let clusters = self.fleet.snapshot();
            let names = clusters.iter().map(|cluster| Arc::clone(&cluster.name));
            estimators.greet(names.collect(), GREETING).await;
        };
        self.greeted.get_or_init(greeting).await;
    }

    /// The binding as the cache has it.
    pub(crate) fn binding(&self, key: &Key) -> Option<Arc<Object>> {
        if key.namespace.is_empty() {
            self.cluster_bindings.get(key)
        } else {
            self.bindings.get(key)
        }
    }

    pub(crate) fn assumptions(&self) -> MutexGuard<'_, Assumptions> {
        // Promises are made and taken back by plain code that does not panic.
        self.assumptions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    async fn run(&self, turn: &Turn<Key>, waits: &Notify) -> Ending {
        let start = Instant::now();
        let Some(object) = self.binding(&turn.key) else {
            return Ending::Settled(i64::MAX);
        };
        let facts = match self.gather(object) {
            Ok(Gathered::Facts(facts)) => facts,
            Ok(Gathered::Nothing { seen }) => return self.write_seen(seen).await,
            Err(problem) => {
                warn!(binding = %turn.key, error = %chain(&problem), "a binding cannot be decided");
                return Ending::Failed;
            }
        };
        let deciding = self.ask_and_decide(&facts);
        let mut deciding = std::pin::pin!(deciding);
        let decided = match deciding.as_mut().now_or_never() {
            Some(decided) => decided,
            None => {
                self.metrics.waited();
                waits.notify_one();
                deciding.await
            }
        };
        let Some(Decided {
            decision,
            is_promised,
            meant,
        }) = decided
        else {
            return Ending::Failed;
        };
        let Became { ending, refused } = self.write(turn, &facts, &decision, is_promised).await;
        drop(meant);
        let outcome = match ending {
            Ending::Settled(_) => metrics::Outcome::Scheduled,
            Ending::Unschedulable | Ending::Failed | Ending::Unheard | Ending::Overtaken => {
                metrics::Outcome::Error
            }
        };
        self.metrics
            .attempted(outcome, facts.trigger.schedule_type(), start.elapsed());
        // A decision that somebody overtook decided nothing: nobody is to read it as the last one.
        if let Some(recorder) = &self.recorder
            && ending != Ending::Overtaken
        {
            let (now, uid) = (self.cx.now(), facts.object.uid());
            let trigger = facts.trigger.as_str();
            let attempt = turn.attempt;
            recorder.record(now, uid, trigger, attempt, refused, decision.diagnosis);
        }
        ending
    }

    fn gather(&self, object: Arc<Object>) -> Result<Gathered, GatherError> {
        let bound = Bound::read(&object).map_err(GatherError::Shape)?;
        if bound.metadata.deletion_timestamp.is_some() && bound.status.last_scheduled_time.is_some()
        {
            // It has had its place, and goes in the ordinary way.
            return Ok(Gathered::Nothing { seen: None });
        }
        if bound.metadata.deletion_timestamp.is_some() {
            let event = report::deleting_event(&bound.view());
            self.report(&plan::report_twice(&bound, &object, &event));
            return Ok(Gathered::Nothing { seen: None });
        }
        let placement = object
            .at(&["spec", "placement"])
            .filter(|value| !value.is_null());
        let placement = placement
            .ok_or_else(|| GatherError::NoPlacement(report::no_placement(&bound.view())))?;
        let prepared = self.placements.prepare(placement)?;
        let annotation = bound
            .metadata
            .annotations
            .get(annotations::APPLIED_PLACEMENT);
        let previous = Previous::of(annotation.map(String::as_str), &prepared, &self.placements);
        let clusters = self.fleet.snapshot();
        let applied = previous.applied(&prepared);
        match needs_cycle(&bound.view(), applied, &clusters, self.options()) {
            Some(trigger) => Ok(Gathered::Facts(Box::new(Facts {
                object,
                bound,
                prepared,
                trigger,
            }))),
            None => Ok(Gathered::Nothing {
                seen: Some((object, Box::new(bound))),
            }),
        }
    }

    /// The plugins for one decision: those in the process, and what those outside say about it.
    async fn ask_webhooks(&self, facts: &Facts) -> Cow<'_, Plugins> {
        if self.webhooks.is_empty() {
            return Cow::Borrowed(&self.plugins);
        }
        let clusters = self.fleet.snapshot();
        let passing = self.with_inputs(facts, &clusters, &self.plugins, schedule::passing);
        if passing.is_empty() {
            return Cow::Borrowed(&self.plugins);
        }
        let passing: Vec<&ClusterFacts> = passing
            .into_iter()
            .filter_map(|position| clusters.at(position))
            .collect();
        let asking = self.webhooks.iter();
        let asking = asking.map(|webhook| webhook.ask(&facts.object, &passing, &self.spawner));
        let told = futures_util::future::join_all(asking).await;
        let mut plugins = self.plugins.clone();
        for heard in told {
            match heard {
                Heard::Said(plugin) => plugins.add(plugin),
                Heard::Nothing(unheard) => {
                    self.metrics.unheard(&unheard);
                    plugins.unheard.push(unheard);
                }
            }
        }
        Cow::Owned(plugins)
    }

    /// Looks at what a decision would be made from, but for what others must be asked for.
    fn with_inputs<T>(
        &self,
        facts: &Facts,
        clusters: &Snapshot,
        plugins: &Plugins,
        look: impl FnOnce(&Inputs<'_>) -> T,
    ) -> T {
        let peers = self
            .ahead
            .peers(&facts.bound, |group| self.group_members(group));
        look(&Inputs {
            binding: facts.bound.view(),
            placement: &facts.prepared.compiled,
            clusters,
            estimates: &[],
            assumed: &BTreeMap::new(),
            peers: &peers,
            plugins,
            options: self.options(),
        })
    }

    /// Decides by what others say who have to be asked; `None` if others took the room or the places each time, or are
    /// about to. What an estimator said of room that was promised meanwhile holds no longer, so it is asked again.
    async fn ask_and_decide<'d>(&'d self, facts: &'d Facts) -> Option<Decided<'d>> {
        let plugins = self.ask_webhooks(facts).await;
        for _ in 0..OVERTAKEN {
            let view = self.promised();
            let estimates = self.estimate(facts, &plugins, &view).await;
            match self.decide(facts, &plugins, &estimates, view) {
                Ok(decided) => return Some(decided),
                Err(Undecided::Outdated) => {}
                Err(Undecided::InVain) => return None,
            }
        }
        None
    }

    /// What is promised to others, where that counts.
    fn promised(&self) -> View {
        match self.settings.overcommit {
            Overcommit::Guarded => self.assumptions().view(self.cx.now()),
            Overcommit::Possible => View::default(),
        }
    }

    /// What estimators beside the clusters say, where there are any.
    async fn estimate(&self, facts: &Facts, plugins: &Plugins, view: &View) -> Vec<Answers> {
        let Some(estimators) = &self.estimators else {
            return Vec::new();
        };
        let clusters = self.fleet.snapshot();
        let (positions, is_set) = self.with_inputs(facts, &clusters, plugins, |inputs| {
            let positions = schedule::candidates(inputs);
            (positions, schedule::is_component_set(inputs))
        });
        let positions = positions.into_iter();
        let names: Vec<Arc<str>> = positions.map(|position| clusters.name(position)).collect();
        if names.is_empty() {
            return Vec::new();
        }
        vec![
            estimators
                .ask(&facts.bound, is_set, &names, &view.by_cluster)
                .await,
        ]
    }

    /// The bindings of a group, as the cache has them.
    pub(crate) fn group_members(&self, group: &str) -> Vec<Arc<Object>> {
        self.bindings.indexed(groups::INDEX, group)
    }

    /// Decides by a view of what is promised, of the moment when estimators were asked.
    fn decide(
        &self,
        facts: &Facts,
        plugins: &Plugins,
        estimates: &[Answers],
        mut view: View,
    ) -> Result<Decided<'_>, Undecided> {
        let Facts {
            bound, prepared, ..
        } = facts;
        let is_guarded =
            self.settings.overcommit == Overcommit::Guarded && !bound.metadata.namespace.is_empty();
        let nothing = BTreeMap::new();
        let group = |group: &str| self.group_members(group);
        let (mut overtaken, mut crowded) = (0, 0);
        while overtaken < OVERTAKEN && crowded < CROWDED {
            let clusters = self.fleet.snapshot();
            let peers = self.ahead.peers(bound, group);
            let inputs = Inputs {
                binding: bound.view(),
                placement: &prepared.compiled,
                clusters: &clusters,
                estimates,
                assumed: match is_guarded {
                    true => &view.by_cluster,
                    false => &nothing,
                },
                peers: &peers,
                plugins,
                options: self.options(),
            };
            let decision = schedule::schedule_watched(&inputs, &self.metrics.watch());
            if plan::hangs_on_peers(&decision, &peers) {
                debug!(binding = %facts.object.key(), "not decided: others of its groups are about to move");
                return Err(Undecided::InVain);
            }
            // A refusal that lets go of clusters gives nothing, so there is nothing to promise.
            let targets = decision
                .targets_to_write()
                .filter(|_| !decision.only_lets_go());
            let Some(targets) = targets else {
                return Ok(Decided {
                    decision,
                    is_promised: false,
                    meant: None,
                });
            };
            let meant = self.ahead.mean(bound, &peers, targets, group);
            if meant.is_none() {
                crowded += 1;
                self.metrics.overtaken();
                debug!(binding = %facts.object.key(), "deciding again: others of its groups were placed");
                continue;
            }
            if !is_guarded {
                return Ok(Decided {
                    decision,
                    is_promised: false,
                    meant,
                });
            }
            let key = facts.object.key().to_string();
            let now = self.cx.now();
            let promised = self
                .assumptions()
                .promise(&view, &key, &bound.spec, targets, now);
            match promised {
                Ok(()) => {
                    return Ok(Decided {
                        decision,
                        is_promised: true,
                        meant,
                    });
                }
                Err(cluster) => {
                    overtaken += 1;
                    self.metrics.overtaken();
                    debug!(binding = %key, cluster = %cluster.0, "deciding again: the room was given away");
                    if !estimates.is_empty() {
                        return Err(Undecided::Outdated);
                    }
                    view = self.promised();
                }
            }
        }
        Err(Undecided::InVain)
    }

    pub(crate) fn report(&self, actions: &[Action]) {
        for action in actions {
            if let Action::Report {
                about,
                kind,
                reason,
                message,
            } = action
            {
                self.cx.events.record(about, *kind, reason, message);
            }
        }
    }

    fn options(&self) -> Options {
        self.settings.options
    }
}

/// What gathering found.
enum Gathered {
    /// A binding to decide about.
    Facts(Box<Facts>),
    /// A binding that needs no decision; what was looked at, if its status is to say so.
    Nothing {
        seen: Option<(Arc<Object>, Box<Bound>)>,
    },
}

/// Why a binding cannot be decided at all.
#[derive(Debug, thiserror::Error)]
enum GatherError {
    #[error("cannot read the binding")]
    Shape(#[source] object::parse::ShapeError),
    #[error("{0}")]
    NoPlacement(String),
    #[error(transparent)]
    Placement(#[from] crate::placements::PlacementError),
}

/// How long a turn may take before the line is told that it failed; far beyond the deadlines of the calls it makes.
pub(crate) const TURN: Duration = Duration::from_secs(180);
