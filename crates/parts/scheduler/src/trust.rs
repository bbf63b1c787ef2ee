//! How long somebody over a network is waited for, and when not at all.
//!
//! Whoever answers is waited for, up to a budget that follows what is usual for them. Those who wait longer open the
//! breaker, and then nobody waits any more but for a question now and then, the probe, which shows whether they are back.
//! Its pauses double. An error that is an answer concerns the question alone.
//!
//! How many have to wait in vain depends on who is asked ([`Manner`]). Decisions get along without an estimator: the first
//! is enough, all who wait at that moment are let go, the question under way goes on as the probe, and nobody waits for
//! probes. A webhook was set up to be heard: several bindings have to wait for it in vain one after another, whoever it
//! was asked about already is waited for, and so is a probe.
//!
//! So one that hangs costs those who ask at that moment a budget once, and whoever asks later nothing.

#[cfg(test)]
mod tests;

use std::{
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::FutureExt as _;
use runtime::Spawner;
use tokio::{
    sync::{Notify, oneshot},
    time::{Instant, timeout, timeout_at},
};

/// How long an answer may take until it is known what is usual.
const FIRST_BUDGET: Duration = Duration::from_millis(200);
/// How many times the usual time an answer may take.
const USUAL_TIMES: u32 = 8;
/// How many different ones must have waited in vain for somebody whose word is wanted. One whose own question is at fault
/// must not silence it for others, nor two of those.
const IN_VAIN: usize = 3;

/// Those who fail, as far as it matters here.
pub(crate) trait Failure {
    /// Whether nobody was there to answer; otherwise this one question was answered with an error.
    fn is_outage(&self) -> bool;
}

/// What it means that somebody is not heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Decisions are nearly as good without.
    #[default]
    Dispensable,
    /// Decisions should not be made without.
    Wanted,
}

impl Manner {
    /// How long one that did not answer is left alone, the first time and at most.
    fn pauses(self) -> (Duration, Duration) {
        match self {
            Self::Dispensable => (Duration::from_secs(1), Duration::from_secs(30)),
            // What is decided meanwhile is decided without, and a probe costs one binding a wait.
            Self::Wanted => (Duration::from_millis(500), Duration::from_secs(4)),
        }
    }
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
    manner: Manner,
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
    /// Who waited in vain since the last answer, each once.
    in_vain: Vec<String>,
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

/// What becomes of a question when the breaker opens because of it.
enum Question {
    /// It goes on as the probe.
    GoesOn,
    /// It is over; a further one may be sent after a pause.
    IsOver,
}

impl Trust {
    /// In somebody whose absence means this.
    pub(crate) fn of(manner: Manner) -> Self {
        Self {
            manner,
            shared: Arc::default(),
        }
    }

    /// Asks by `call` on behalf of `asker`, and waits as long as is right. While the breaker is open `call` is used only if
    /// it is time for a probe.
    pub(crate) async fn ask<T, E, F>(
        &self,
        asker: &str,
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
                let answer = self.probe(begun, wait, spawner, Box::pin(call()));
                if self.manner == Manner::Dispensable {
                    return Err(NotAsked::LeftAlone);
                }
                let answered = timeout_at(wait.until, answer).await;
                return match answered {
                    Ok(Ok(answered)) => Ok(answered),
                    _ => Err(NotAsked::Late),
                };
            }
            Turn::LeaveAlone => return Err(NotAsked::LeftAlone),
        };
        let mut call = Box::pin(call());
        // Those in this process mostly know at once, and then a clock is not worth setting.
        if let Some(answered) = (&mut call).now_or_never() {
            self.learn(asker, begun, &answered);
            return Ok(answered);
        }
        let mut opened = pin!(self.shared.opened.notified());
        // From here on it hears of an opening, also while it is not polled.
        opened.as_mut().enable();
        let answered = tokio::select! {
            biased;
            answered = timeout_at(wait.until.min(begun + budget), &mut call) => answered,
            () = opened, if self.manner == Manner::Dispensable => return Err(NotAsked::LeftAlone),
        };
        match answered {
            Ok(answered) => {
                self.learn(asker, begun, &answered);
                Ok(answered)
            }
            Err(_) => {
                // Who was asked too late to answer in time is not to blame.
                if begun.elapsed() >= budget {
                    match self.manner {
                        Manner::Dispensable => {
                            if self.open(&Question::GoesOn) {
                                drop(self.probe(begun, wait, spawner, call));
                            }
                        }
                        Manner::Wanted => self.waited_in_vain(asker),
                    }
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
        self.open(&Question::GoesOn);
        self.conclude(begun, timeout(most, call).await.ok().as_ref());
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

    /// Lets a question go on whether or not somebody waits for it; what is answered comes to whoever does.
    fn probe<T, E, F>(
        &self,
        begun: Instant,
        wait: Wait,
        spawner: &Spawner,
        call: F,
    ) -> oneshot::Receiver<Result<T, E>>
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Failure + Send + 'static,
    {
        let trust = self.clone();
        let (tell, told) = oneshot::channel();
        spawner.spawn_brief("asking again", move |stop| async move {
            let answered = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                answered = timeout_at(begun + wait.most, call) => answered.ok(),
            };
            trust.conclude(begun, answered.as_ref());
            if let Some(answered) = answered {
                // Nobody may be waiting.
                drop(tell.send(answered));
            }
        });
        told
    }

    /// Takes note of how a probe ended; `None` if there was no answer.
    fn conclude<T, E: Failure>(&self, begun: Instant, answered: Option<&Result<T, E>>) {
        match answered {
            Some(answered) if !is_outage(answered) => self.heard(begun),
            _ => self.lock().fail(self.manner),
        }
    }

    /// Takes note of how a question ended that somebody waited for.
    fn learn<T, E: Failure>(&self, asker: &str, begun: Instant, answered: &Result<T, E>) {
        if !is_outage(answered) {
            self.heard(begun);
            return;
        }
        match self.manner {
            Manner::Dispensable => {
                self.open(&Question::IsOver);
            }
            Manner::Wanted => self.waited_in_vain(asker),
        }
    }

    fn heard(&self, begun: Instant) {
        let took = begun.elapsed();
        let mut state = self.lock();
        state.usual = Some(match state.usual {
            None => took,
            // A probe that took long says more than the quick ones before it.
            Some(usual) if took > usual * USUAL_TIMES => took,
            Some(usual) => (usual * 7 + took) / 8,
        });
        state.in_vain.clear();
        state.open = None;
    }

    /// Takes note of one more who waited in vain; the breaker opens when there are enough of them.
    fn waited_in_vain(&self, asker: &str) {
        let mut state = self.lock();
        if state.open.is_none() && !state.in_vain.iter().any(|known| known == asker) {
            state.in_vain.push(asker.to_owned());
        }
        let is_gone = state.in_vain.len() >= IN_VAIN;
        drop(state);
        if is_gone {
            self.open(&Question::IsOver);
        }
    }

    /// Opens the breaker, and lets go who waits and can be; `false` if it was open.
    fn open(&self, question: &Question) -> bool {
        let (first, _) = self.manner.pauses();
        let now = Instant::now();
        let open = match question {
            Question::GoesOn => Open {
                is_probing: true,
                next: now,
                pause: first,
            },
            Question::IsOver => Open {
                is_probing: false,
                next: now + first,
                pause: first * 2,
            },
        };
        let mut state = self.lock();
        if state.open.is_some() {
            return false;
        }
        state.open = Some(open);
        state.in_vain.clear();
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
    fn fail(&mut self, manner: Manner) {
        let (_, most) = manner.pauses();
        if let Some(open) = &mut self.open {
            open.is_probing = false;
            open.next = Instant::now() + open.pause;
            open.pause = (open.pause * 2).min(most);
        }
    }
}

fn is_outage<T, E: Failure>(answered: &Result<T, E>) -> bool {
    answered.as_ref().is_err_and(Failure::is_outage)
}
