//! All members that this process faces: one set of loops for each, started and stopped with their clusters.
//!
//! Reads:  clusters and the Secrets they refer to, works.
//! Keeps:  a member's trouble is its own: each has its own queue, its own limits, its own connections; and its loops start
//!         anew when it is reached in another way.

mod member;
mod secrets;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use api::cluster::{Cluster, sync_mode};
use api::names::execution_space;
use api::work::v1alpha1::Work;
use client::{Cache, Caches, Change, Client, Scope, Subscription};
use control::{Controller, Cx, Reconcile, ReconcileError, Wake};
use interpret::Interpreter;
use object::{Object, ObjectKey, Value, time::Time};
use runtime::{Queue, Spawner};
use telemetry::chain;
use tokio::sync::watch;

use crate::connect::{Connect, Link, LinkError, link, secret_key};
use crate::fleet::member::Member;
use crate::fleet::secrets::{Secrets, clusters_with};
use crate::health;
use crate::lease::Heartbeat;
use crate::namespaces::Skipped;
use crate::report::Rhythm;
use crate::resources;
use crate::works::atlas::Atlas;
use crate::works::connection::{UNAPPLIED, unapplied};

/// What the loops that face members are made of.
#[derive(Clone)]
pub struct Fleet {
    /// The control plane's objects.
    pub caches: Caches,
    /// Carries out what is decided about them.
    pub cx: Cx,
    /// How members are reached.
    pub connector: Arc<dyn Connect>,
    /// Knows what objects of any kind mean; a new one is used from the next look on.
    pub interpreter: watch::Receiver<Arc<Interpreter>>,
    /// Which members, and how.
    pub options: Options,
}

/// Which members are faced, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which clusters are this process' business.
    pub serves: Serves,
    /// When members are looked at.
    pub rhythm: Rhythm,
    /// Whether nodes and pods are counted. Upstream: `--enable-cluster-resource-modeling`.
    pub counts_room: bool,
    /// Whether health, version, kinds and room are reported. Upstream: the controller `clusterStatus`.
    pub reports: bool,
    /// Whether works are brought to members and reported on. Upstream: `execution` and `workStatus`.
    pub applies: bool,
    /// How many works of one member are looked at at once.
    pub workers: usize,
    /// How often a sign of life is given, if somebody else watches for it.
    pub heartbeat: Option<Heartbeat>,
    /// Which namespaces are sent only where a policy says so.
    pub skipped: Skipped,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            serves: Serves::Pushed,
            rhythm: Rhythm::default(),
            counts_room: true,
            reports: true,
            applies: true,
            workers: 8,
            heartbeat: None,
            skipped: Skipped::default(),
        }
    }
}

/// Which clusters are a process' business.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Serves {
    /// All that the control plane connects to, with the credentials they name.
    Pushed,
    /// One, beside which this runs; its credentials are the connector's business.
    One(String),
}

/// The members that are faced at the moment; clones are the same.
#[derive(Clone)]
pub struct Members {
    shared: Arc<Shared>,
}

#[derive(Default)]
pub(crate) struct Shared {
    members: Mutex<HashMap<String, Arc<Member>>>,
    routes: Routes,
    atlas: Arc<Atlas>,
}

/// Where works go: from execution namespaces to the queues of their members.
pub(crate) type Routes = Arc<RwLock<HashMap<String, Queue<ObjectKey>>>>;

/// Starts facing members: all that are there, and those that come.
pub fn run(fleet: Fleet, spawner: &Spawner) -> Members {
    let shared = Arc::new(Shared::default());
    let works_scope = match &fleet.options.serves {
        Serves::Pushed => Scope::all(),
        Serves::One(name) => Scope::all().in_namespace(execution_space(name)),
    };
    let clusters = fleet
        .caches
        .follow(&resources::of::<Cluster>(), Scope::all());
    let secrets = Secrets::follow(&fleet.caches, &clusters);
    let secrets_at_home = secrets.at_home.clone();
    let queue = Arc::<OnceLock<Queue<String>>>::default();
    let supervisor = Supervisor {
        clusters: clusters.clone(),
        secrets,
        queue: Arc::clone(&queue),
        works: fleet.caches.follow(&resources::of::<Work>(), works_scope),
        shared: Arc::clone(&shared),
        spawner: spawner.clone(),
        fleet,
    };
    let works = supervisor.works.clone();
    clusters.index_by(BY_ID, |cluster| {
        let id = cluster.text_at(&["spec", "id"]).unwrap_or_default();
        let id = (!id.is_empty()).then(|| id.to_owned());
        id.into_iter().collect()
    });
    clusters.index_by(READY_CLUSTERS, |cluster| match health::is_ready(cluster) {
        true => vec![READY_CLUSTERS.to_owned()],
        false => Vec::new(),
    });
    works.index_by(GROUND, |work| match priority(work) {
        0 => Vec::new(),
        _ => vec![work.namespace().to_owned()],
    });
    works.index_by(UNAPPLIED, unapplied);
    let route = route_works(&works, &shared.routes);
    spawner.spawn("route works", |stop| async move {
        stop.cancelled().await;
        drop(route);
    });
    let cx = supervisor.fleet.cx.clone();
    let known = clusters.clone();
    let controller = Controller::new("members", supervisor)
        // Connecting waits for the network: one member that does not answer must not hold the others up.
        .workers(16)
        .watch(&clusters, |change| [change.object().name().to_owned()])
        .watch(&secrets_at_home, move |change| {
            clusters_with(change.object(), &known)
        })
        .needs(&works);
    queue.get_or_init(|| controller.queue());
    controller.run(spawner, cx);
    Members { shared }
}

impl Members {
    /// A client of a member, as the control plane itself; `None` while it is not reached, or another cluster answers.
    pub async fn client(&self, cluster: &str) -> Option<Client> {
        let member = self.shared.members().get(cluster).cloned()?;
        member.client().await
    }

    /// The names of the members that are faced.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.shared.members().keys().cloned().collect();
        names.sort_unstable();
        names
    }
}

impl std::fmt::Debug for Members {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Members").field(&self.names()).finish()
    }
}

/// Starts and stops members.
struct Supervisor {
    fleet: Fleet,
    clusters: Cache,
    secrets: Secrets,
    /// Where clusters wait to be looked at; set before the first one is.
    queue: Arc<OnceLock<Queue<String>>>,
    works: Cache,
    shared: Arc<Shared>,
    spawner: Spawner,
}

impl Reconcile for Supervisor {
    type Key = String;

    async fn reconcile(&self, name: &String, cx: &Cx) -> Result<Wake, ReconcileError> {
        let object = self.clusters.get(&ObjectKey::cluster(name.as_str()));
        let Some(object) = object else {
            self.stop(name).await;
            self.secrets.forget_unused();
            return Ok(Wake::OnChange);
        };
        let cluster: Cluster = api::read::read(&object)
            .map_err(|error| ReconcileError::Terminal(chain(&error).to_string()))?;
        if !self.is_served(name, &cluster) {
            self.stop(name).await;
            return Ok(Wake::OnChange);
        }
        let link = self.link(&cluster).await?;
        if let Err(LinkError::SecretMissing { .. } | LinkError::SecretForeign { .. }) = link
            && let Some(until) = still_joining(&cluster)
            && cx.now() < until
        {
            return Ok(Wake::At(until));
        }
        let member = self.member(name);
        member
            .reach(link, &self.fleet, &self.works, &self.clusters, &self.shared)
            .await;
        member.notice(&cluster, &self.works);
        Ok(Wake::OnChange)
    }
}

impl Supervisor {
    fn is_served(&self, name: &str, cluster: &Cluster) -> bool {
        match &self.fleet.options.serves {
            Serves::Pushed => cluster.spec.sync_mode == sync_mode::PUSH,
            Serves::One(served) => served == name,
        }
    }

    /// How the member is to be reached now, or why it cannot be.
    async fn link(&self, cluster: &Cluster) -> Result<Result<Link, LinkError>, ReconcileError> {
        if matches!(self.fleet.options.serves, Serves::One(_)) {
            return Ok(Ok(Link {
                endpoint: client::Endpoint::default(),
                identity: 0,
                id: cluster.spec.id.clone(),
            }));
        }
        let secret = match (&cluster.spec.secret_ref, self.queue.get()) {
            (Some(reference), Some(queue)) => {
                let (key, client) = (secret_key(reference), &self.fleet.cx.client);
                self.secrets.find(&key, client, queue).await?
            }
            _ => None,
        };
        Ok(link(cluster, secret.as_deref()))
    }

    fn member(&self, name: &str) -> Arc<Member> {
        let mut members = self.shared.members();
        if let Some(member) = members.get(name) {
            return Arc::clone(member);
        }
        let member = Arc::new(Member::start(
            name,
            &self.fleet,
            &self.clusters,
            &self.spawner,
        ));
        members.insert(name.to_owned(), Arc::clone(&member));
        member
    }

    async fn stop(&self, name: &str) {
        let member = self.shared.members().remove(name);
        if let Some(member) = member {
            write(&self.shared.routes).remove(&execution_space(name));
            member.stop().await;
        }
    }
}

impl Shared {
    fn members(&self) -> MutexGuard<'_, HashMap<String, Arc<Member>>> {
        // Nothing that runs under the lock leaves it half changed.
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts works that changed into the queue of their member. One subscription for all members: with one each, every change
/// of every work would be shown to all of them.
fn route_works(works: &Cache, routes: &Routes) -> Subscription {
    let routes = Arc::clone(routes);
    works.on_change(move |change| {
        if !is_news(change) {
            return;
        }
        let work = change.object();
        let routes = routes.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = routes.get(work.namespace()) {
            queue.add_with(work.key(), tokio::time::Instant::now(), priority(work));
        }
    })
}

/// Whether a change of a work is more than the report that was just written into its status.
fn is_news(change: &Change) -> bool {
    let (Some(before), Some(after)) = (&change.before, &change.after) else {
        return true;
    };
    before.generation() != after.generation()
        || before.is_terminating() != after.is_terminating()
        || before.uid() != after.uid()
        || before.at(&["spec"]) != after.at(&["spec"])
}

/// How many seconds after it was made a cluster may still lack its credentials, without anybody being told.
const JOINING: i64 = 5;

/// The works of a namespace that other works wait for.
pub(crate) const GROUND: &str = "ground";

/// How urgent it is to bring what other works wait for.
pub(crate) const FIRST: i32 = 20;

/// What other objects need comes first: namespaces, and the definitions of kinds.
pub(crate) fn priority(work: &Object) -> i32 {
    let manifests = work
        .at(&["spec", "workload", "manifests"])
        .and_then(Value::as_array);
    let mut kinds = manifests
        .into_iter()
        .flatten()
        .filter_map(|manifest| manifest.get("kind")?.as_str());
    let is_ground = kinds.any(|kind| matches!(kind, "Namespace" | "CustomResourceDefinition"));
    if is_ground { FIRST } else { 0 }
}

/// The clusters that are ready, all under this one text. A cluster is large, and each work asks about its own.
pub(crate) const READY_CLUSTERS: &str = "ready";

/// Clusters by what tells them from all others: two with the same are one.
pub(crate) const BY_ID: &str = "id";

/// Until when a cluster that nothing is known of yet may be about to get its credentials: whoever joins it makes it before its
/// Secret, or before the Secret belongs to it. It would be called unreachable, and believed to be well only after a while.
fn still_joining(cluster: &Cluster) -> Option<Time> {
    let is_known = !cluster.status.conditions.is_empty();
    let created = cluster.metadata.creation_timestamp.filter(|_| !is_known)?;
    Some(created.plus_seconds(JOINING))
}

fn write<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    // Nothing that runs under the lock leaves it half changed.
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
