//! One attempt at a binding: gather, decide, write.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use api::well_known::annotations;
use client::{Cache, CallError, Client, PatchKind, WriteOptions};
use control::Cx;
use estimate::Answers;
use intent::{Action, Part};
use object::{Object, Value};
use schedule::{
    Decision, Inputs, Options,
    assume::{Assumptions, View},
    plugin::Plugins,
    report::{self, Writing},
    trigger::{Trigger, needs_cycle},
};
use telemetry::chain;
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::{
    bound::Bound,
    estimator::Estimators,
    fleet::Fleet,
    groups::{self, JustWritten},
    line::{Key, Line},
    metrics::{self, Metrics},
    placements::{Placements, Prepared, Previous},
    plan::{self, Written},
    queue::{Ending, Turn},
    recorder::Recorder,
    settings::{Overcommit, Settings},
};

/// How often a decision is made again because others took the room, before it waits its turn like any failure.
const OVERTAKEN: u32 = 4;

/// How often the status is written again after somebody else wrote it meanwhile.
const STATUS_WRITES: u32 = 5;

/// Everything that decisions share.
pub(crate) struct Desk {
    pub(crate) settings: Settings,
    pub(crate) plugins: Plugins,
    pub(crate) cx: Cx,
    pub(crate) line: Line,
    pub(crate) fleet: Fleet,
    pub(crate) placements: Placements,
    pub(crate) assumptions: Mutex<Assumptions>,
    pub(crate) just_written: JustWritten,
    pub(crate) metrics: Metrics,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) estimators: Option<Estimators>,
    pub(crate) clusters: Cache,
    pub(crate) bindings: Cache,
    pub(crate) cluster_bindings: Cache,
}

/// What a decision is about, gathered from the caches.
struct Facts {
    object: Arc<Object>,
    bound: Bound,
    prepared: Arc<Prepared>,
    trigger: Trigger,
}

/// A decision and the promise that was made for it.
struct Decided {
    decision: Decision,
    is_promised: bool,
}

impl Desk {
    /// Attempts a binding and tells the line how it ended.
    pub(crate) async fn attempt(&self, turn: Turn<Key>) {
        let ending = self.run(&turn).await;
        if ending == Ending::Failed || ending == Ending::Unschedulable {
            self.metrics.came(metrics::Incoming::ScheduleAttemptFailure);
        }
        self.line.finish(&turn.key, ending);
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

    async fn run(&self, turn: &Turn<Key>) -> Ending {
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
        let estimates = self.estimate(&facts).await;
        let Some(Decided {
            decision,
            is_promised,
        }) = self.decide(&facts, &estimates)
        else {
            return Ending::Failed;
        };
        self.metrics.decided(start.elapsed());
        let ending = self.write(turn, &facts, &decision, is_promised).await;
        let outcome = match ending {
            Ending::Settled(_) => metrics::Outcome::Scheduled,
            Ending::Unschedulable | Ending::Failed => metrics::Outcome::Error,
        };
        self.metrics
            .attempted(outcome, facts.trigger.schedule_type(), start.elapsed());
        if let Some(recorder) = &self.recorder {
            let (now, trigger) = (self.cx.now(), facts.trigger.as_str());
            recorder.record(now, trigger, turn.attempt, decision.diagnosis);
        }
        ending
    }

    fn gather(&self, object: Arc<Object>) -> Result<Gathered, GatherError> {
        let bound = Bound::read(&object).map_err(GatherError::Shape)?;
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

    /// What estimators beside the clusters say, where there are any.
    async fn estimate(&self, facts: &Facts) -> Vec<Answers> {
        let Some(estimators) = &self.estimators else {
            return Vec::new();
        };
        let Facts {
            bound, prepared, ..
        } = facts;
        let peers = groups::peers(bound, &self.just_written, |key| {
            self.bindings.indexed(groups::INDEX, key)
        });
        let view = match self.settings.overcommit {
            Overcommit::Guarded => self.assumptions().view(self.cx.now()),
            Overcommit::Possible => View::default(),
        };
        let clusters = self.fleet.snapshot();
        let inputs = Inputs {
            binding: bound.view(),
            placement: &prepared.compiled,
            clusters: &clusters,
            estimates: &[],
            assumed: &view.by_cluster,
            peers: &peers,
            plugins: &self.plugins,
            options: self.options(),
        };
        let names: Vec<Arc<str>> = schedule::candidates(&inputs)
            .into_iter()
            .map(|position| clusters.name(position))
            .collect();
        if names.is_empty() {
            return Vec::new();
        }
        let is_set = schedule::is_component_set(&inputs);
        vec![
            estimators
                .ask(bound, is_set, &names, &view.by_cluster)
                .await,
        ]
    }

    /// Decides; `None` if others took the room each time.
    fn decide(&self, facts: &Facts, estimates: &[Answers]) -> Option<Decided> {
        let Facts {
            bound, prepared, ..
        } = facts;
        let peers = groups::peers(bound, &self.just_written, |key| {
            self.bindings.indexed(groups::INDEX, key)
        });
        let is_guarded =
            self.settings.overcommit == Overcommit::Guarded && !bound.metadata.namespace.is_empty();
        let nothing = BTreeMap::new();
        for _ in 0..OVERTAKEN {
            let now = self.cx.now();
            let view: Option<View> = is_guarded.then(|| self.assumptions().view(now));
            let decision = schedule::schedule(&Inputs {
                binding: bound.view(),
                placement: &prepared.compiled,
                clusters: &self.fleet.snapshot(),
                estimates,
                assumed: view.as_ref().map_or(&nothing, |view| &view.by_cluster),
                peers: &peers,
                plugins: &self.plugins,
                options: self.options(),
            });
            let (Some(view), Some(targets)) = (&view, decision.targets_to_write()) else {
                return Some(Decided {
                    decision,
                    is_promised: false,
                });
            };
            let key = facts.object.key().to_string();
            let promised = self
                .assumptions()
                .promise(view, &key, &bound.spec, targets, now);
            match promised {
                Ok(()) => {
                    return Some(Decided {
                        decision,
                        is_promised: true,
                    });
                }
                Err(overtaken) => {
                    self.metrics.overtaken();
                    debug!(binding = %key, cluster = %overtaken.0, "deciding again: the room was given away");
                }
            }
        }
        None
    }

    async fn write(
        &self,
        turn: &Turn<Key>,
        facts: &Facts,
        decision: &Decision,
        is_promised: bool,
    ) -> Ending {
        let Facts {
            object,
            bound,
            prepared,
            trigger,
        } = facts;
        // Taking all targets away is the one result that destroys: never from clusters that may not be all there are.
        if decision
            .refusal()
            .is_some_and(|refusal| refusal.clears_targets())
            && !bound.spec.clusters.is_empty()
            && self.clusters.complete().is_none()
        {
            warn!(binding = %turn.key, "the list of clusters is not complete, so targets are left alone");
            return Ending::Failed;
        }
        let patch = plan::result(bound, prepared, decision);
        let is_changed = patch.is_some();
        let (writing, latest) = match patch {
            None => (Writing::Done, None),
            Some(patch) => match self.patch(object, patch, Part::Object).await {
                Ok(written) => {
                    self.line.expect(&turn.key, written.generation());
                    self.just_written.put(&written);
                    (Writing::Done, Some(written))
                }
                Err(error) => {
                    if is_promised {
                        self.assumptions().release(&object.key().to_string());
                    }
                    if error.is_conflict() || error.is_not_found() || error.is_wrong_uid() {
                        // Somebody was quicker; the cache will show it, and the binding is decided as it is then.
                        self.metrics.conflicted();
                        return Ending::Failed;
                    }
                    warn!(binding = %turn.key, error = %chain(&error), "a result cannot be written");
                    (writing_failed(&error), None)
                }
            },
        };
        let latest = latest.as_ref().unwrap_or(object);
        let ending = self
            .write_status(facts, decision, latest, &writing, is_changed)
            .await;
        debug!(binding = %turn.key, trigger = %trigger, attempt = turn.attempt, "decided");
        ending
    }

    /// Writes the status for a decision, again if others write it meanwhile.
    async fn write_status(
        &self,
        facts: &Facts,
        decision: &Decision,
        written: &Object,
        writing: &Writing,
        is_changed: bool,
    ) -> Ending {
        let mut latest = written.clone();
        // The spec of this generation is what was decided about, with our result: the patch asked for that revision.
        let generation = written.generation();
        for round in 0..STATUS_WRITES {
            let Ok(status) = status_of(&latest) else {
                return Ending::Failed;
            };
            let outcome = Written {
                writing: writing.clone(),
                is_changed,
                status: &status,
                generation,
            };
            let ending = plan::ending(decision, &outcome);
            if round == 0 {
                self.report(&plan::events(
                    &facts.bound,
                    &facts.object,
                    decision,
                    &outcome,
                ));
            }
            let Some(patch) = plan::status(decision, &outcome, facts.trigger, self.cx.now()) else {
                return ending;
            };
            match self.patch(&latest, patch, Part::Status).await {
                Ok(_) => return ending,
                Err(error) if error.is_not_found() || error.is_wrong_uid() => return ending,
                Err(error) if error.is_conflict() => self.metrics.conflicted(),
                Err(error) => {
                    warn!(binding = %latest.key(), error = %chain(&error), "a status cannot be written");
                    return Ending::Failed;
                }
            }
            match self
                .cx
                .client
                .get(&plan::resource(&latest), &latest.key())
                .await
            {
                Ok(newer) => latest = newer,
                Err(_) => return Ending::Failed,
            }
        }
        Ending::Failed
    }

    /// Says in the status that a binding needs no decision.
    async fn write_seen(&self, seen: Option<(Arc<Object>, Box<Bound>)>) -> Ending {
        let Some((object, bound)) = seen else {
            return Ending::Settled(i64::MAX);
        };
        let settled = Ending::Settled(bound.metadata.generation);
        let Some(patch) = plan::seen(&bound) else {
            return settled;
        };
        match self.patch(&object, patch, Part::Status).await {
            Ok(_) => settled,
            Err(error) if error.is_not_found() || error.is_wrong_uid() => settled,
            Err(error) => {
                debug!(binding = %object.key(), error = %chain(&error), "an observed generation cannot be written");
                Ending::Failed
            }
        }
    }

    async fn patch(&self, object: &Object, patch: Value, part: Part) -> Result<Object, CallError> {
        let client: &Client = &self.cx.client;
        let patch = plan::guarded(object, patch);
        let (resource, options) = (plan::resource(object), WriteOptions::default());
        client
            .patch(
                &resource,
                &object.key(),
                PatchKind::Merge,
                &patch,
                &part,
                &options,
            )
            .await
    }

    fn report(&self, actions: &[Action]) {
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

fn status_of(
    object: &Object,
) -> Result<api::work::v1alpha2::ResourceBindingStatus, object::parse::ShapeError> {
    match object.at(&["status"]) {
        None | Some(Value::Null) => Ok(Default::default()),
        Some(status) => object::parse::shape(status),
    }
}

fn writing_failed(error: &CallError) -> Writing {
    let text = chain(error).to_string();
    if error.code() == 403 && error.reason() == "QuotaExceeded" {
        return Writing::QuotaExceeded(text);
    }
    Writing::Failed(text)
}

/// How long a turn may take before the line is told that it failed; far beyond the deadlines of the calls it makes.
pub(crate) const TURN: Duration = Duration::from_secs(180);
