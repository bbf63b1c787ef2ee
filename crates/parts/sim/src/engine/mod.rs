//! The engine: one task for each member that follows the server's cache, plans, and carries out.
//!
//! What changed wakes keys; a key's plan is a pure function of the mirror and the time; the plans of all keys that are
//! due are carried out side by side. Nothing runs while nothing changes and no time has come.
//!
//! Invariants: a write of the engine is in the mirror before the next plan is made, so no plan counts an object twice;
//! a key that fails waits longer each time and holds nobody else up.

pub(crate) mod action;
mod carry;
mod events;
mod follow;
pub(crate) mod kind;
pub(crate) mod mirror;
mod queue;

use std::collections::BTreeMap;
use std::sync::Arc;

use admission::Quotas;
use futures_util::{StreamExt, stream};
use kinds::Compiled;
use object::Value;
use object::time::Time;
use runtime::{CancellationToken, Clock};
use serve::resource::Table;
use serve::server::Server;

use crate::behaviour::Rules;
use crate::config::Shape;
use crate::controllers::CONTROLLERS;
use crate::definitions;
use crate::engine::action::{Action, Plan};
use crate::engine::carry::{Carried, carry};
use crate::engine::events::{Recorder, Source};
use crate::engine::follow::Follower;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::queue::{Key, Queue};
use crate::faults::{FaultState, Faults};
use crate::garbage::Collector;
use crate::sessions::Sessions;
use crate::tables;

pub(crate) use crate::engine::carry::{create, engine_user};
pub(crate) use crate::engine::kind::Kind;

/// Writes under way at once. A store that syncs takes them as one batch.
const WRITES_AT_ONCE: usize = 128;
/// Attempts that are made at once when somebody else was quicker.
const QUICK_RETRIES: u32 = 4;
/// Rounds without a pause after which the engine takes one: a burst of ten thousand pods needs some hundred.
const MOST_ROUNDS: u32 = 5_000;
/// The longest wait of a key that keeps failing.
const LONGEST_WAIT: i64 = 60;

/// The component that has a node.
pub(crate) const KUBELET: &str = "kubelet";

/// The key of what the collector does; it is nobody's, so its failures are not retried: the next change is.
static COLLECTING: std::sync::LazyLock<Key> = std::sync::LazyLock::new(|| (u8::MAX, Arc::from("")));

/// Everything a plan may look at.
pub(crate) struct View<'a> {
    pub(crate) mirror: &'a Mirror,
    pub(crate) now: Time,
    pub(crate) shape: &'a Shape,
    pub(crate) rules: &'a Rules,
    pub(crate) faults: &'a FaultState,
    pub(crate) sessions: &'a Sessions,
    /// What is served.
    pub(crate) table: &'a Table,
    /// What namespaces use of what they may.
    pub(crate) quotas: &'a Quotas,
    /// Why the last plan of this key could not be carried out.
    pub(crate) trouble: Option<&'a str>,
    /// What the last plan of this key noted.
    pub(crate) noted: Option<&'a Value>,
}

/// A controller of the simulated cluster.
pub(crate) struct Controller {
    /// What it is called in logs.
    pub(crate) name: &'static str,
    /// What it is called in events, as Kubernetes does.
    pub(crate) component: &'static str,
    /// Whom a change wakes.
    pub(crate) wakes: fn(&Seen, &Mirror, &mut Vec<Arc<str>>),
    /// What is to be done about a key.
    pub(crate) plan: fn(&View<'_>, &str) -> Plan,
}

/// Follows one member's server and writes to it.
pub(crate) struct Engine {
    server: Arc<Server>,
    clock: Clock,
    shape: Arc<Shape>,
    rules: Arc<Rules>,
    faults: Faults,
    sessions: Sessions,
    quotas: Arc<Quotas>,
    mirror: Mirror,
    follower: Follower,
    queue: Queue,
    collector: Collector,
    troubles: BTreeMap<Key, Trouble>,
    notes: BTreeMap<Key, Value>,
    recorder: Recorder,
    table: Table,
    compiled: Compiled,
    /// What is served must be looked at again.
    is_table_stale: bool,
}

/// A key whose plan could not be carried out.
#[derive(Default)]
struct Trouble {
    attempts: u32,
    message: String,
    /// When it is tried again.
    again: Option<Time>,
}

impl Engine {
    pub(crate) fn new(
        server: Arc<Server>,
        clock: Clock,
        shape: Arc<Shape>,
        rules: Arc<Rules>,
        faults: Faults,
        sessions: Sessions,
        quotas: Arc<Quotas>,
    ) -> Self {
        let mut mirror = Mirror::default();
        let (follower, seen) = Follower::start(server.cache(), &mut mirror);
        let recorder = Recorder::new(shape.events);
        let mut engine = Self {
            recorder,
            notes: BTreeMap::new(),
            server,
            clock,
            shape,
            rules,
            faults,
            sessions,
            quotas,
            mirror,
            follower,
            queue: Queue::default(),
            collector: Collector::new(),
            troubles: BTreeMap::new(),
            table: tables::base().clone(),
            compiled: Compiled::default(),
            is_table_stale: false,
        };
        engine.wake(&seen);
        engine.wake_all();
        engine
    }

    /// Runs until told to stop. `settled` is called once, when everything there was to do at the start is done.
    pub(crate) async fn run(mut self, stop: CancellationToken, settled: impl FnOnce()) {
        let mut settled = Some(settled);
        let mut progress = self.server.cache().progress();
        let (mut faults, mut sessions) = (self.faults.watch(), self.sessions.watch());
        loop {
            progress.mark_unchanged();
            self.work(&stop).await;
            if let Some(settled) = settled.take() {
                settled();
            }
            let next = self.queue.next_time();
            let pause = async {
                match next {
                    Some(time) => self.clock.sleep_until(time).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                changed = progress.changed() => if changed.is_err() { return },
                changed = faults.changed() => { if changed.is_err() { return }; self.wake_all() }
                changed = sessions.changed() => { if changed.is_err() { return }; self.wake_all() }
                () = pause => {}
            }
        }
    }

    /// Plans and carries out until nothing is due.
    async fn work(&mut self, stop: &CancellationToken) {
        let mut rounds = 0_u32;
        while !stop.is_cancelled() {
            rounds = rounds.saturating_add(1);
            if rounds.is_multiple_of(MOST_ROUNDS) {
                // Controllers that undo each other's work must not take the whole machine.
                tracing::warn!(member = self.shape.name, "the simulation does not settle");
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            }
            let seen = self.follower.pull(&mut self.mirror);
            self.wake(&seen);
            let now = self.clock.now();
            let mut planned: Vec<(Key, Action)> = self
                .collector
                .look(&self.server)
                .into_iter()
                .chain(self.recorder.sweep(&self.server, now))
                .map(|action| (COLLECTING.clone(), action))
                .collect();
            let due = self.queue.take_due(now);
            let is_idle = planned.is_empty() && due.is_empty();
            let is_table_new = std::mem::take(&mut self.is_table_stale);
            if is_table_new {
                self.take_definitions();
            }
            planned.extend(self.plan(due, now));
            // Right before definitions are told so: whoever finds a kind served and writes to its definition must not
            // find that it changes once more, and whoever waits to be told may use the kind at once.
            if is_table_new {
                self.server.set_table(self.table.clone());
            }
            if is_idle {
                return;
            }
            self.carry_out(planned).await;
        }
    }

    /// Lets every controller look at changes.
    fn wake(&mut self, seen: &[Seen]) {
        let mut keys = Vec::new();
        for change in seen {
            self.is_table_stale |= change.kind == Kind::CustomResourceDefinition;
            for (place, controller) in (0_u8..).zip(CONTROLLERS) {
                (controller.wakes)(change, &self.mirror, &mut keys);
                for key in keys.drain(..) {
                    self.queue.push((place, key));
                }
            }
        }
    }

    /// Lets every controller look around: at the nodes, and by the key that is no object's.
    fn wake_all(&mut self) {
        self.is_table_stale = true;
        let nodes: Vec<Seen> = self
            .mirror
            .all(Kind::Node)
            .map(|(key, node)| Seen {
                kind: Kind::Node,
                key: Arc::clone(key),
                before: Some(Arc::clone(node)),
                after: Some(Arc::clone(node)),
            })
            .collect();
        self.wake(&nodes);
        for (place, _) in (0_u8..).zip(CONTROLLERS) {
            self.queue.push((place, Arc::from("")));
        }
    }

    /// What is built in and what is defined makes the table.
    fn take_definitions(&mut self) {
        let definitions = self.mirror.all(Kind::CustomResourceDefinition);
        let definitions = definitions.map(|(_, object)| &**object);
        self.table = definitions::table(tables::base(), definitions, &mut self.compiled);
    }

    fn plan(&mut self, due: Vec<Key>, now: Time) -> Vec<(Key, Action)> {
        let faults = self.faults.state();
        let mut actions = Vec::new();
        for key in due {
            let Some(controller) = CONTROLLERS.get(usize::from(key.0)) else {
                continue;
            };
            let view = View {
                mirror: &self.mirror,
                now,
                shape: &self.shape,
                rules: &self.rules,
                faults: &faults,
                sessions: &self.sessions,
                table: &self.table,
                quotas: &self.quotas,
                trouble: self
                    .troubles
                    .get(&key)
                    .map(|trouble| trouble.message.as_str()),
                noted: self.notes.get(&key),
            };
            let mut plan = (controller.plan)(&view, &key.1);
            let waits = self.troubles.get(&key).and_then(|trouble| trouble.again);
            if let Some(again) = waits.filter(|again| now < *again) {
                // What was refused is not tried again before its time, whatever else happens.
                plan.actions
                    .retain(|action| !matches!(action, Action::Create { .. }));
                plan.wake_at(again);
            }
            tracing::trace!(
                controller = controller.name,
                key = &*key.1,
                actions = plan.actions.len(),
                "planned"
            );
            match plan.note.take() {
                Some(note) => drop(self.notes.insert(key.clone(), note)),
                None => drop(self.notes.remove(&key)),
            }
            if let Some(time) = plan.wake {
                // A plan that is carried out in the second it was made in is not made again in it.
                self.queue
                    .push_at(key.clone(), time.max(now.plus_seconds(1)));
            }
            if plan.actions.is_empty() && waits.is_none_or(|again| now >= again) {
                self.troubles.remove(&key);
            }
            actions.extend(plan.actions.into_iter().map(|action| (key.clone(), action)));
        }
        actions
    }

    async fn carry_out(&mut self, planned: Vec<(Key, Action)>) {
        let (server, recorder) = (&self.server, &self.recorder);
        let outcomes: Vec<(Key, Carried)> = stream::iter(planned)
            .map(|(key, action)| async move {
                let controller = CONTROLLERS.get(usize::from(key.0));
                let component = controller.map_or("", |controller| controller.component);
                // The key of a kubelet is its node.
                let host = if component == KUBELET { &*key.1 } else { "" };
                let source = Source { component, host };
                let carried = carry(server, &action, recorder, source).await;
                (key, carried)
            })
            .buffer_unordered(WRITES_AT_ONCE)
            .collect()
            .await;
        let now = self.clock.now();
        let mut failed: BTreeMap<Key, (bool, String)> = BTreeMap::new();
        for (key, carried) in outcomes {
            let (quick, message) = match carried {
                Carried::Done => continue,
                Carried::Outrun => (true, String::new()),
                Carried::Refused(message) => (false, message),
            };
            let entry = failed.entry(key).or_insert((true, String::new()));
            entry.0 &= quick;
            if !message.is_empty() {
                entry.1 = message;
            }
        }
        failed.remove(&*COLLECTING);
        for (key, (quick, message)) in failed {
            let trouble = self.troubles.entry(key.clone()).or_default();
            trouble.attempts = trouble.attempts.saturating_add(1);
            trouble.message = message;
            if quick && trouble.attempts <= QUICK_RETRIES {
                self.queue.push(key);
                continue;
            }
            let wait = (1_i64 << trouble.attempts.min(6)).min(LONGEST_WAIT);
            let again = now.plus_seconds(wait);
            trouble.again = Some(again);
            self.queue.push_at(key, again);
        }
    }
}
