//! Whether a webhook is asked at all, and how many questions are on their way to it.
//!
//! One that answers is asked as much as is wanted, some questions at once. When several objects in a row have waited for it in
//! vain it rests: whoever comes is turned away at once, and one question at a time, after pauses that double, shows whether
//! it is back. So one that hangs costs a question now and then, however many objects it is to be asked about. Any answer
//! ends the rest, be it an error or a refused connection: who says at once that nothing comes holds nobody up.
//!
//! There is one for each operation of a webhook: what hangs is often one of its handlers.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Notify, Semaphore, SemaphorePermit},
    time::{Instant, timeout, timeout_at},
};

/// How many questions are on their way at once; more wait for a seat as long as answers come.
const SEATS: usize = 16;
/// How long after the last answer those without a seat wait no more. Waiting costs no worker, but for hundreds at once; and
/// who is merely slow has answered one of sixteen by then.
const SILENT: Duration = Duration::from_secs(2);
/// How many different objects must have waited in vain. One whose own question is at fault must not silence a webhook for
/// others, nor two of those.
const IN_VAIN: usize = 3;
/// How long it rests, the first time and at most. With the longest wait of a key (`courier::ASKED_AGAIN`) that is less than
/// half a minute.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(8));

/// What is known of one operation of a webhook.
#[derive(Debug)]
pub(super) struct Breaker {
    seats: Semaphore,
    state: Mutex<State>,
    /// Told to all who wait for a seat when the rest begins.
    rests: Notify,
}

#[derive(Debug)]
struct State {
    under_way: usize,
    /// When the last answer came, or when the first was asked after a time without questions.
    heard: Instant,
    /// The objects that waited in vain since the last answer, each once.
    in_vain: Vec<String>,
    /// It is asked nothing but probes while this is there.
    rest: Option<Rest>,
}

#[derive(Debug)]
struct Rest {
    /// Whether a probe is under way.
    is_probing: bool,
    /// When the next may be sent.
    next: Instant,
    /// How long after that the one after it, if it fails.
    pause: Duration,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Silence {
    /// It was asked, and did not answer in time.
    Late,
    /// It does not answer, neither others nor this one, and rests.
    Rests,
    /// It was not asked, because it is slow and was asked much already.
    Busy,
}

/// A question that is on its way. Also one that is dropped before it is answered ends.
struct Asking<'b> {
    breaker: &'b Breaker,
    is_probe: bool,
    _seat: Option<SemaphorePermit<'b>>,
}

impl Default for Breaker {
    fn default() -> Self {
        Self {
            seats: Semaphore::new(SEATS),
            state: Mutex::new(State {
                under_way: 0,
                heard: Instant::now(),
                in_vain: Vec::new(),
                rest: None,
            }),
            rests: Notify::new(),
        }
    }
}

impl Breaker {
    /// Asks about an object by `call`, unless there is no use in it now. `most` is how long an answer may take; who gets no
    /// seat in that time is turned away.
    pub(super) async fn ask<T>(
        &self,
        about: &str,
        most: Duration,
        call: impl Future<Output = T>,
    ) -> Result<T, Silence> {
        let asking = self.begin(most).await?;
        let Ok(answer) = timeout(most, call).await else {
            return Err(self.waited_in_vain(about, &asking));
        };
        self.heard();
        Ok(answer)
    }

    /// Whether nothing would be lost if it were forgotten.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.lock();
        state.under_way == 0 && state.rest.is_none()
    }

    async fn begin(&self, most: Duration) -> Result<Asking<'_>, Silence> {
        let until = Instant::now() + most;
        loop {
            let mut rests = std::pin::pin!(self.rests.notified());
            // From here on it hears of a rest, also while it is not polled.
            rests.as_mut().enable();
            if let Some(asking) = self.try_begin()? {
                return Ok(asking);
            }
            // A seat that comes free goes to whoever waits longest.
            let patience = until.min(self.lock().heard + SILENT);
            tokio::select! {
                biased;
                () = rests => {}
                seat = timeout_at(patience, self.seats.acquire()) => match seat {
                    Ok(seat) => return Ok(self.asking(seat.ok(), false)),
                    Err(_) if self.lock().heard.elapsed() >= SILENT || Instant::now() >= until => {
                        return Err(Silence::Busy);
                    }
                    Err(_) => {}
                },
            }
        }
    }

    /// `None` if a seat has to be waited for.
    fn try_begin(&self) -> Result<Option<Asking<'_>>, Silence> {
        let now = Instant::now();
        {
            let mut state = self.lock();
            if let Some(rest) = &mut state.rest {
                if rest.is_probing || now < rest.next {
                    return Err(Silence::Rests);
                }
                rest.is_probing = true;
                drop(state);
                return Ok(Some(self.asking(None, true)));
            }
        }
        Ok(self
            .seats
            .try_acquire()
            .ok()
            .map(|seat| self.asking(Some(seat), false)))
    }

    fn asking<'b>(&'b self, seat: Option<SemaphorePermit<'b>>, is_probe: bool) -> Asking<'b> {
        let mut state = self.lock();
        if state.under_way == 0 {
            state.heard = Instant::now();
        }
        state.under_way += 1;
        Asking {
            breaker: self,
            is_probe,
            _seat: seat,
        }
    }

    fn heard(&self) {
        let mut state = self.lock();
        state.heard = Instant::now();
        state.in_vain.clear();
        state.rest = None;
    }

    /// Takes note of one more that waited in vain, and says what that means.
    fn waited_in_vain(&self, about: &str, asking: &Asking<'_>) -> Silence {
        let (first, most) = PAUSES;
        let now = Instant::now();
        let mut state = self.lock();
        if let Some(rest) = &mut state.rest {
            if asking.is_probe {
                rest.next = now + rest.pause;
                rest.pause = (rest.pause * 2).min(most);
            }
            return Silence::Rests;
        }
        if !state.in_vain.iter().any(|known| known == about) {
            state.in_vain.push(about.to_owned());
        }
        if state.in_vain.len() < IN_VAIN {
            return Silence::Late;
        }
        state.in_vain.clear();
        state.rest = Some(Rest {
            is_probing: false,
            next: now + first,
            pause: (first * 2).min(most),
        });
        drop(state);
        self.rests.notify_waiters();
        Silence::Rests
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Plain numbers; whole after each line.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let mut state = self.breaker.lock();
        state.under_way -= 1;
        if self.is_probe
            && let Some(rest) = &mut state.rest
        {
            rest.is_probing = false;
        }
    }
}

#[cfg(test)]
mod tests;
