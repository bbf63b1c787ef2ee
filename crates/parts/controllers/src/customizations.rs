//! Keeps the interpreter as users say: whoever asks what an object means gets the rules of the moment.
//!
//! Reads:  ResourceInterpreterCustomizations, ResourceInterpreterWebhookConfigurations; Services that the latter name.
//! Writes: an event on an object whose scripts or webhooks cannot be used as they are, and on one whose script gave no
//!         answer when it was asked.
//! Keeps:  one interpreter for the whole process, replaced whole when one of these objects changes.

use std::sync::Arc;
use std::time::Duration;

use api::registry;
use api::well_known::feature_gates::{FeatureGates, Gate};
use client::{Cache, Caches, Scope};
use control::{Cx, Recorder};
use intent::{Action, EventKind, ObjectRef, Plan};
use interpret::script::{Limits, ScriptError, Surroundings};
use interpret::{Courier, Engine, Interpreter, Layers, Options, Problems};
use object::time::Time;
use object::{ObjectKey, ResourceType};
use runtime::{Clock, Spawner};
use telemetry::chain;
use telemetry::metrics::{Metric, Registry};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::courier::Network;

/// How the machines for scripts are called in figures. Upstream: one pool for customizations and one for shipped rules, both
/// of this name.
const POOL: &str = "luavm";

/// Changes within this time make one new interpreter.
const GATHER: Duration = Duration::from_millis(20);

/// The reason of the event on an object that cannot be used as it is.
const UNUSABLE: &str = "InterpreterRuleUnusable";
/// The reason of the event on a customization whose script gave no answer.
const FAILED: &str = "InterpreterRuleFailed";

/// Follows customizations; what is received is current once everything there is has been seen.
#[must_use]
pub fn follow(
    caches: &Caches,
    cx: &Cx,
    spawner: &Spawner,
    gates: &FeatureGates,
) -> watch::Receiver<Arc<Interpreter>> {
    let options = Options {
        resource_quota_estimate: gates.is_enabled(Gate::ResourceQuotaEstimate),
    };
    let (customizations, webhooks) = objects(caches);
    let outside = Outside {
        clock: cx.clock.clone(),
        started: Instant::now(),
        customizations: customizations.clone(),
        events: cx.events.clone(),
    };
    let engine = Arc::new(Engine::new(Limits::default(), options, Arc::new(outside)));
    count_machines(&engine, &cx.metrics);
    let courier: Arc<dyn Courier> = Arc::new(Network::new(caches));
    let first = Interpreter::new(Layers::default(), options);
    let (sender, receiver) = watch::channel(Arc::new(first));
    spawner.spawn("customizations", |stop| async move {
        let changed = Arc::new(Notify::new());
        let _subscriptions = [&customizations, &webhooks].map(|cache| {
            let wake = Arc::clone(&changed);
            cache.on_change(move |_| wake.notify_one())
        });
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = changed.notified() => {}
            }
            tokio::time::sleep(GATHER).await;
            let (scripts, hooks) = (customizations.list(), webhooks.list());
            let interpreter = Interpreter::configured(
                &engine,
                scripts.iter().map(AsRef::as_ref),
                hooks.iter().map(AsRef::as_ref),
                Some(Arc::clone(&courier)),
                options,
            );
            sender.send_replace(Arc::new(interpreter));
        }
    });
    receiver
}

/// Lets whoever reads the figures see how often machines for scripts are used again.
fn count_machines(engine: &Arc<Engine>, metrics: &Registry) {
    let engine = Arc::downgrade(engine);
    metrics.while_of_use(move |metrics| {
        let Some(engine) = engine.upgrade() else {
            return false;
        };
        let turnover = engine.turnover();
        for (metric, place, figure) in [
            (Metric::PoolGetOperationTotal, "pool", turnover.reused),
            (Metric::PoolGetOperationTotal, "new", turnover.made),
            (Metric::PoolPutOperationTotal, "pool", turnover.kept),
            (Metric::PoolPutOperationTotal, "destroyed", turnover.dropped),
        ] {
            metrics.add(metric, &[POOL, place], figure as f64);
        }
        true
    });
}

/// Tells the authors of customizations and webhooks what is wrong with them, on the objects they wrote.
pub fn tell_problems(
    mut rules: watch::Receiver<Arc<Interpreter>>,
    caches: &Caches,
    cx: &Cx,
    spawner: &Spawner,
) {
    let (customizations, webhooks) = objects(caches);
    let cx = cx.clone();
    spawner.spawn("problems of customizations", |stop| async move {
        let mut told = Problems::default();
        loop {
            let problems = rules.borrow_and_update().problems().clone();
            let plan = news(&problems, &told, &customizations, &webhooks);
            if let Err(error) = cx.carry_out(&plan).await {
                tracing::warn!(error = %chain(&error), "cannot tell of a customization");
            }
            told = problems;
            let changed = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                changed = rules.changed() => changed,
            };
            if changed.is_err() {
                // Nobody can change them any more.
                return stop.cancelled().await;
            }
        }
    });
}

/// What has not been told yet.
fn news(problems: &Problems, told: &Problems, customizations: &Cache, webhooks: &Cache) -> Plan {
    let mut plan = Plan::default();
    let mut tell = |cache: &Cache, name: &str, message: String| {
        if let Some(object) = cache.get(&ObjectKey::cluster(name)) {
            let about = ObjectRef::of(&object);
            plan.push(Action::report(about, EventKind::Warning, UNUSABLE, message));
        }
    };
    for problem in &problems.customizations {
        if told.customizations.contains(problem) {
            continue;
        }
        let message = match problem.operation {
            Some(operation) => format!("{operation}: {}", problem.message),
            None => problem.message.clone(),
        };
        tell(customizations, &problem.customization, message);
    }
    for problem in &problems.hooks {
        if !told.hooks.contains(problem) {
            tell(webhooks, &problem.configuration, problem.message.clone());
        }
    }
    plan
}

fn objects(caches: &Caches) -> (Cache, Cache) {
    let follow =
        |resource: &registry::Resource| caches.follow(&ResourceType::from(resource), Scope::all());
    (
        follow(&registry::RESOURCE_INTERPRETER_CUSTOMIZATION),
        follow(&registry::RESOURCE_INTERPRETER_WEBHOOK_CONFIGURATION),
    )
}

/// What scripts learn of the world: the time. What they print is for who looks for it, and how they fail for who wrote them.
struct Outside {
    clock: Clock,
    started: Instant,
    customizations: Cache,
    events: Recorder,
}

impl Surroundings for Outside {
    fn now(&self) -> Option<Time> {
        Some(self.clock.now())
    }

    fn elapsed(&self) -> Option<Duration> {
        Some(self.started.elapsed())
    }

    fn print(&self, line: &str) {
        tracing::debug!(line, "a script printed");
    }

    fn failed(&self, error: &ScriptError) {
        // A script that is asked about many objects fails of the same cause each time: that is one event, which counts.
        if let Some(object) = self.customizations.get(&ObjectKey::cluster(&error.origin)) {
            let about = ObjectRef::of(&object);
            let message = error.to_string();
            self.events
                .record(&about, EventKind::Warning, FAILED, &message);
        }
    }
}
