//! The loop around a reconcile.

use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use client::{Cache, CallError, Change, Subscription};
use futures_util::FutureExt as _;
use intent::Wake;
use runtime::{CancellationToken, Queue, RetryAfter, Spawner, Taken, Turn, panic_text};
use telemetry::chain;
use telemetry::metrics::{Metric, Registry};
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::aside::{Aside, Look};
use crate::cx::Cx;
use crate::execute::CarryOutError;

/// How long a reconcile may take before it counts as failed. Calls have deadlines of their own; this is for a chain of them.
const LONGEST_RECONCILE: Duration = Duration::from_secs(300);

/// How long a look in the background keeps others from theirs. Many times what it takes to compute anything: whoever takes
/// longer waits for somebody else, such as a member that does not answer.
const LONGEST_TURN: Duration = Duration::from_millis(20);

/// How long a key rests whose write a server refused as it is: whatever forbade it there, a policy or a webhook, may be gone
/// by then, and nobody tells.
const REFUSED: Duration = Duration::from_secs(300);

/// How a reconcile ended, as the reference names it.
const SUCCESS: &str = "success";
const REQUEUE: &str = "requeue";
const REQUEUE_AFTER: &str = "requeue_after";
const ERROR: &str = "error";

/// Brings one key to where it should be.
pub trait Reconcile: Send + Sync + 'static {
    /// What is looked at.
    type Key: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static;

    /// Looks at one key, decides and acts. What changed is not told: restart and event take the same path.
    ///
    /// It may be dropped at any await when the process stops, and may be called again for the same key at any time.
    fn reconcile(
        &self,
        key: &Self::Key,
        cx: &Cx,
    ) -> impl Future<Output = Result<Wake, ReconcileError>> + Send;
}

/// Why a reconcile did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// A plan could not be carried out. In a box: it says much, and every reconcile hands one back or none.
    #[error(transparent)]
    CarryOut(Box<CarryOutError>),
    /// Something that was needed to decide could not be read.
    #[error("cannot gather what is needed")]
    Gather(#[from] CallError),
    /// Something else, which may be better next time.
    #[error("{doing}")]
    Failed {
        /// What could not be done.
        doing: String,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Something that will not be better until somebody changes it.
    #[error("{0}")]
    Terminal(String),
}

impl From<CarryOutError> for ReconcileError {
    fn from(error: CarryOutError) -> Self {
        Self::CarryOut(Box::new(error))
    }
}

impl ReconcileError {
    /// Whether looking again will not help until something changes.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::CarryOut(error) => error.is_terminal(),
            Self::Gather(error) => error.is_terminal(),
            Self::Failed { .. } => false,
            Self::Terminal(_) => true,
        }
    }

    /// Whether it was a server that said no, and not what is known here.
    fn is_refusal(&self) -> bool {
        match self {
            Self::CarryOut(error) => error.source.refusal().is_some(),
            Self::Gather(error) => error.refusal().is_some(),
            Self::Failed { .. } | Self::Terminal(_) => false,
        }
    }

    fn is_stale(&self) -> bool {
        matches!(self, Self::CarryOut(error) if error.is_stale())
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::CarryOut(error) => error.source.retry_after(),
            Self::Gather(error) => error.retry_after(),
            Self::Failed { .. } | Self::Terminal(_) => None,
        }
    }
}

/// A controller that is being put together.
pub struct Controller<R: Reconcile> {
    name: &'static str,
    reconciler: Arc<R>,
    queue: Queue<R::Key>,
    workers: usize,
    caches: Vec<Cache>,
    subscriptions: Vec<Subscription>,
    told: Option<Box<Told<R::Key>>>,
    longest: Duration,
    is_urgent: bool,
}

/// Is told how long a look at a key took and whether it succeeded, and adds that to the figures.
type Told<K> = dyn Fn(&Registry, &K, Duration, bool) + Send + Sync;

/// A controller that runs.
pub struct Running<K: Clone + Eq + Hash> {
    /// What it has to look at; others may add to it.
    pub queue: Queue<K>,
}

impl<R: Reconcile> Controller<R> {
    /// A controller with one worker that watches nothing yet.
    #[must_use]
    pub fn new(name: &'static str, reconciler: R) -> Self {
        Self {
            name,
            reconciler: Arc::new(reconciler),
            queue: Queue::new(RetryAfter::default()),
            workers: 1,
            caches: Vec::new(),
            subscriptions: Vec::new(),
            told: None,
            longest: LONGEST_RECONCILE,
            is_urgent: false,
        }
    }

    /// So many keys are looked at at once.
    #[must_use]
    pub fn workers(self, workers: usize) -> Self {
        Self {
            workers: workers.max(1),
            ..self
        }
    }

    /// So long does a key wait that failed. Before the first [`Controller::watch`].
    #[must_use]
    pub fn retry(self, retry: RetryAfter) -> Self {
        Self {
            queue: Queue::new(retry),
            ..self
        }
    }

    /// Looks at the keys that `keys_for` names whenever something in the cache changes, and at the start for all that is
    /// there.
    #[must_use]
    pub fn watch<F, I>(mut self, cache: &Cache, keys_for: F) -> Self
    where
        F: Fn(&Change) -> I + Send + Sync + 'static,
        I: IntoIterator<Item = R::Key>,
    {
        let queue = self.queue.clone();
        let subscription = cache.on_change(move |change| {
            for key in keys_for(change) {
                queue.add(key);
            }
        });
        self.caches.push(cache.clone());
        self.subscriptions.push(subscription);
        self
    }

    /// Waits for this cache too before the first key is looked at, without looking at anything when it changes.
    #[must_use]
    pub fn needs(mut self, cache: &Cache) -> Self {
        self.caches.push(cache.clone());
        self
    }

    /// Tells, after each look at a key, how long it took and whether it succeeded: for figures that have a name of their own
    /// beside those that every controller has.
    #[must_use]
    pub fn telling<F>(self, told: F) -> Self
    where
        F: Fn(&Registry, &R::Key, Duration, bool) + Send + Sync + 'static,
    {
        Self {
            told: Some(Box::new(told)),
            ..self
        }
    }

    /// A look at a key may take so much longer than usual: some workers rest on purpose.
    #[must_use]
    pub fn patience(self, more: Duration) -> Self {
        Self {
            longest: LONGEST_RECONCILE.saturating_add(more),
            ..self
        }
    }

    /// Brings things on their way: while it cannot keep up, those who only tell what became of them give way.
    #[must_use]
    pub fn urgent(self) -> Self {
        Self {
            is_urgent: true,
            ..self
        }
    }

    /// The queue, for those who find keys in other ways.
    #[must_use]
    pub fn queue(&self) -> Queue<R::Key> {
        self.queue.clone()
    }

    /// Starts the workers; they begin once all caches have synced.
    pub fn run(self, spawner: &Spawner, cx: Cx) -> Running<R::Key> {
        let queue = self.queue.clone();
        count_queue(self.name, self.workers, &queue, &cx.metrics);
        let counted = self.is_urgent.then(|| cx.pressure.count(&queue));
        let shell = Arc::new(Shell {
            name: self.name,
            reconciler: self.reconciler,
            queue: self.queue,
            told: self.told,
            longest: self.longest,
            aside: Aside::new(spawner),
            cx,
        });
        let synced = {
            let caches = self.caches;
            async move {
                for cache in &caches {
                    cache.synced().await;
                }
            }
            .boxed()
            .shared()
        };
        for number in 0..self.workers {
            let (shell, synced) = (Arc::clone(&shell), synced.clone());
            spawner.spawn(format!("{} {number}", self.name), |stop| {
                shell.work(synced, stop)
            });
        }
        // The subscriptions live as long as the controller.
        let subscriptions = self.subscriptions;
        let closing = queue.clone();
        spawner.spawn(format!("{} watches", self.name), |stop| async move {
            stop.cancelled().await;
            drop(subscriptions);
            drop(counted);
            closing.close();
        });
        Running { queue }
    }
}

/// What all workers of a controller share.
struct Shell<R: Reconcile> {
    name: &'static str,
    reconciler: Arc<R>,
    queue: Queue<R::Key>,
    told: Option<Box<Told<R::Key>>>,
    longest: Duration,
    aside: Aside,
    cx: Cx,
}

impl<R: Reconcile> Shell<R> {
    async fn work(self: Arc<Self>, synced: impl Future<Output = ()>, stop: CancellationToken) {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = synced => {}
        }
        loop {
            let taken = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                taken = self.queue.take_in_turn(&self.cx.pressure.background) => taken,
            };
            let Some(mut taken) = taken else {
                // Closed, and so stopped; the token is about to say so too.
                return stop.cancelled().await;
            };
            let shell = Arc::clone(&self);
            let look = |told: Arc<Look>| async move {
                in_turn(taken.turn(), shell.look(&taken, &told)).await;
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = self.aside.carry(self.name, look) => {}
            }
        }
    }

    async fn look(&self, taken: &Taken<R::Key>, told: &Look) {
        let key = taken.key();
        let start = Instant::now();
        let span = tracing::debug_span!("reconcile", controller = self.name, key = ?key);
        // In a box, so that a worker that waits is small: there are thousands of them, and what a reconcile may need on its
        // way is much.
        let reconciling = Box::pin(self.reconciler.reconcile(key, &self.cx)).instrument(span);
        let reconciling = AssertUnwindSafe(reconciling).catch_unwind();
        let ended = tokio::time::timeout(self.longest, reconciling).await;
        let took = start.elapsed();
        let result = match ended {
            Ok(Ok(Ok(wake))) => {
                self.queue.forget(key);
                match self.delay(wake) {
                    Some(delay) => {
                        self.queue.add_after(key.clone(), delay);
                        REQUEUE_AFTER
                    }
                    None => SUCCESS,
                }
            }
            Ok(Ok(Err(error))) => {
                self.fail(key, &error, told);
                // Nothing is wrong with a plan that came too late.
                if error.is_stale() { REQUEUE } else { ERROR }
            }
            Ok(Err(panic)) => {
                let panic = panic_text(&*panic);
                tracing::error!(controller = self.name, ?key, panic, "reconcile panicked");
                self.queue.retry(key.clone());
                let panics = Metric::ControllerReconcilePanicsTotal;
                self.cx.metrics.add(panics, &[self.name], 1.0);
                ERROR
            }
            Err(_) => {
                tracing::warn!(controller = self.name, ?key, "reconcile took too long");
                self.queue.retry(key.clone());
                ERROR
            }
        };
        self.measure(taken, took, result);
    }

    fn measure(&self, taken: &Taken<R::Key>, took: Duration, result: &'static str) {
        let (metrics, key) = (&self.cx.metrics, taken.key());
        let queue = [self.name, self.name];
        metrics.observe(
            Metric::WorkqueueQueueDurationSeconds,
            &queue,
            taken.waited(),
        );
        metrics.observe(Metric::WorkqueueWorkDurationSeconds, &queue, took);
        metrics.add(Metric::ControllerReconcileTotal, &[self.name, result], 1.0);
        if result == ERROR {
            metrics.add(Metric::ControllerReconcileErrorsTotal, &[self.name], 1.0);
        }
        metrics.observe(Metric::ControllerReconcileTimeSeconds, &[self.name], took);
        let failed = matches!(result, ERROR | REQUEUE);
        if let Some(told) = &self.told {
            told(metrics, key, took, !failed);
        }
        self.cx.observer.reconciled(self.name, took, failed);
    }

    fn delay(&self, wake: Wake) -> Option<Duration> {
        match wake {
            Wake::At(time) => Some(self.cx.clock.until(time)),
            other => other.delay(self.cx.clock.now()),
        }
    }

    fn fail(&self, key: &R::Key, error: &ReconcileError, told: &Look) {
        let controller = self.name;
        let failures = self.queue.failures(key);
        if error.is_stale() {
            // Nothing is wrong: the world moved on, and what moved it is about to be seen.
            tracing::debug!(controller, ?key, error = %chain(error), "plan was stale");
            return self.queue.retry(key.clone());
        }
        if error.is_terminal() {
            tracing::warn!(controller, ?key, error = %chain(error), "reconcile failed for good");
            let terminal = Metric::ControllerTerminalErrorsTotal;
            self.cx.metrics.add(terminal, &[controller], 1.0);
            self.queue.forget(key);
            if error.is_refusal() {
                self.queue.add_after(key.clone(), REFUSED);
            }
            return;
        }
        match (error.retry_after(), told.again()) {
            (Some(wait), _) => self.queue.add_after(key.clone(), wait),
            (None, Some((least, most))) => self.queue.retry_within(key.clone(), least, most),
            (None, None) => self.queue.retry(key.clone()),
        }
        // The first failures are often over before anybody could read of them.
        if failures < 3 {
            tracing::debug!(controller, ?key, error = %chain(error), "reconcile failed");
        } else {
            tracing::warn!(controller, ?key, failures, error = %chain(error), "reconcile keeps failing");
        }
    }
}

/// Carries a look to its end, and gives the turn on that it was taken in: at the end, or earlier if it takes so long that it
/// can only wait for somebody.
async fn in_turn(turn: Option<Turn>, look: impl Future<Output = ()>) {
    let Some(turn) = turn else {
        return look.await;
    };
    let mut look = std::pin::pin!(look);
    tokio::select! {
        biased;
        () = &mut look => return,
        () = tokio::time::sleep(LONGEST_TURN) => drop(turn),
    }
    look.await;
}

/// Lets whoever reads the figures see how full a controller's queue is, as long as it runs.
fn count_queue<K>(name: &'static str, workers: usize, queue: &Queue<K>, metrics: &Registry)
where
    K: Clone + Eq + Hash + Send + 'static,
{
    let gauge = queue.gauge();
    metrics.while_of_use(move |metrics| {
        let Some(counts) = gauge.counts() else {
            return false;
        };
        for (metric, labels, figure) in [
            (
                Metric::WorkqueueDepth,
                &[name, name][..],
                counts.ready as f64,
            ),
            (
                Metric::WorkqueueAddsTotal,
                &[name, name],
                counts.added as f64,
            ),
            (
                Metric::WorkqueueRetriesTotal,
                &[name, name],
                counts.retried as f64,
            ),
            (
                Metric::ControllerActiveWorkers,
                &[name],
                counts.running as f64,
            ),
            (
                Metric::ControllerMaxConcurrentReconciles,
                &[name],
                workers as f64,
            ),
        ] {
            metrics.add(metric, labels, figure);
        }
        true
    });
}

#[cfg(test)]
mod tests;
