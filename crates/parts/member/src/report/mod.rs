//! Reports on one member: whether it is well, its version, the kinds it serves, how much room it has.
//!
//! Reads:  the member's health, version, discovery and census.
//! Writes: the cluster's status, but for conditions and fields of others.
//! Keeps:  what is known of a member stays when it does not answer; only its Ready condition changes.

mod figures;
mod plan;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::cluster::{ApiEnablement, ApiResource, Cluster};
use api::well_known::finalizers;
use client::{Cache, Discovery};
use control::{Cx, ReconcileError};
use object::condition::Condition;
use object::{Object, ObjectKey};
use runtime::CancellationToken;
use telemetry::chain;
use telemetry::metrics::Metric;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::fleet::BY_ID;
use crate::health::{
    Answer, Damping, IDENTITY_CHANGED, Thresholds, another, condition, unconnected,
};
use crate::report::plan::{Apis, Findings, plan};
use crate::resources;
use crate::works::connection::Connection;

/// A member's connection, or why there is none.
pub(crate) type Linked = Result<Arc<Connection>, String>;

/// How often, and with what patience, a member is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Rhythm {
    /// How often a member is asked whether it is well. Upstream: `--cluster-status-update-frequency`.
    pub period: Duration,
    /// How long it may take to answer. Upstream: as long as any call, 32 s, so that a member which is cut off is found out
    /// much later than one that refuses.
    pub patience: Duration,
    /// How long a change must last to be believed.
    pub thresholds: Thresholds,
    /// How often a member is asked for its kinds when nothing suggests that they have changed.
    pub discovery: Duration,
    /// How long changes of nodes are gathered before they are reported.
    pub settle: Duration,
}

impl Default for Rhythm {
    fn default() -> Self {
        Self {
            period: Duration::from_secs(10),
            patience: Duration::from_secs(10),
            thresholds: Thresholds::default(),
            discovery: Duration::from_secs(60),
            settle: Duration::from_secs(1),
        }
    }
}

/// Reports on one member until it is stopped.
pub(crate) struct Reporter {
    pub(crate) cluster: String,
    pub(crate) clusters: Cache,
    pub(crate) cx: Cx,
    pub(crate) rhythm: Rhythm,
    pub(crate) link: watch::Receiver<Linked>,
    /// Somebody wants a report now: the cluster changed.
    pub(crate) wanted: Arc<Notify>,
    pub(crate) damping: Damping,
    pub(crate) discovered: Option<Instant>,
}

impl Reporter {
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let mut due = Instant::now();
        loop {
            let linked = self.link.borrow_and_update().clone().ok();
            let feed = linked.as_ref().and_then(|linked| linked.census.clone());
            let nodes = async {
                match &feed {
                    Some(feed) => feed.nodes_changed().await,
                    None => std::future::pending().await,
                }
            };
            let definitions = async {
                match &linked {
                    Some(linked) => linked.definitions_changed().await,
                    None => std::future::pending().await,
                }
            };
            let wait = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = tokio::time::sleep_until(due) => Duration::ZERO,
                changed = self.link.changed() => {
                    if changed.is_err() {
                        return stop.cancelled().await;
                    }
                    self.discovered = None;
                    Duration::ZERO
                }
                () = self.wanted.notified() => Duration::ZERO,
                () = nodes => self.rhythm.settle,
                () = definitions => {
                    self.discovered = None;
                    self.rhythm.settle
                }
            };
            if !wait.is_zero() {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(wait) => {}
                }
            }
            let begun = Instant::now();
            // In a box, so that a reporter that waits is small: there is one for each member.
            let reporting = Box::pin(self.report());
            let reported = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                reported = reporting => reported,
            };
            if let Err(error) = reported {
                tracing::debug!(cluster = self.cluster, error = %chain(&error), "cannot report on the member");
            }
            let metric = Metric::ClusterSyncStatusDurationSeconds;
            let took = begun.elapsed();
            self.cx.metrics.observe(metric, &[&self.cluster], took);
            // From where it began: one that does not answer is not asked less often for that.
            due = begun + self.rhythm.period;
        }
    }

    /// Looks at the member once and writes what came of it.
    async fn report(&mut self) -> Result<(), ReconcileError> {
        let key = ObjectKey::cluster(self.cluster.as_str());
        let Some(object) = self.clusters.get(&key) else {
            return Ok(());
        };
        // Whoever takes care of the cluster's removal must have seen it first.
        if object.finalizers().all(|name| name != finalizers::CLUSTER) {
            return Ok(());
        }
        let linked = self.link.borrow().clone();
        let begun = self.cx.now();
        let cluster = read(&object).map_err(ReconcileError::Terminal)?;
        let observed = match &linked {
            Err(problem) => unconnected(problem),
            Ok(connection) => self.observe(connection, &cluster).await,
        };
        let stored = object::condition::find(&cluster.status.conditions, &observed.r#type);
        let is_well = observed.is_true();
        let is_another = observed.reason == IDENTITY_CHANGED;
        let mut thresholds = self.rhythm.thresholds;
        if is_another {
            // Who it is does not change with the weather.
            thresholds.failure = Duration::ZERO;
        }
        let now = self.cx.now();
        let ready = self
            .damping
            .settle(stored, observed, thresholds, begun, now);
        let findings = match &linked {
            Ok(connection) if is_well && ready.is_true() => {
                Some(self.find_out(connection, &cluster).await)
            }
            _ => None,
        };
        let room = findings
            .as_ref()
            .and_then(|findings| findings.room.as_ref());
        figures::show(&self.cx.metrics, &cluster, ready.is_true(), room);
        let twins = self.twins(&cluster);
        let (first, found) = (ready.clone(), findings.clone());
        let decided = plan(&object, &cluster, first, found, &twins, now);
        if let Err(error) = self.cx.carry_out(&decided).await {
            if !error.is_stale() {
                return Err(error.into());
            }
            // Somebody else wrote the status in between, and the cache may not show it yet.
            let resource = resources::of::<Cluster>();
            let object = self.cx.client.get(&resource, &key).await?;
            let cluster = read(&object).map_err(ReconcileError::Terminal)?;
            let decided = plan(&object, &cluster, ready, findings, &twins, now);
            self.cx.carry_out(&decided).await?;
        }
        if is_another && let Ok(connection) = &linked {
            connection.recognition.told();
        }
        Ok(())
    }

    /// The other clusters that have the same id, and so are the same cluster.
    fn twins(&self, cluster: &Cluster) -> Vec<String> {
        let known = self.clusters.indexed_keys(BY_ID, &cluster.spec.id);
        let names = known.into_iter().map(|key| key.name);
        let mut names: Vec<String> = names.filter(|name| *name != self.cluster).collect();
        names.sort_unstable();
        names
    }

    /// Whether the member is well, and the one that joined.
    async fn observe(&self, connection: &Connection, cluster: &Cluster) -> Condition {
        let Rhythm {
            period, patience, ..
        } = self.rhythm;
        let answer = probe(connection, patience).await;
        if !matches!(answer, Answer::Status(200..=299)) {
            return condition(answer);
        }
        // Changes of nodes are reported in between, and need not ask again.
        let (recognition, lately) = (&connection.recognition, period / 2);
        match recognition.look(&connection.client, lately, patience).await {
            Some(found) => another(cluster, recognition.expected(), &found),
            None => condition(answer),
        }
    }

    async fn find_out(&mut self, connection: &Connection, cluster: &Cluster) -> Findings {
        let version = connection.client.version().await;
        let is_due = self
            .discovered
            .is_none_or(|asked| asked.elapsed() >= self.rhythm.discovery);
        let apis = match is_due {
            false => Apis::Unasked,
            true => match connection.kinds.ask().await {
                Ok(discovery) => {
                    self.discovered = Some(Instant::now());
                    connection.kinds_changed();
                    found(&discovery)
                }
                Err(error) => {
                    tracing::debug!(cluster = self.cluster, error = %chain(&error), "cannot discover the member's kinds");
                    Apis::Failed
                }
            },
        };
        let models = &cluster.spec.resource_models;
        Findings {
            version: version
                .ok()
                .map(|version| version.git_version)
                .filter(|version| !version.is_empty()),
            apis,
            room: connection
                .census
                .as_ref()
                .and_then(|feed| feed.summary(models)),
        }
    }
}

/// Asks a member whether it is well; one that does not know the newer path is asked by the older.
async fn probe(connection: &Connection, patience: Duration) -> Answer {
    let ask = async |path| {
        let answered = tokio::time::timeout(patience, connection.client.ready(path)).await;
        let Ok(result) = answered else {
            connection.unheard();
            return Answer::Silence;
        };
        match connection.heard(result) {
            Ok((code, _)) => Answer::Status(code),
            Err(_) => Answer::Silence,
        }
    };
    match ask("/readyz").await {
        Answer::Status(404) => ask("/healthz").await,
        other => other,
    }
}

/// What discovery found, as a cluster's status lists it.
fn found(discovery: &Discovery) -> Apis {
    let mut groups: BTreeMap<String, Vec<ApiResource>> = BTreeMap::new();
    for found in &discovery.resources {
        let group_version = found.resource.group_version().to_string();
        groups.entry(group_version).or_default().push(ApiResource {
            name: found.resource.plural.clone(),
            kind: found.resource.kind.kind.clone(),
        });
    }
    let enablements = groups
        .into_iter()
        .map(|(group_version, resources)| ApiEnablement {
            group_version,
            resources,
        });
    Apis::Found {
        enablements: enablements.collect(),
        silent: discovery
            .failed
            .iter()
            .map(|failed| failed.group_version.to_string())
            .collect(),
    }
}

fn read(object: &Object) -> Result<Cluster, String> {
    api::read::read(object).map_err(|error| chain(&error).to_string())
}
