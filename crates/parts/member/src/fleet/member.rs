//! The loops of one member.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api::cluster::Cluster;
use api::names::execution_space;
use api::well_known::conditions::cluster::READY;
use client::{Cache, Client};
use control::Controller;
use interpret::Interpreter;
use object::condition;
use runtime::Spawner;
use telemetry::chain;
use telemetry::metrics::{MEMBER, Metric, Registry};
use tokio::sync::{Notify, watch};

use crate::connect::{Link, LinkError};
use crate::fleet::{FIRST, Fleet, GROUND, Shared, write};
use crate::health::Damping;
use crate::lease::Renewal;
use crate::report::{Linked, Reporter};
use crate::works::Works;
use crate::works::connection::Connection;
use crate::works::recognition::Recognition;

/// How urgent it is to read objects by new rules: less than any change.
const BY_NEW_RULES: i32 = -100;

/// One member: what runs as long as its cluster is there, and what runs as long as it is reached in one way.
pub(crate) struct Member {
    name: String,
    /// Everything that faces the member.
    branch: Spawner,
    link: watch::Sender<Linked>,
    wanted: Arc<Notify>,
    metrics: Registry,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The way it is reached, and everything that depends on it.
    reached: Option<Reached>,
    is_ready: bool,
    generation: i64,
    has_finalizer: bool,
    is_reporting: bool,
}

/// A way in which a member is reached.
struct Reached {
    /// Equal as long as it is the same way.
    identity: u64,
    /// The id that whoever answers must have.
    id: String,
    branch: Spawner,
}

impl Member {
    /// Starts reporting on a member; it is not reached yet.
    pub(crate) fn start(name: &str, fleet: &Fleet, clusters: &Cache, spawner: &Spawner) -> Self {
        let branch = spawner.branch();
        let link = watch::Sender::new(Err("not connected yet".to_owned()));
        let wanted = Arc::new(Notify::new());
        if let Some(heartbeat) = fleet.options.heartbeat {
            let renewal = Renewal {
                cluster: name.to_owned(),
                clusters: clusters.clone(),
                client: fleet.cx.client.clone(),
                clock: fleet.cx.clock.clone(),
                heartbeat,
            };
            branch.spawn(format!("lease of {name}"), |stop| renewal.run(stop));
        }
        Self {
            name: name.to_owned(),
            branch,
            link,
            wanted,
            metrics: fleet.cx.metrics.clone(),
            state: Mutex::default(),
        }
    }

    /// Reaches the member as the link says, unless it is already.
    pub(crate) async fn reach(
        &self,
        link: Result<Link, LinkError>,
        fleet: &Fleet,
        works: &Cache,
        clusters: &Cache,
        shared: &Shared,
    ) {
        let link = match link {
            Ok(link) => link,
            Err(error) => return self.unreached(chain(&error).to_string(), fleet, clusters),
        };
        let is_same = |known: &Reached| (known.identity, &known.id) == (link.identity, &link.id);
        let is_known = self.state().reached.as_ref().is_some_and(is_same);
        if is_known && !self.has_returned() {
            return;
        }
        let client = match fleet.connector.connect(&self.name, &link.endpoint).await {
            Ok(client) => client,
            Err(error) => return self.unreached(chain(&*error).to_string(), fleet, clusters),
        };
        let branch = self.branch.branch();
        let options = &fleet.options;
        let space = execution_space(&self.name);
        let census = options.counts_room && options.reports;
        let connection = Arc::new(Connection::new(
            client,
            space.clone(),
            census,
            Recognition::new(link.id.clone()),
            Arc::clone(&shared.atlas),
            &fleet.cx,
            &branch,
        ));
        if options.applies {
            let reconciler = Works {
                cluster: self.name.clone(),
                connection: Arc::clone(&connection),
                works: works.clone(),
                clusters: clusters.clone(),
                interpreter: fleet.interpreter.clone(),
                skipped: options.skipped.clone(),
            };
            let controller = Controller::new("execution", reconciler)
                .workers(options.workers)
                .needs(works)
                .needs(clusters)
                .telling(|metrics, _, took, succeeded| {
                    let result = if succeeded { "success" } else { "error" };
                    metrics.observe(Metric::WorkSyncWorkloadDurationSeconds, &[result], took);
                });
            connection.wake_through(controller.queue(), works.clone());
            write(&shared.routes).insert(space, controller.queue());
            controller.run(&branch, fleet.cx.clone());
            self.heed_rules(&fleet.interpreter, works, &connection, &branch);
        }
        let reached = Reached {
            identity: link.identity,
            id: link.id,
            branch,
        };
        let before = self.state().reached.replace(reached);
        if let Some(before) = before {
            before.branch.stop();
        }
        drop(self.link.send_replace(Ok(connection)));
        self.start_reporting(fleet, clusters);
        self.look_at_all(works);
        tracing::info!(cluster = self.name, "member connected");
    }

    /// Notices what changed about the cluster: works that waited for it to be ready are looked at, a new spec is reported
    /// on at once.
    pub(crate) fn notice(&self, cluster: &Cluster, works: &Cache) {
        let is_ready = condition::is_true(&cluster.status.conditions, READY);
        let generation = cluster.metadata.generation;
        let has_finalizer = !cluster.metadata.finalizers.is_empty();
        let (becomes_ready, is_new) = {
            let mut state = self.state();
            let becomes_ready = is_ready && !state.is_ready;
            let is_new = state.generation != generation || state.has_finalizer != has_finalizer;
            state.is_ready = is_ready;
            state.generation = generation;
            state.has_finalizer = has_finalizer;
            (becomes_ready, is_new)
        };
        if becomes_ready {
            self.look_at_all(works);
        }
        if is_new {
            self.wanted.notify_one();
        }
    }

    pub(crate) async fn client(&self) -> Option<Client> {
        let connection = self.link.borrow().clone().ok()?;
        let is_itself = connection.is_itself().await.unwrap_or_default();
        is_itself.then(|| connection.client.clone())
    }

    /// Whether the cluster that joined answers again after another did.
    fn has_returned(&self) -> bool {
        let link = self.link.borrow();
        link.as_ref()
            .is_ok_and(|connection| connection.recognition.has_returned())
    }

    pub(crate) async fn stop(&self) {
        let reached = self.state().reached.take();
        if let Some(reached) = reached {
            reached.branch.stop();
        }
        self.branch.finish().await;
        self.metrics.forget(MEMBER, &self.name);
        tracing::info!(cluster = self.name, "member let go");
    }

    /// What is known of the member's connection is no longer true.
    fn unreached(&self, problem: String, fleet: &Fleet, clusters: &Cache) {
        let reached = self.state().reached.take();
        if let Some(reached) = reached {
            reached.branch.stop();
        }
        let is_same = matches!(&*self.link.borrow(), Err(known) if *known == problem);
        if !is_same {
            drop(self.link.send_replace(Err(problem)));
        }
        self.start_reporting(fleet, clusters);
    }

    /// Begins with the first link, so that the first report is about that and not about there being none yet.
    fn start_reporting(&self, fleet: &Fleet, clusters: &Cache) {
        let is_started = std::mem::replace(&mut self.state().is_reporting, true);
        if !fleet.options.reports || is_started {
            return;
        }
        let reporter = Reporter {
            cluster: self.name.clone(),
            clusters: clusters.clone(),
            cx: fleet.cx.clone(),
            rhythm: fleet.options.rhythm,
            link: self.link.subscribe(),
            wanted: Arc::clone(&self.wanted),
            damping: Damping::default(),
            discovered: None,
        };
        self.branch
            .spawn(format!("report on {}", self.name), |stop| {
                reporter.run(stop)
            });
    }

    /// Looks at all works again when objects come to mean something else: what they report was read by the old rules.
    fn heed_rules(
        &self,
        rules: &watch::Receiver<Arc<Interpreter>>,
        works: &Cache,
        connection: &Arc<Connection>,
        branch: &Spawner,
    ) {
        let (mut rules, works) = (rules.clone(), works.clone());
        let (connection, space) = (Arc::clone(connection), execution_space(&self.name));
        rules.mark_unchanged();
        branch.spawn(format!("rules for {}", self.name), |stop| async move {
            loop {
                let changed = tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    changed = rules.changed() => changed,
                };
                if changed.is_err() {
                    // Nobody can change them any more.
                    return stop.cancelled().await;
                }
                for work in works.keys_in_namespace(&space) {
                    connection.look_at(work, BY_NEW_RULES);
                }
            }
        });
    }

    /// Looks at what there is to do for a member that is there now, or again. What changes meanwhile goes first.
    fn look_at_all(&self, works: &Cache) {
        let Ok(connection) = self.link.borrow().clone() else {
            return;
        };
        let space = execution_space(&self.name);
        // Nothing is opened for it: there may be a hundred thousand.
        works.look_back(&space, |work| {
            let is_ground = works.is_indexed(GROUND, &space, &work);
            connection.look_at(work, if is_ground { FIRST } else { 0 });
        });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that runs under the lock leaves it half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
