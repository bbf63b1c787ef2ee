//! Ledgers of all members that the control plane reaches itself, so that they need no estimator of their own.

use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use client::{BoxError, Cache, Client, Subscription};
use object::Object;
use protocol::Question;
use runtime::{Backoff, Clock, Spawner};
use tracing::debug;

use crate::{
    answer::Refusal,
    ledger::{Ledger, Settings},
    metrics::Metrics,
};

/// A member being reached.
pub type Connecting = Pin<Box<dyn Future<Output = Result<Client, BoxError>> + Send>>;

/// How members are reached: a client for the cluster given.
pub trait Way: Send + Sync {
    /// Reaches a member; `None` if that is not for the control plane to do.
    fn reach(&self, cluster: &Arc<Object>) -> Option<Connecting>;
}

/// The ledgers of all members within reach; clones are the same.
#[derive(Clone)]
pub struct Ledgers {
    shared: Arc<Shared>,
    _subscription: Arc<Subscription>,
}

struct Shared {
    settings: Settings,
    way: Arc<dyn Way>,
    clock: Clock,
    /// Of all of them together.
    metrics: Arc<Metrics>,
    spawner: Spawner,
    by_cluster: Mutex<BTreeMap<String, Book>>,
}

/// One member's ledger, and the tasks that keep it.
struct Book {
    /// Which cluster it was opened for, and where that was; another of the same name is another member.
    identity: String,
    ledger: Option<Ledger>,
    branch: Spawner,
}

impl Ledgers {
    /// Keeps a ledger for every cluster in `clusters` that `way` reaches.
    #[must_use]
    pub fn keep(
        clusters: &Cache,
        settings: Settings,
        way: Arc<dyn Way>,
        clock: Clock,
        spawner: &Spawner,
    ) -> Self {
        let shared = Arc::new(Shared {
            settings,
            way,
            clock,
            metrics: Arc::default(),
            spawner: spawner.clone(),
            by_cluster: Mutex::default(),
        });
        let kept = Arc::downgrade(&shared);
        let subscription = clusters.on_change(move |change| {
            let Some(shared) = kept.upgrade() else { return };
            match &change.after {
                Some(cluster) if cluster.deletion_timestamp().is_none() => shared.open(cluster),
                _ => shared.close(&change.key().name),
            }
        });
        Self {
            shared,
            _subscription: Arc::new(subscription),
        }
    }

    /// Answers a question; `None` if the member is not within reach.
    pub async fn answer(&self, question: &Question) -> Option<Result<i32, Refusal>> {
        let ledger = self.ledger(question.cluster())?;
        Some(ledger.answer(question).await)
    }

    /// Whether a member is within reach, so that it has a ledger or will have one.
    #[must_use]
    pub fn has(&self, cluster: &str) -> bool {
        self.shared.lock().contains_key(cluster)
    }

    /// The ledger of a member, once it is open.
    #[must_use]
    pub fn ledger(&self, cluster: &str) -> Option<Ledger> {
        self.shared.lock().get(cluster)?.ledger.clone()
    }

    /// What all of them have counted together.
    #[must_use]
    pub fn metrics(&self) -> Arc<Metrics> {
        Arc::clone(&self.shared.metrics)
    }
}

impl Shared {
    /// Opens a ledger, unless there is one; the member is reached in a task of its own.
    fn open(self: &Arc<Self>, cluster: &Arc<Object>) {
        let mut by_cluster = self.lock();
        let identity = identity(cluster);
        let known = by_cluster.get(cluster.name());
        if known.is_some_and(|book| book.identity == identity) {
            return;
        }
        let Some(first) = self.way.reach(cluster) else {
            return;
        };
        let branch = self.spawner.branch();
        let book = Book {
            identity,
            ledger: None,
            branch: branch.clone(),
        };
        if let Some(old) = by_cluster.insert(cluster.name().to_owned(), book) {
            old.branch.stop();
        }
        drop(by_cluster);
        let (shared, cluster) = (Arc::clone(self), Arc::clone(cluster));
        branch
            .clone()
            .spawn_brief("reach a member to count", move |stop| async move {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => {}
                    () = shared.reach(&cluster, first, &branch) => {}
                }
            });
    }

    async fn reach(&self, cluster: &Arc<Object>, first: Connecting, branch: &Spawner) {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60), 7);
        let mut connecting = Some(first);
        while let Some(attempt) = connecting {
            match attempt.await {
                Ok(client) => {
                    let (clock, metrics) = (self.clock.clone(), Arc::clone(&self.metrics));
                    let (name, settings) = (cluster.name(), self.settings);
                    let ledger =
                        Ledger::start_counted(name, settings, client, clock, metrics, branch);
                    if let Some(book) = self.lock().get_mut(cluster.name())
                        && book.identity == identity(cluster)
                    {
                        book.ledger = Some(ledger);
                    }
                    return;
                }
                Err(error) => {
                    debug!(cluster = cluster.name(), error = %error, "a member cannot be counted yet");
                    tokio::time::sleep(backoff.fail()).await;
                }
            }
            connecting = self.way.reach(cluster);
        }
    }

    fn close(&self, cluster: &str) {
        if let Some(book) = self.lock().remove(cluster) {
            book.branch.stop();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Book>> {
        // Each change is one insertion or removal.
        self.by_cluster
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a change of which means another member, or another way to it.
fn identity(cluster: &Object) -> String {
    let spec = |field: &str| cluster.text_at(&["spec", field]).unwrap_or_default();
    let (endpoint, proxy) = (spec("apiEndpoint"), spec("proxyURL"));
    format!("{} {endpoint} {proxy}", cluster.uid())
}
