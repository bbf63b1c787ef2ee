//! Tasks that belong together.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The tasks of a process or of a part of it.
#[derive(Debug, Default)]
pub struct Tasks {
    spawner: Spawner,
}

/// Starts tasks of a [`Tasks`] from anywhere, under the same rules.
///
/// A spawner is a branch: [`Spawner::branch`] makes a smaller one that can be stopped alone, such as everything that
/// serves one member.
#[derive(Clone, Debug, Default)]
pub struct Spawner {
    shared: Arc<Shared>,
    stop: CancellationToken,
    branch: TaskTracker,
}

#[derive(Debug, Default)]
struct Shared {
    running: Mutex<Running>,
    /// Somebody started a task, which the one who joins must now wait for too.
    started: Notify,
}

#[derive(Debug, Default)]
struct Running {
    set: JoinSet<()>,
    tasks: BTreeMap<Id, Task>,
}

#[derive(Debug)]
struct Task {
    name: String,
    /// When this is cancelled, the task has been asked to end.
    stop: CancellationToken,
    /// Whether it may end by itself.
    brief: bool,
}

/// How it ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All tasks ended after they were asked to.
    Clean,
    /// This task ended although nobody had asked it to; the others were then stopped.
    Unasked {
        /// The task's name.
        task: String,
        /// What it panicked with, if it did.
        panic: Option<String>,
    },
    /// These tasks had not ended when the deadline passed, and were dropped where they stood.
    Late {
        /// Their names.
        tasks: Vec<String>,
    },
}

impl Tasks {
    /// No tasks yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancelled when the tasks shall end; tasks end themselves when they see it.
    #[must_use]
    pub fn stop_token(&self) -> CancellationToken {
        self.spawner.stop.clone()
    }

    /// A handle that starts tasks of this group from anywhere.
    #[must_use]
    pub fn spawner(&self) -> Spawner {
        self.spawner.clone()
    }

    /// Starts a task. It gets the token and must end soon after it is cancelled.
    pub fn spawn<T, F>(&mut self, name: impl Into<String>, task: T)
    where
        T: FnOnce(CancellationToken) -> F,
        F: Future<Output = ()> + Send + 'static,
    {
        self.spawner.spawn(name, task);
    }

    /// Lets the tasks run until `stop` is done or one of them ends unasked, then stops all and waits for them, `grace` at
    /// most.
    pub async fn run_until(self, stop: impl Future<Output = ()>, grace: Duration) -> Outcome {
        let shared = &self.spawner.shared;
        let unasked = tokio::select! {
            biased;
            () = stop => None,
            unasked = shared.ends_unasked() => Some(unasked),
        };
        self.spawner.stop.cancel();
        let late = tokio::time::timeout(grace, shared.all_end()).await.is_err();
        if let Some((task, panic)) = unasked {
            return Outcome::Unasked { task, panic };
        }
        if late {
            let mut running = shared.lock();
            running.set.abort_all();
            let tasks = std::mem::take(&mut running.tasks);
            return Outcome::Late {
                tasks: tasks.into_values().map(|task| task.name).collect(),
            };
        }
        Outcome::Clean
    }
}

/// Invariant: no task outlives its `Tasks`, also when that is dropped without [`Tasks::run_until`].
impl Drop for Tasks {
    fn drop(&mut self) {
        self.spawner.stop.cancel();
        self.spawner.shared.lock().set.abort_all();
    }
}

impl Spawner {
    /// Starts a task that runs until it is asked to end. It gets the token and must end soon after it is cancelled; if it
    /// ends before, the process does.
    pub fn spawn<T, F>(&self, name: impl Into<String>, task: T)
    where
        T: FnOnce(CancellationToken) -> F,
        F: Future<Output = ()> + Send + 'static,
    {
        self.start(name.into(), false, task(self.stop.clone()));
    }

    /// Starts a task that ends by itself, such as a stream that is carried through. A panic in it is logged.
    pub fn spawn_brief<T, F>(&self, name: impl Into<String>, task: T)
    where
        T: FnOnce(CancellationToken) -> F,
        F: Future<Output = ()> + Send + 'static,
    {
        self.start(name.into(), true, task(self.stop.clone()));
    }

    /// A spawner whose tasks can be stopped alone, and are stopped with these at the latest.
    #[must_use]
    pub fn branch(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            stop: self.stop.child_token(),
            branch: TaskTracker::new(),
        }
    }

    /// Cancelled when the tasks of this branch shall end.
    #[must_use]
    pub fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Asks the tasks of this branch and of those below to end. Tasks started afterwards are told at once.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Asks the tasks of this branch to end, and waits until they have. Branches below are asked but not waited for.
    pub async fn finish(&self) {
        self.stop.cancel();
        self.branch.close();
        self.branch.wait().await;
    }

    fn start(&self, name: String, brief: bool, task: impl Future<Output = ()> + Send + 'static) {
        let task = self.branch.track_future(task);
        let mut running = self.shared.lock();
        let handle = running.set.spawn(task);
        let stop = self.stop.clone();
        running
            .tasks
            .insert(handle.id(), Task { name, stop, brief });
        drop(running);
        self.shared.started.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Running> {
        // Nothing that runs under the lock leaves it half changed.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next task that ends; `None` when there is none at the moment.
    async fn next_end(&self) -> Option<(Task, Option<String>)> {
        poll_fn(|context| {
            let mut running = self.lock();
            let ended = std::task::ready!(running.set.poll_join_next_with_id(context));
            Poll::Ready(ended.map(|ended| running.ended(ended)))
        })
        .await
    }

    async fn ends_unasked(&self) -> (String, Option<String>) {
        loop {
            let ended = tokio::select! {
                biased;
                ended = self.next_end() => ended,
                () = self.started.notified() => continue,
            };
            match ended {
                None => self.started.notified().await,
                Some((task, Some(panic))) if task.brief || task.stop.is_cancelled() => {
                    tracing::error!(task = task.name, panic, "task panicked");
                }
                Some((task, None)) if task.brief || task.stop.is_cancelled() => {}
                Some((task, panic)) => return (task.name, panic),
            }
        }
    }

    async fn all_end(&self) {
        while let Some((task, panic)) = self.next_end().await {
            if let Some(panic) = panic {
                tracing::error!(task = task.name, panic, "task panicked while stopping");
            }
        }
    }
}

impl Running {
    fn ended(&mut self, ended: Result<(Id, ()), JoinError>) -> (Task, Option<String>) {
        let (id, panic) = match ended {
            Ok((id, ())) => (id, None),
            Err(error) => (
                error.id(),
                error
                    .try_into_panic()
                    .ok()
                    .map(|payload| panic_text(&*payload)),
            ),
        };
        let task = self.tasks.remove(&id);
        let task = task.expect("invariant: every task is noted under the lock it is started under");
        (task, panic)
    }
}

/// What a panic said.
#[must_use]
pub fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a value that is no text".to_owned())
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    const GRACE: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn tasks_end_when_they_are_asked_to() {
        let mut tasks = Tasks::new();
        for name in ["a", "b"] {
            tasks.spawn(name, |stop| async move { stop.cancelled().await });
        }
        assert_eq!(
            tasks.run_until(std::future::ready(()), GRACE).await,
            Outcome::Clean
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_ends_unasked_ends_the_others() {
        let mut tasks = Tasks::new();
        tasks.spawn("steady", |stop| async move { stop.cancelled().await });
        tasks.spawn("fickle", |_| async {});
        let outcome = tasks.run_until(pending(), GRACE).await;
        assert_eq!(
            outcome,
            Outcome::Unasked {
                task: "fickle".to_owned(),
                panic: None
            }
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_is_reported_with_its_text() {
        let mut tasks = Tasks::new();
        tasks.spawn("broken", |_| async { panic!("an invariant {}", "broke") });
        let outcome = tasks.run_until(pending(), GRACE).await;
        let panic = Some("an invariant broke".to_owned());
        assert_eq!(
            outcome,
            Outcome::Unasked {
                task: "broken".to_owned(),
                panic
            }
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_does_not_end_is_named_and_dropped() {
        let mut tasks = Tasks::new();
        tasks.spawn("deaf", |_| pending());
        let outcome = tasks.run_until(std::future::ready(()), GRACE).await;
        assert_eq!(
            outcome,
            Outcome::Late {
                tasks: vec!["deaf".to_owned()]
            }
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_branch_is_stopped_alone_and_with_the_rest() {
        let tasks = Tasks::new();
        let (left, right) = (tasks.spawner().branch(), tasks.spawner().branch());
        for branch in [&left, &right] {
            branch.spawn("steady", |stop| async move { stop.cancelled().await });
        }
        let script = async {
            left.finish().await;
            assert!(!right.stop_token().is_cancelled());
            // Nobody minds that the tasks on the left have ended.
            tokio::time::sleep(Duration::from_secs(1)).await;
        };
        assert_eq!(tasks.run_until(script, GRACE).await, Outcome::Clean);
        assert!(right.stop_token().is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_started_later_and_from_within_a_task_is_watched_too() {
        let mut tasks = Tasks::new();
        let spawner = tasks.spawner();
        tasks.spawn("parent", |stop| async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            spawner.spawn("child", |_| async {});
            stop.cancelled().await;
        });
        let outcome = tasks.run_until(pending(), GRACE).await;
        assert_eq!(
            outcome,
            Outcome::Unasked {
                task: "child".to_owned(),
                panic: None
            }
        );
    }

    #[tokio::test(start_paused = true)]
    async fn brief_tasks_may_end_and_even_panic() {
        let tasks = Tasks::new();
        tasks.spawner().spawn_brief("short", |_| async {});
        tasks
            .spawner()
            .spawn_brief("unlucky", |_| async { panic!("oh") });
        let hour = tokio::time::sleep(Duration::from_secs(3_600));
        assert_eq!(tasks.run_until(hour, GRACE).await, Outcome::Clean);
    }

    #[tokio::test(start_paused = true)]
    async fn no_task_outlives_its_group() {
        let tasks = Tasks::new();
        let (alive, mut gone) = tokio::sync::oneshot::channel::<()>();
        tasks.spawner().spawn("holder", |_| async move {
            let _alive = alive;
            pending::<()>().await;
        });
        drop(tasks);
        tokio::task::yield_now().await;
        assert!(
            gone.try_recv()
                .is_err_and(|error| { error == tokio::sync::oneshot::error::TryRecvError::Closed })
        );
    }
}
