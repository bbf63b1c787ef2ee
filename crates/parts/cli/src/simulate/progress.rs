//! How far a long answer has come: told to whoever waits for longer than a moment.

use std::fmt;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What takes no longer is not told of.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two tellings.
const EVERY: Duration = Duration::from_millis(500);

/// Takes a line about how far something has come, in place of the last one; an empty one when it is over.
pub type Tell = fn(&str);

/// What is being done, and how much of it is.
#[derive(Debug, Default)]
pub(super) struct Progress(Mutex<Step>);

#[derive(Debug, Default)]
struct Step {
    doing: &'static str,
    done: usize,
    /// None if nobody has counted.
    of: usize,
}

impl Progress {
    /// Something else is done from now on, with so many things.
    pub(super) fn begin(&self, doing: &'static str, of: usize) {
        *self.lock() = Step { doing, done: 0, of };
    }

    /// One more is done.
    pub(super) fn step(&self) {
        self.lock().done += 1;
    }

    /// Runs something, and tells how far it has come once it takes long.
    pub(super) async fn tell<F: Future>(&self, tell: Option<Tell>, work: F) -> F::Output {
        let Some(tell) = tell else {
            return work.await;
        };
        let (mut work, mut wait) = (pin!(work), PATIENCE);
        loop {
            tokio::select! {
                biased;
                done = &mut work => {
                    if wait == EVERY {
                        tell("");
                    }
                    return done;
                }
                () = tokio::time::sleep(wait) => {}
            }
            tell(&self.to_string());
            wait = EVERY;
        }
    }

    /// Steps are changed by plain code that does not panic.
    fn lock(&self) -> MutexGuard<'_, Step> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Step { doing, done, of } = *self.lock();
        match of {
            0 => write!(f, "{doing} ..."),
            _ => write!(f, "{doing}: {done} of {of} ..."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_what_takes_long_is_told_of() {
        static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let tell: Tell = |line| TOLD.lock().unwrap().push(line.to_owned());
        let progress = Progress::default();
        let work = async {
            progress.begin("reading", 0);
            tokio::time::sleep(Duration::from_millis(1900)).await;
        };
        progress.tell(Some(tell), work).await;
        assert!(TOLD.lock().unwrap().is_empty());
        let work = async {
            progress.begin("reading", 0);
            tokio::time::sleep(Duration::from_millis(2100)).await;
            progress.begin("asking members", 7);
            progress.step();
            tokio::time::sleep(Duration::from_millis(500)).await;
        };
        progress.tell(Some(tell), work).await;
        let told = ["reading ...", "asking members: 1 of 7 ...", ""];
        assert_eq!(*TOLD.lock().unwrap(), told);
    }
}
