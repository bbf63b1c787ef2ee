//! What is known of a member: its nodes, what is on them, and its quotas.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use client::Client;
use estimate::{Inventory, nodes::Node, quota::Quota};
use object::{Object, time::Time};
use runtime::{Clock, Spawner};
use tokio::sync::watch;

use crate::{
    feed::{self, Counted},
    metrics::Metrics,
};

/// What can be set about a ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Whether quotas of namespaces limit answers: the gate `ResourceQuotaEstimate`.
    pub heeds_quotas: bool,
    /// Whether what schedulers say they promised is set aside: the gate `SchedulingOvercommitProtection`.
    pub heeds_promises: bool,
}

/// The books of one member; clones are the same.
#[derive(Clone)]
pub struct Ledger {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    /// The member's name, which questions must name.
    pub(crate) cluster: String,
    pub(crate) settings: Settings,
    pub(crate) client: Client,
    pub(crate) clock: Clock,
    pub(crate) metrics: Arc<Metrics>,
    books: Mutex<Books>,
    /// Which lists are finished.
    whole: watch::Sender<Whole>,
}

#[derive(Default)]
struct Books {
    inventory: Inventory,
    /// By namespace and name.
    quotas: BTreeMap<String, BTreeMap<String, Quota>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Whole {
    nodes: bool,
    pods: bool,
    quotas: bool,
}

impl Ledger {
    /// Follows the member that `client` speaks to, under the name the control plane has for it, until the spawner stops.
    #[must_use]
    pub fn start(
        cluster: &str,
        settings: Settings,
        client: Client,
        clock: Clock,
        spawner: &Spawner,
    ) -> Self {
        let metrics = Arc::default();
        Self::start_counted(cluster, settings, client, clock, metrics, spawner)
    }

    /// The same, with counts that several may share.
    pub(crate) fn start_counted(
        cluster: &str,
        settings: Settings,
        client: Client,
        clock: Clock,
        metrics: Arc<Metrics>,
        spawner: &Spawner,
    ) -> Self {
        let ledger = Self {
            shared: Arc::new(Shared {
                cluster: cluster.to_owned(),
                settings,
                client,
                clock,
                metrics,
                books: Mutex::default(),
                whole: watch::Sender::new(Whole {
                    quotas: !settings.heeds_quotas,
                    ..Whole::default()
                }),
            }),
        };
        let mut counted = vec![Counted::Nodes, Counted::Pods];
        if settings.heeds_quotas {
            counted.push(Counted::Quotas);
        }
        for counted in counted {
            let ledger = ledger.clone();
            spawner.spawn(
                format!("estimator follows {}", counted.plural()),
                move |stop| async move { feed::follow(&ledger, counted, stop).await },
            );
        }
        ledger
    }

    /// The member's name.
    #[must_use]
    pub fn cluster(&self) -> &str {
        &self.shared.cluster
    }

    /// Waits until everything there is has been seen once.
    pub async fn synced(&self) {
        let mut whole = self.shared.whole.subscribe();
        // The sender lives as long as this ledger.
        drop(whole.wait_for(Whole::is_all).await);
    }

    /// Whether everything there is has been seen, and nothing is being listed again.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.shared.whole.borrow().is_all()
    }

    /// What was counted, in the text format of Prometheus.
    #[must_use]
    pub fn metrics(&self) -> String {
        self.shared.metrics.render()
    }

    /// The nodes and what is left on each; `None` while they are not all known.
    pub(crate) fn nodes(&self) -> Option<Arc<[Node]>> {
        self.is_whole().then(|| self.books().inventory.nodes())
    }

    pub(crate) fn quotas(&self, namespace: &str) -> Vec<Quota> {
        let books = self.books();
        let quotas = books.quotas.get(namespace).into_iter();
        quotas.flat_map(BTreeMap::values).cloned().collect()
    }

    pub(crate) fn unplaced(&self, owner: &str, seconds: i64, now: Time) -> Option<i32> {
        let is_whole = self.is_whole();
        is_whole.then(|| self.books().inventory.unplaced(owner, seconds, now))
    }

    /// Begins to learn one kind anew.
    pub(crate) fn begin(&self, counted: Counted) {
        self.mark(counted, false);
        let mut books = self.books();
        match counted {
            Counted::Nodes => books.inventory.clear_nodes(),
            Counted::Pods => books.inventory.clear_pods(),
            Counted::Quotas => books.quotas.clear(),
        }
    }

    /// All there is of one kind has been told.
    pub(crate) fn finish(&self, counted: Counted) {
        self.mark(counted, true);
    }

    pub(crate) fn set(&self, counted: Counted, object: &Object) {
        let mut books = self.books();
        match counted {
            Counted::Nodes => books.inventory.set_node(object),
            Counted::Pods => books.inventory.set_pod(object),
            Counted::Quotas => {
                let of_namespace = books.quotas.entry(object.namespace().to_owned());
                let quota = Quota::read(object);
                of_namespace
                    .or_default()
                    .insert(object.name().to_owned(), quota);
            }
        }
    }

    pub(crate) fn remove(&self, counted: Counted, object: &Object) {
        let mut books = self.books();
        match counted {
            Counted::Nodes => books.inventory.remove_node(object.name()),
            Counted::Pods => books.inventory.remove_pod(object),
            Counted::Quotas => {
                if let Some(quotas) = books.quotas.get_mut(object.namespace()) {
                    quotas.remove(object.name());
                }
            }
        }
    }

    fn mark(&self, counted: Counted, is_whole: bool) {
        self.shared.whole.send_modify(|whole| match counted {
            Counted::Nodes => whole.nodes = is_whole,
            Counted::Pods => whole.pods = is_whole,
            Counted::Quotas => whole.quotas = is_whole,
        });
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        // Each change is plain code that leaves the books whole.
        self.shared
            .books
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger")
            .field("cluster", &self.shared.cluster)
            .field("is_whole", &self.is_whole())
            .finish_non_exhaustive()
    }
}

impl Whole {
    fn is_all(&self) -> bool {
        self.nodes && self.pods && self.quotas
    }
}
