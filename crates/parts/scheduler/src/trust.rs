//! How long somebody over a network is waited for, and when not at all.
//!
//! Whoever answers quickly is waited for up to the deadline. Whoever owes an answer for longer than is usual for them is
//! not asked by anybody else meanwhile, and whoever failed is left alone for a while and then asked by one. So one that
//! hangs costs a decision its deadline now and then, and all the others a moment.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// How long one that failed is left alone.
const PAUSE: Duration = Duration::from_secs(10);
/// How long an answer may be owed before others stop waiting, until it is known what is usual.
const FIRST_PATIENCE: Duration = Duration::from_millis(200);
/// The least that is waited: a hiccup is no reason.
const LEAST_PATIENCE: Duration = Duration::from_millis(100);
/// How many times the usual time an answer may take before others stop waiting.
const USUAL_TIMES: u32 = 8;

/// What is known of one that is asked; clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trust {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// What answers took of late; `None` before the first.
    usual: Option<Duration>,
    /// Questions under way, by number, which is also their age.
    owed: BTreeMap<u64, Instant>,
    next: u64,
    /// It failed: not before this is it asked, and then by one.
    paused: Option<Instant>,
}

/// Why it is not waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotAsked {
    #[error("it failed a moment ago")]
    Paused,
    #[error("it owes an answer for too long")]
    Owes,
    #[error("it did not answer in time")]
    Late,
}

/// A question under way; gone when dropped.
#[derive(Debug)]
struct Asked<'t> {
    trust: &'t Trust,
    number: u64,
}

impl Trust {
    /// Waits for `answer` as long as is right; `Err(NotAsked::Paused)` and `Owes` at once, without asking.
    pub(crate) async fn wait<T, E>(
        &self,
        deadline: Instant,
        answer: impl Future<Output = Result<T, E>>,
    ) -> Result<Result<T, E>, NotAsked> {
        let begun = Instant::now();
        let asked = self.begin(begun)?;
        let mut answer = std::pin::pin!(answer);
        let patience = self.patience();
        let answered =
            match tokio::time::timeout_at((begun + patience).min(deadline), &mut answer).await {
                Ok(answered) => answered,
                // One goes on waiting, to know when it is well again.
                Err(_) if Instant::now() < deadline && !asked.is_oldest() => {
                    return Err(NotAsked::Owes);
                }
                Err(_) => match tokio::time::timeout_at(deadline, &mut answer).await {
                    Ok(answered) => answered,
                    Err(_) => {
                        self.lock().paused = Some(Instant::now() + PAUSE);
                        return Err(NotAsked::Late);
                    }
                },
            };
        let mut state = self.lock();
        match &answered {
            Ok(_) => {
                let took = begun.elapsed();
                state.usual = Some(match state.usual {
                    None => took,
                    Some(usual) => (usual * 7 + took) / 8,
                });
                state.paused = None;
            }
            Err(_) => state.paused = Some(Instant::now() + PAUSE),
        }
        drop(state);
        Ok(answered)
    }

    fn begin(&self, now: Instant) -> Result<Asked<'_>, NotAsked> {
        let patience = self.patience();
        let mut state = self.lock();
        if let Some(until) = state.paused
            && (now < until || !state.owed.is_empty())
        {
            return Err(NotAsked::Paused);
        }
        let oldest = state.owed.values().next();
        if oldest.is_some_and(|since| now.duration_since(*since) > patience) {
            return Err(NotAsked::Owes);
        }
        let number = state.next;
        state.next += 1;
        state.owed.insert(number, now);
        drop(state);
        Ok(Asked {
            trust: self,
            number,
        })
    }

    fn patience(&self) -> Duration {
        let usual = self.lock().usual;
        usual.map_or(FIRST_PATIENCE, |usual| {
            (usual * USUAL_TIMES).max(LEAST_PATIENCE)
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Plain numbers; whole after each line.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asked<'_> {
    fn is_oldest(&self) -> bool {
        let state = self.trust.lock();
        state.owed.keys().next() == Some(&self.number)
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.trust.lock().owed.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    const DEADLINE: Duration = Duration::from_secs(3);

    async fn ask(
        trust: &Trust,
        answer: impl Future<Output = Result<i32, ()>>,
    ) -> (String, Duration) {
        let begun = Instant::now();
        let outcome = trust.wait(begun + DEADLINE, answer).await;
        let said = match outcome {
            Ok(Ok(count)) => count.to_string(),
            Ok(Err(())) => "failed".to_owned(),
            Err(why) => why.to_string(),
        };
        (said, begun.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_hangs_costs_one_question_its_deadline_and_the_others_a_moment() {
        let trust = Trust::default();
        assert_eq!(ask(&trust, ready(Ok(7))).await.0, "7");
        let hanging = || ask(&trust, pending());
        let (first, second, third) = tokio::join!(hanging(), hanging(), async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            hanging().await
        });
        assert_eq!(first, (NotAsked::Late.to_string(), DEADLINE));
        assert_eq!(second, (NotAsked::Owes.to_string(), LEAST_PATIENCE));
        assert_eq!(third, (NotAsked::Owes.to_string(), Duration::ZERO));
        let (after, took) = ask(&trust, ready(Ok(7))).await;
        assert_eq!(
            (after, took),
            (NotAsked::Paused.to_string(), Duration::ZERO)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_pause_one_tries() {
        let trust = Trust::default();
        assert_eq!(ask(&trust, ready(Err(()))).await.0, "failed");
        tokio::time::sleep(PAUSE).await;
        let (tries, waits) = tokio::join!(ask(&trust, pending()), ask(&trust, ready(Ok(7))));
        assert_eq!(tries.0, NotAsked::Late.to_string());
        assert_eq!(waits, (NotAsked::Paused.to_string(), Duration::ZERO));
        tokio::time::sleep(PAUSE).await;
        assert_eq!(ask(&trust, ready(Ok(7))).await.0, "7");
        assert_eq!(ask(&trust, ready(Ok(8))).await.0, "8");
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_is_slow_as_ever_is_waited_for() {
        let trust = Trust::default();
        let slow = || async {
            tokio::time::sleep(Duration::from_millis(150)).await;
            Ok(7)
        };
        for _ in 0..3 {
            let (one, other) = tokio::join!(ask(&trust, slow()), ask(&trust, slow()));
            assert_eq!((one.0.as_str(), other.0.as_str()), ("7", "7"));
        }
    }
}
