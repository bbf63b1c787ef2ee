//! Seats for requests: so many at once, shared fairly between users, system traffic first.
//!
//! A request that finds no seat waits in the line of its user. A seat that falls free goes to the lines in turn, so a
//! user who sends a thousand requests and one who sends a single one wait equally long for their next. Nobody but the
//! system has more than a share of the seats, so that somebody else's next request finds one at once, and finds little
//! before it on the processors. Some seats are kept for the system's own users, whose lines also come first.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use serve::call::User;
use serve::status::Status;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::attempt::{Attempt, What};
use crate::names;

/// How much is done at once, and how long others wait.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Requests at once.
    pub seats: usize,
    /// How many of the seats are kept for the system.
    pub kept: usize,
    /// How many seats one user has at most; masters have four times as many, the system's own as many as there are.
    pub share: usize,
    /// How many requests of one user may wait; a further one is told to come back later.
    pub line: usize,
    /// How long a request waits at most.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            // Enough to fill a batch of the store while the one before is synced; few enough that nobody's request
            // stands behind hundreds of others once it has a seat.
            seats: 128,
            kept: 32,
            // Enough to keep the processors busy. What one user has under way is what all others find before them: with
            // four times as many, another's 99th percentile was three times as long, and no more was done.
            share: (2 * processors).clamp(4, 32),
            line: 512,
            patience: Duration::from_secs(30),
        }
    }
}

/// How long the seat of an answer that is being sent is kept for a client that does not read on.
const SENDING: Duration = Duration::from_secs(1);

/// The seats of a server. Clones share them.
#[derive(Clone)]
pub struct Seats {
    shared: Arc<Shared>,
}

/// A request's seat; dropping it gives it to the next.
pub struct Seat {
    place: Option<(Arc<Shared>, Holder)>,
}

/// A seat that is kept while a long answer is sent, so that nobody has more of them under way than seats; and not for
/// longer than a second if somebody waits, because the client may have stopped reading. Clones are the same seat.
#[derive(Clone)]
pub struct Lent {
    _seat: Arc<Mutex<Option<Seat>>>,
}

/// Who has a seat.
struct Holder {
    class: Class,
    user: Arc<str>,
}

struct Shared {
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    taken: usize,
    /// Of those taken, how many by others than the system and the masters.
    taken_by_others: usize,
    /// How many seats each user has.
    held: HashMap<Arc<str>, usize>,
    system: Lines,
    others: Lines,
    /// Seats of answers that are being sent, the oldest first.
    lent: VecDeque<(Instant, Weak<Mutex<Option<Seat>>>)>,
}

/// Who waits, by user, and whose turn it is.
#[derive(Default)]
struct Lines {
    waiting: HashMap<Arc<str>, VecDeque<Waiting>>,
    turns: VecDeque<Arc<str>>,
}

struct Waiting {
    class: Class,
    seat: oneshot::Sender<Seat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Parts of the system: come first, and have seats kept for them.
    System,
    /// Who may do everything: waits like everybody, but may have the seats that are kept.
    Master,
    Other,
}

impl Seats {
    /// All seats free.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            shared: Arc::new(Shared {
                limits,
                state: Mutex::default(),
            }),
        }
    }

    /// A seat for a request, at once or when it is its turn.
    ///
    /// # Errors
    /// When too many of the user's requests wait already, or this one waited too long.
    pub async fn take(&self, user: &User, attempt: &Attempt) -> Result<Seat, Status> {
        if is_unbounded(attempt) {
            return Ok(Seat { place: None });
        }
        let class = class_of(user);
        let name: Arc<str> = user.name.as_str().into();
        let mut turn = {
            let mut state = self.shared.lock();
            let waits = state.lines(class).waiting.contains_key(&name);
            if !waits && state.may_sit(class, &name, &self.shared.limits) {
                state.count(class, &name);
                return Ok(self.shared.seat(class, name));
            }
            let lines = state.lines(class);
            let line = lines.waiting.entry(Arc::clone(&name)).or_default();
            let is_first = line.is_empty();
            // Those who gave up leave their place when the line is walked; a full line is walked at once.
            if line.len() >= self.shared.limits.line {
                line.retain(|waiting| !waiting.seat.is_closed());
            }
            if line.len() >= self.shared.limits.line {
                if line.is_empty() {
                    lines.waiting.remove(&name);
                }
                return Err(busy());
            }
            let (seat, turn) = oneshot::channel();
            line.push_back(Waiting { class, seat });
            if is_first {
                lines.turns.push_back(name);
            }
            turn
        };
        let deadline = Instant::now() + self.shared.limits.patience;
        loop {
            let next = deadline.min(Instant::now() + SENDING);
            match tokio::time::timeout_at(next, &mut turn).await {
                Ok(Ok(seat)) => return Ok(seat),
                Ok(Err(_)) => return Err(busy()),
                Err(_) if next == deadline => return Err(busy()),
                Err(_) => self.shared.reclaim(),
            }
        }
    }
}

impl Seat {
    /// Keeps the seat while an answer is sent; `None` if there is none to keep.
    #[must_use]
    pub fn lend(self) -> Option<Lent> {
        let shared = Arc::clone(&self.place.as_ref()?.0);
        let seat = Arc::new(Mutex::new(Some(self)));
        let mut state = shared.lock();
        while state
            .lent
            .front()
            .is_some_and(|(_, seat)| seat.strong_count() == 0)
        {
            state.lent.pop_front();
        }
        state
            .lent
            .push_back((Instant::now(), Arc::downgrade(&seat)));
        Some(Lent { _seat: seat })
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // Counters and queues are changed together in a few lines that cannot panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seat(self: &Arc<Self>, class: Class, user: Arc<str>) -> Seat {
        Seat {
            place: Some((Arc::clone(self), Holder { class, user })),
        }
    }

    /// Takes back the seats of answers whose clients read too slowly.
    fn reclaim(&self) {
        let mut late = Vec::new();
        {
            let mut state = self.lock();
            let is_late = |(since, _): &(Instant, Weak<_>)| since.elapsed() >= SENDING;
            while state.lent.front().is_some_and(is_late) {
                if let Some((_, seat)) = state.lent.pop_front() {
                    late.extend(seat.upgrade());
                }
            }
        }
        for seat in late {
            // Dropped without any lock: it comes back for the one of the seats.
            let seat = seat.lock().unwrap_or_else(PoisonError::into_inner).take();
            drop(seat);
        }
    }

    fn release(self: &Arc<Self>, holder: &Holder) {
        let mut unwanted = Vec::new();
        {
            let mut state = self.lock();
            state.uncount(holder.class, &holder.user);
            while let Some((user, next)) = state.next(&self.limits) {
                state.count(next.class, &user);
                let seat = self.seat(next.class, Arc::clone(&user));
                if let Err(mut seat) = next.seat.send(seat) {
                    // Nobody waits any more. It is undone here: dropping it would come back for the lock.
                    seat.place = None;
                    unwanted.push(seat);
                    state.uncount(next.class, &user);
                }
            }
        }
        drop(unwanted);
    }
}

impl State {
    fn has_room(&self, class: Class, limits: &Limits) -> bool {
        let open_to_others = limits.seats.saturating_sub(limits.kept);
        self.taken < limits.seats
            && (class != Class::Other || self.taken_by_others < open_to_others)
    }

    /// Whether there is room, and the user has not had their share.
    fn may_sit(&self, class: Class, user: &Arc<str>, limits: &Limits) -> bool {
        let held = self.held.get(user).copied().unwrap_or_default();
        let share = match class {
            Class::System => usize::MAX,
            // Whoever may do everything also does most: imports, restores.
            Class::Master => limits.share.saturating_mul(4),
            Class::Other => limits.share,
        };
        held < share && self.has_room(class, limits)
    }

    fn count(&mut self, class: Class, user: &Arc<str>) {
        self.taken += 1;
        self.taken_by_others += usize::from(class == Class::Other);
        *self.held.entry(Arc::clone(user)).or_default() += 1;
    }

    fn uncount(&mut self, class: Class, user: &Arc<str>) {
        self.taken = self.taken.saturating_sub(1);
        let others = usize::from(class == Class::Other);
        self.taken_by_others = self.taken_by_others.saturating_sub(others);
        if let Some(held) = self.held.get_mut(user) {
            *held = held.saturating_sub(1);
            if *held == 0 {
                self.held.remove(user);
            }
        }
    }

    fn lines(&mut self, class: Class) -> &mut Lines {
        match class {
            Class::System => &mut self.system,
            Class::Master | Class::Other => &mut self.others,
        }
    }

    /// Whose turn it is, as far as there is room for them.
    fn next(&mut self, limits: &Limits) -> Option<(Arc<str>, Waiting)> {
        for class in [Class::System, Class::Other] {
            for _ in 0..self.lines(class).turns.len() {
                let Some(user) = self.lines(class).turns.pop_front() else {
                    break;
                };
                let line = self.lines(class).waiting.get(&user);
                let Some(first) = line.and_then(VecDeque::front) else {
                    self.lines(class).waiting.remove(&user);
                    continue;
                };
                let wanted = first.class;
                if !self.may_sit(wanted, &user, limits) {
                    // Not now; the turn stays with the line.
                    self.lines(class).turns.push_back(user);
                    continue;
                }
                if let Some(waiting) = self.lines(class).take_first(&user) {
                    return Some((user, waiting));
                }
            }
        }
        None
    }
}

impl Lines {
    /// The first of a line, which goes to the end of the turns if others stand behind.
    fn take_first(&mut self, user: &Arc<str>) -> Option<Waiting> {
        let line = self.waiting.get_mut(user)?;
        let first = line.pop_front();
        if line.is_empty() {
            self.waiting.remove(user);
        } else {
            self.turns.push_back(Arc::clone(user));
        }
        first
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some((shared, holder)) = self.place.take() {
            shared.release(&holder);
        }
    }
}

fn busy() -> Status {
    Status::too_many_requests(
        "too many requests, please try again later",
        1, // A seat lasts milliseconds; whoever comes back in a second finds the line short.
    )
}

/// Whether a user is a part of the system.
#[must_use]
pub fn is_system(user: &User) -> bool {
    user.groups.iter().any(|group| {
        matches!(
            group.as_str(),
            "system:nodes" | "system:serviceaccounts:kube-system" | "system:karavel:components"
        )
    })
}

fn class_of(user: &User) -> Class {
    if is_system(user) {
        Class::System
    } else if names::is_master(user) {
        Class::Master
    } else {
        Class::Other
    }
}

/// What lasts as long as others please, and probes, which must tell a busy server from a dead one.
#[must_use]
pub fn is_unbounded(attempt: &Attempt) -> bool {
    match &attempt.what {
        What::Path(path) => ["/healthz", "/livez", "/readyz"]
            .iter()
            .any(|probe| path.starts_with(probe)),
        What::Resource(_) => is_long_running(attempt),
    }
}

/// What lasts as long as others please.
#[must_use]
pub fn is_long_running(attempt: &Attempt) -> bool {
    match &attempt.what {
        What::Path(_) => false,
        What::Resource(target) => attempt.verb == "watch" || target.is_stream(),
    }
}

#[cfg(test)]
mod tests;
