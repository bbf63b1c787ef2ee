//! Tasks that belong together.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

/// The tasks of a process or of a part of it.
#[derive(Debug, Default)]
pub struct Tasks {
    running: JoinSet<()>,
    names: BTreeMap<Id, String>,
    stop: CancellationToken,
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
        self.stop.clone()
    }

    /// Starts a task. It gets the token and must end soon after it is cancelled.
    pub fn spawn<T, F>(&mut self, name: impl Into<String>, task: T)
    where
        T: FnOnce(CancellationToken) -> F,
        F: Future<Output = ()> + Send + 'static,
    {
        let handle = self.running.spawn(task(self.stop.clone()));
        self.names.insert(handle.id(), name.into());
    }

    /// Lets the tasks run until `stop` is done or one of them ends, then stops all and waits for them, `grace` at most.
    pub async fn run_until(mut self, stop: impl Future<Output = ()>, grace: Duration) -> Outcome {
        let unasked = tokio::select! {
            biased;
            () = stop => None,
            Some(ended) = self.running.join_next_with_id() => Some(self.ended(ended)),
        };
        self.stop.cancel();
        let late = tokio::time::timeout(grace, async {
            while let Some(ended) = self.running.join_next_with_id().await {
                let (task, panic) = self.ended(ended);
                if let Some(panic) = panic {
                    tracing::error!(task, panic, "task panicked while stopping");
                }
            }
        });
        let late = late.await.is_err();
        if let Some((task, panic)) = unasked {
            return Outcome::Unasked { task, panic };
        }
        if late {
            return Outcome::Late {
                tasks: self.names.into_values().collect(),
            };
        }
        Outcome::Clean
    }

    fn ended(&mut self, ended: Result<(Id, ()), JoinError>) -> (String, Option<String>) {
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
        (self.names.remove(&id).unwrap_or_default(), panic)
    }
}

fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
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
}
