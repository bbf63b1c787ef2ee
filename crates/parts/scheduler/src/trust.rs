//! How long somebody over a network is waited for, and when not at all.
//!
//! Whoever answers is waited for, up to a budget that follows what is usual for them. The first who waits longer than
//! that opens the breaker: everybody else who waits at that moment is let go, and nobody waits any more. The question
//! that was under way goes on by itself, as the probe; when it is answered the breaker closes. If it is not, a further
//! one is sent after a pause, which doubles. A probe is a question somebody wanted answered, but nobody waits for it.
//!
//! So one that hangs costs those who ask at that moment a budget once, and whoever asks later nothing.

use std::{
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::FutureExt as _;
use runtime::Spawner;
use tokio::{
    sync::Notify,
    time::{Instant, timeout, timeout_at},
};

/// How long an answer may take until it is known what is usual.
const FIRST_BUDGET: Duration = Duration::from_millis(200);
/// How many times the usual time an answer may take.
const USUAL_TIMES: u32 = 8;
/// How long one that did not answer is left alone, the first time and at most.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// Those who fail, as far as it matters here.
pub(crate) trait Failure {
    /// Whether nobody was there to answer; otherwise this one question was answered with an error.
    fn is_outage(&self) -> bool;
}

/// How long somebody is willing to wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    /// Not after this.
    pub(crate) until: Instant,
    /// No single answer may take longer than this, whoever it is.
    pub(crate) most: Duration,
    /// At least this, however quick they usually are: a hiccup is no reason.
    pub(crate) least: Duration,
}

/// What is known of one that is asked; clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trust {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Told to all who wait when the breaker opens.
    opened: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// What answers took of late; `None` before the first.
    usual: Option<Duration>,
    /// Nobody waits while this is there.
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    /// Whether a probe is under way.
    is_probing: bool,
    /// When the next may be sent.
    next: Instant,
    /// How long after that the one after it, if it fails.
    pause: Duration,
}

/// Why it is not waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotAsked {
    #[error("it did not answer others and is left alone for a while")]
    LeftAlone,
    #[error("it did not answer in time")]
    Late,
}

/// What asking comes to, before anybody waits.
enum Turn {
    Wait(Duration),
    Probe,
    LeaveAlone,
}

impl Trust {
    /// Asks by `call`, and waits as long as is right. While the breaker is open nobody waits, and `call` is used only if
    /// it is time for a probe.
    pub(crate) async fn ask<T, E, F>(
        &self,
        wait: Wait,
        spawner: &Spawner,
        call: impl FnOnce() -> F,
    ) -> Result<Result<T, E>, NotAsked>
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Failure + Send + 'static,
    {
        let begun = Instant::now();
        let budget = match self.begin(begun, wait) {
            Turn::Wait(budget) => budget,
            Turn::Probe => {
                self.probe(begun, wait, spawner, Box::pin(call()));
                return Err(NotAsked::LeftAlone);
            }
            Turn::LeaveAlone => return Err(NotAsked::LeftAlone),
        };
        let mut call = Box::pin(call());
        // Those in this process mostly know at once, and then a clock is not worth setting.
        if let Some(answered) = (&mut call).now_or_never() {
            self.learn(begun, &answered);
            return Ok(answered);
        }
        let mut opened = pin!(self.shared.opened.notified());
        // From here on it hears of an opening, also while it is not polled.
        opened.as_mut().enable();
        let answered = tokio::select! {
            biased;
            answered = timeout_at(wait.until.min(begun + budget), &mut call) => answered,
            () = opened => return Err(NotAsked::LeftAlone),
        };
        match answered {
            Ok(answered) => {
                self.learn(begun, &answered);
                Ok(answered)
            }
            Err(_) => {
                // Who was asked too late to answer in time is not to blame.
                if begun.elapsed() >= budget && self.open(true) {
                    self.probe(begun, wait, spawner, call);
                }
                Err(NotAsked::Late)
            }
        }
    }

    /// Asks for the sake of knowing whether there is somebody: nobody waits before the answer is there. Returns once it
    /// is known, or after `most`, and is to be carried through to the end.
    pub(crate) async fn greet<T, E>(
        &self,
        most: Duration,
        call: impl Future<Output = Result<T, E>> + Send,
    ) where
        E: Failure,
    {
        let begun = Instant::now();
        self.open(true);
        self.conclude(begun, timeout(most, call).await.ok());
    }

    fn begin(&self, now: Instant, wait: Wait) -> Turn {
        let mut state = self.lock();
        match &mut state.open {
            None => Turn::Wait(state.budget(wait)),
            Some(open) if !open.is_probing && now >= open.next => {
                open.is_probing = true;
                Turn::Probe
            }
            Some(_) => Turn::LeaveAlone,
        }
    }

    /// Lets a question go on without anybody who waits for it.
    fn probe<T, E, F>(&self, begun: Instant, wait: Wait, spawner: &Spawner, call: F)
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Failure + Send + 'static,
    {
        let trust = self.clone();
        spawner.spawn_brief("asking again", move |stop| async move {
            let answered = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                answered = timeout_at(begun + wait.most, call) => answered,
            };
            trust.conclude(begun, answered.ok());
        });
    }

    /// Takes note of how a probe ended; `None` if there was no answer.
    fn conclude<T, E: Failure>(&self, begun: Instant, answered: Option<Result<T, E>>) {
        match answered {
            Some(answered) => self.learn(begun, &answered),
            None => self.lock().fail(),
        }
    }

    fn learn<T, E: Failure>(&self, begun: Instant, answered: &Result<T, E>) {
        if answered.as_ref().is_err_and(Failure::is_outage) {
            self.open(false);
            self.lock().fail();
            return;
        }
        let took = begun.elapsed();
        let mut state = self.lock();
        state.usual = Some(match state.usual {
            None => took,
            // A probe that took long says more than the quick ones before it.
            Some(usual) if took > usual * USUAL_TIMES => took,
            Some(usual) => (usual * 7 + took) / 8,
        });
        state.open = None;
    }

    /// Opens the breaker, and lets everybody go who waits; `false` if it was open.
    fn open(&self, is_probing: bool) -> bool {
        let mut state = self.lock();
        if state.open.is_some() {
            return false;
        }
        state.open = Some(Open {
            is_probing,
            next: Instant::now(),
            pause: PAUSES.0,
        });
        drop(state);
        self.shared.opened.notify_waiters();
        true
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Plain numbers; whole after each line.
        let state = self.shared.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn budget(&self, wait: Wait) -> Duration {
        let usual = self.usual.map_or(FIRST_BUDGET, |usual| usual * USUAL_TIMES);
        usual.max(wait.least).min(wait.most)
    }

    /// A probe failed: the next is sent after a pause.
    fn fail(&mut self) {
        if let Some(open) = &mut self.open {
            open.is_probing = false;
            open.next = Instant::now() + open.pause;
            open.pause = (open.pause * 2).min(PAUSES.1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::{pending, ready},
        sync::atomic::{AtomicU32, Ordering::Relaxed},
    };

    use runtime::Tasks;

    use super::*;

    const MOST: Duration = Duration::from_secs(3);
    const LEAST: Duration = Duration::from_millis(100);
    const NOTHING: Duration = Duration::ZERO;

    #[derive(Clone, Copy, Debug)]
    enum Broken {
        Absent,
        Unwilling,
    }

    impl Failure for Broken {
        fn is_outage(&self) -> bool {
            matches!(self, Self::Absent)
        }
    }

    struct Asker {
        trust: Trust,
        tasks: Tasks,
        calls: AtomicU32,
    }

    impl Asker {
        fn new() -> Self {
            Self {
                trust: Trust::default(),
                tasks: Tasks::new(),
                calls: AtomicU32::new(0),
            }
        }

        async fn ask(
            &self,
            answer: impl Future<Output = Result<i32, Broken>> + Send + 'static,
        ) -> (String, Duration) {
            let begun = Instant::now();
            let wait = Wait {
                until: begun + MOST,
                most: MOST,
                least: LEAST,
            };
            let spawner = self.tasks.spawner();
            let asked = self.trust.ask(wait, &spawner, || {
                self.calls.fetch_add(1, Relaxed);
                answer
            });
            let said = match asked.await {
                Ok(Ok(count)) => count.to_string(),
                Ok(Err(broken)) => format!("{broken:?}"),
                Err(why) => format!("{why:?}"),
            };
            (said, begun.elapsed())
        }

        fn calls(&self) -> u32 {
            self.calls.swap(0, Relaxed)
        }
    }

    fn said(text: &str, took: Duration) -> (String, Duration) {
        (text.to_owned(), took)
    }

    async fn later(millis: u64) -> Result<i32, Broken> {
        tokio::time::sleep(Duration::from_millis(millis)).await;
        Ok(7)
    }

    #[tokio::test(start_paused = true)]
    async fn when_one_hangs_all_who_wait_are_let_go_together_and_nobody_waits_after_them() {
        let asker = Asker::new();
        assert_eq!(asker.ask(ready(Ok(7))).await, said("7", NOTHING));
        let second = async {
            tokio::time::sleep(LEAST / 2).await;
            asker.ask(pending()).await
        };
        let (first, second) = tokio::join!(asker.ask(pending()), second);
        assert_eq!(first, said("Late", LEAST));
        assert_eq!(second, said("LeftAlone", LEAST / 2));
        asker.calls();
        for _ in 0..1000 {
            assert_eq!(asker.ask(ready(Ok(7))).await, said("LeftAlone", NOTHING));
        }
        assert_eq!(asker.calls(), 0, "the first question is the probe");
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_pause_one_question_is_sent_for_which_nobody_waits() {
        let asker = Asker::new();
        assert_eq!(asker.ask(ready(Err(Broken::Absent))).await.0, "Absent");
        asker.calls();
        for pause in [1, 2, 4, 8, 16, 30, 30] {
            tokio::time::sleep(Duration::from_secs(pause) - Duration::from_millis(1)).await;
            assert_eq!(asker.ask(ready(Ok(7))).await, said("LeftAlone", NOTHING));
            assert_eq!(asker.calls(), 0, "{pause} s are not over");
            tokio::time::sleep(Duration::from_millis(1)).await;
            for _ in 0..3 {
                assert_eq!(asker.ask(pending()).await, said("LeftAlone", NOTHING));
            }
            assert_eq!(asker.calls(), 1, "after {pause} s");
            tokio::time::sleep(MOST).await;
        }
        tokio::time::sleep(PAUSES.1).await;
        assert_eq!(asker.ask(later(1)).await, said("LeftAlone", NOTHING));
        tokio::time::sleep(Duration::from_millis(2)).await;
        assert_eq!(asker.ask(ready(Ok(8))).await, said("8", NOTHING));
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_turns_out_to_be_slow_is_waited_for_from_then_on() {
        let asker = Asker::new();
        assert_eq!(asker.ask(later(700)).await, said("Late", FIRST_BUDGET));
        tokio::time::sleep(Duration::from_secs(1)).await;
        let slow = Duration::from_millis(700);
        assert_eq!(asker.ask(later(700)).await, said("7", slow));
        assert_eq!(
            asker.ask(later(1_400)).await,
            said("7", Duration::from_millis(1_400))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_about_one_question_is_an_answer() {
        let asker = Asker::new();
        let refused = said("Unwilling", NOTHING);
        assert_eq!(asker.ask(ready(Err(Broken::Unwilling))).await, refused);
        assert_eq!(asker.ask(ready(Ok(7))).await, said("7", NOTHING));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_one_that_is_being_greeted() {
        let asker = Asker::new();
        let greeting = asker.trust.greet(MOST, later(500));
        let asking = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let during = asker.ask(ready(Ok(7))).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            (during, asker.ask(later(600)).await.0)
        };
        let ((), (during, after)) = tokio::join!(greeting, asking);
        assert_eq!(during, said("LeftAlone", NOTHING));
        assert_eq!(after, "7");
    }
}
