//! Turns on the processors: requests of all users run in turn, system traffic first.
//!
//! A seat says how many requests are under way; most of them wait for a disk or for somebody else. What a request keeps
//! others from is the processor, each time it goes on. So going on takes a turn: as many at once as there are processors,
//! the users one after the other. The five hundred requests that one user has just been answered for stand in that
//! user's line and not before everybody in the scheduler of the process.
//!
//! Reading requests from a connection, encrypting answers and handing them to the kernel takes processors too: most of the
//! time of a long list. So connections go on in turn as well, in the line of whoever asked last on them ([`Track`]).
//!
//! While others are about, a user has all processors but one: their next request goes on at once, even beside a list that
//! takes long to write. And after each turn the thread lets others run that wait for the same processor: the one that
//! heard of another's request may be among them, and the kernel would let it wait for a whole slice, some milliseconds.
//! A turn that takes long keeps nobody from a place ([`Turns::watch`]).

mod track;
mod watch;

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use serve::call::User;
use tokio::time::Instant;

use crate::fairness::is_system;

use self::watch::Watcher;
pub use track::{Carried, Track};

/// For how long a user counts as being about after a turn.
const ABOUT: Duration = Duration::from_secs(1);
/// How many turns in a row the system has at most while others wait.
const IN_A_ROW: u32 = 3;

/// The turns of a server. Clones share them.
#[derive(Clone)]
pub struct Turns {
    shared: Arc<Shared>,
}

/// Where the work of one user stands.
#[derive(Clone)]
pub struct Line {
    shared: Arc<Shared>,
    user: Arc<str>,
    is_system: bool,
}

/// A future that goes on when it is its user's turn.
#[must_use = "futures do nothing unless they are awaited"]
pub struct Paced<F> {
    inner: Pin<Box<F>>,
    place: Place,
}

/// A place in a line, for whoever wants to go on.
struct Place {
    line: Line,
    /// What is held while waiting, or the turn that came of it.
    ticket: Option<Arc<Ticket>>,
}

struct Shared {
    /// How many go on at once.
    places: usize,
    state: Mutex<State>,
    watcher: Watcher,
}

#[derive(Default)]
struct State {
    /// Who goes on now, the same user perhaps several times.
    running: Vec<Running>,
    /// How many turns there were.
    count: u64,
    system: Lines,
    others: Lines,
    /// How many turns the system had while others waited.
    in_a_row: u32,
    /// Of the users that are not the system: who had the last turn, and when somebody else had one.
    latest: Option<(Arc<str>, Instant)>,
    before: Option<Instant>,
}

/// A user's turn that has not ended.
struct Running {
    user: Arc<str>,
    since: Instant,
    /// It takes so long that it no longer counts as a place.
    is_long: bool,
}

/// Who waits, by user, and whose turn it is.
#[derive(Default)]
struct Lines {
    waiting: HashMap<Arc<str>, VecDeque<Arc<Ticket>>>,
    order: VecDeque<Arc<str>>,
}

#[derive(Default)]
struct Ticket {
    /// The turn has come; whoever holds the ticket has it.
    come: AtomicBool,
    waker: AtomicWaker,
}

thread_local! {
    /// Whether this thread goes on with a turn. What a request asks of its own server belongs to it.
    static IN_TURN: Cell<bool> = const { Cell::new(false) };
    /// Whether something that this thread has just looked after stands in a line.
    static IN_LINE: Cell<bool> = const { Cell::new(false) };
}

impl Turns {
    /// So many at once.
    #[must_use]
    pub fn new(places: usize) -> Self {
        let shared = Shared {
            places: places.max(1),
            state: Mutex::default(),
            watcher: Watcher::default(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Where a user's work stands in line.
    #[must_use]
    pub fn line(&self, user: &User) -> Line {
        Line {
            shared: Arc::clone(&self.shared),
            user: user.name.as_str().into(),
            is_system: is_system(user),
        }
    }
}

impl Line {
    /// Lets work go on in turn.
    pub fn pace<F: Future>(self, work: F) -> Paced<F> {
        Paced {
            inner: Box::pin(work),
            place: Place::new(self),
        }
    }
}

impl Default for Turns {
    /// One for each processor.
    fn default() -> Self {
        Self::new(processors())
    }
}

/// How many threads should carry a server: two more than there are processors. Each thread that is busy hears of new
/// requests only now and then; with these there is mostly one that waits for them, and it is let run after the turn of
/// another. Beside 64 connections that write, another's reading had a 99th percentile of 9.4 ms on two threads of two
/// processors, and of 1.6 and 3.8 ms in two runs on four.
#[must_use]
pub fn threads() -> usize {
    processors() + 2
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl<F: Future> Future for Paced<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { inner, place } = &mut *self;
        place.poll(inner.as_mut(), context)
    }
}

impl Place {
    fn new(line: Line) -> Self {
        Self { line, ticket: None }
    }

    /// Lets a future go on if it is its turn.
    fn poll<F: Future>(
        &mut self,
        inner: Pin<&mut F>,
        context: &mut Context<'_>,
    ) -> Poll<F::Output> {
        if IN_TURN.get() {
            self.leave();
            return inner.poll(context);
        }
        if !self.may_go_on(context.waker()) {
            IN_LINE.set(true);
            return Poll::Pending;
        }
        IN_TURN.set(true);
        let _turn = Turn {
            shared: &self.line.shared,
            user: &self.line.user,
            is_system: self.line.is_system,
        };
        inner.poll(context)
    }

    /// Leaves the line it may stand in.
    fn leave(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            let Line {
                shared,
                user,
                is_system,
            } = &self.line;
            shared.give_up(&ticket, user, *is_system);
        }
    }

    /// Takes a turn, or a place in the line.
    fn may_go_on(&mut self, waker: &Waker) -> bool {
        if self.ticket.is_none() {
            let Line {
                shared,
                user,
                is_system,
            } = &self.line;
            self.ticket = shared.take(user, *is_system);
        }
        let Some(ticket) = &self.ticket else {
            return true;
        };
        // Before looking: whoever calls in between finds the waker.
        ticket.waker.register(waker);
        let come = ticket.come.load(Ordering::Acquire);
        if come {
            self.ticket = None;
        }
        come
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.leave();
    }
}

/// A turn that is being used; its end is the next one's beginning.
struct Turn<'a> {
    shared: &'a Shared,
    user: &'a Arc<str>,
    is_system: bool,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        IN_TURN.set(false);
        let has_others = self.shared.end(self.user);
        if has_others && !self.is_system {
            std::thread::yield_now();
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // Lists and counters are changed together in a few lines that cannot panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A turn at once, or a ticket for a later one.
    fn take(&self, user: &Arc<str>, is_system: bool) -> Option<Arc<Ticket>> {
        let mut state = self.lock();
        state.note(user, is_system);
        if state.may_run(user, is_system, self.places) {
            state.run(Arc::clone(user));
            drop(state);
            self.watcher.wake();
            return None;
        }
        let ticket = Arc::new(Ticket::default());
        let lines = state.lines(is_system);
        let line = lines.waiting.entry(Arc::clone(user)).or_default();
        if line.is_empty() {
            lines.order.push_back(Arc::clone(user));
        }
        line.push_back(Arc::clone(&ticket));
        Some(ticket)
    }

    /// Ends a turn; says whether other users are about.
    fn end(&self, user: &Arc<str>) -> bool {
        let mut state = self.lock();
        state.stop(user);
        let has_others = state.has_others(user);
        self.hand_on(state);
        has_others
    }

    /// Leaves a line, or gives back the turn that had come.
    fn give_up(&self, ticket: &Arc<Ticket>, user: &Arc<str>, is_system: bool) {
        let mut state = self.lock();
        if ticket.come.load(Ordering::Acquire) {
            state.stop(user);
        } else {
            state.lines(is_system).remove(user, ticket);
        }
        self.hand_on(state);
    }

    /// Gives free places to those who wait.
    fn hand_on(&self, mut state: std::sync::MutexGuard<'_, State>) {
        let mut called = Vec::new();
        while let Some(ticket) = state.next(self.places) {
            ticket.come.store(true, Ordering::Release);
            called.push(ticket);
        }
        drop(state);
        for ticket in called {
            ticket.waker.wake();
        }
    }
}

impl State {
    /// Notes that a user is about.
    fn note(&mut self, user: &Arc<str>, is_system: bool) {
        if is_system {
            return;
        }
        let now = Instant::now();
        match &mut self.latest {
            Some((latest, when)) if *latest == *user => *when = now,
            latest => {
                self.before = latest.as_ref().map(|(_, when)| *when);
                *latest = Some((Arc::clone(user), now));
            }
        }
    }

    /// Whether somebody else than a user, the system apart, has had a turn lately.
    fn has_others(&self, user: &Arc<str>) -> bool {
        let when = match &self.latest {
            Some((latest, _)) if latest == user => self.before,
            Some((_, when)) => Some(*when),
            None => None,
        };
        when.is_some_and(|when| when.elapsed() < ABOUT)
    }

    fn may_run(&self, user: &Arc<str>, is_system: bool, places: usize) -> bool {
        let mut taken = 0;
        let (mut held, mut long) = (0, 0);
        for turn in &self.running {
            taken += usize::from(!turn.is_long);
            held += usize::from(turn.user == *user);
            long += usize::from(turn.is_long && turn.user == *user);
        }
        if taken >= places {
            return false;
        }
        // Only the last place is in question: counting the time is for then. Places that others were given beside long turns
        // are not for whoever has these.
        is_system || held == 0 || long < places && (held + 1 < places || !self.has_others(user))
    }

    fn run(&mut self, user: Arc<str>) {
        self.count += 1;
        self.running.push(Running {
            user,
            since: Instant::now(),
            is_long: false,
        });
    }

    fn stop(&mut self, user: &Arc<str>) {
        // Which of a user's turns it is makes no difference but for how long it took: the one that began first.
        if let Some(at) = self.running.iter().position(|turn| turn.user == *user) {
            self.running.swap_remove(at);
        }
    }

    fn lines(&mut self, is_system: bool) -> &mut Lines {
        if is_system {
            &mut self.system
        } else {
            &mut self.others
        }
    }

    /// Whose turn it is, who now runs.
    fn next(&mut self, places: usize) -> Option<Arc<Ticket>> {
        let others_wait = !self.others.order.is_empty();
        let system_first = !others_wait || self.in_a_row < IN_A_ROW;
        for is_system in [system_first, !system_first] {
            for _ in 0..self.lines(is_system).order.len() {
                let Some(user) = self.lines(is_system).order.pop_front() else {
                    break;
                };
                if !self.may_run(&user, is_system, places) {
                    self.lines(is_system).order.push_back(user);
                    continue;
                }
                let Some(ticket) = self.lines(is_system).take_first(&user) else {
                    continue;
                };
                self.in_a_row = if is_system && others_wait {
                    self.in_a_row + 1
                } else {
                    0
                };
                self.run(user);
                return Some(ticket);
            }
        }
        None
    }
}

impl Lines {
    /// The first of a line, which goes to the end of the order if others stand behind.
    fn take_first(&mut self, user: &Arc<str>) -> Option<Arc<Ticket>> {
        let line = self.waiting.get_mut(user)?;
        let first = line.pop_front();
        if line.is_empty() {
            self.waiting.remove(user);
        } else {
            self.order.push_back(Arc::clone(user));
        }
        first
    }

    fn remove(&mut self, user: &Arc<str>, ticket: &Arc<Ticket>) {
        let Some(line) = self.waiting.get_mut(user) else {
            return;
        };
        line.retain(|waiting| !Arc::ptr_eq(waiting, ticket));
        if line.is_empty() {
            self.waiting.remove(user);
            self.order.retain(|waiting| waiting != user);
        }
    }
}

#[cfg(test)]
mod tests;
