//! Seats for requests: so many at once, shared fairly between users, system traffic first.
//!
//! A request that finds no seat waits in the line of its user. A seat that falls free goes to the lines in turn, so a
//! user who sends a thousand requests and one who sends a single one wait equally long for their next. Some seats are
//! kept for the system's own users, whose lines also come first.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serve::call::User;
use serve::status::Status;
use tokio::sync::oneshot;

use crate::attempt::{Attempt, What};
use crate::names;

/// How much is done at once, and how long others wait.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Requests at once.
    pub seats: usize,
    /// How many of the seats are kept for the system.
    pub kept: usize,
    /// How many requests of one user may wait; a further one is told to come back later.
    pub line: usize,
    /// How long a request waits at most.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // Enough to fill a batch of the store while the one before is synced; few enough that nobody's request
            // stands behind hundreds of others once it has a seat.
            seats: 128,
            kept: 32,
            line: 512,
            patience: Duration::from_secs(30),
        }
    }
}

/// The seats of a server. Clones share them.
#[derive(Clone)]
pub struct Seats {
    shared: Arc<Shared>,
}

/// A request's seat; dropping it gives it to the next.
pub struct Seat {
    place: Option<(Arc<Shared>, Class)>,
}

struct Shared {
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    taken: usize,
    /// Of those taken, how many by others than the system.
    taken_by_others: usize,
    system: Lines,
    others: Lines,
}

/// Who waits, by user, and whose turn it is.
#[derive(Default)]
struct Lines {
    waiting: HashMap<String, VecDeque<oneshot::Sender<Seat>>>,
    turns: VecDeque<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    System,
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
        if names::is_master(user) || is_unbounded(attempt) {
            return Ok(Seat { place: None });
        }
        let class = class_of(user);
        let turn = {
            let mut state = self.shared.lock();
            if state.has_room(class, &self.shared.limits) {
                state.count(class);
                return Ok(self.shared.seat(class));
            }
            let line = state
                .lines(class)
                .waiting
                .entry(user.name.clone())
                .or_default();
            // Those who gave up leave their place when the line is walked; a full line is walked at once.
            if line.len() >= self.shared.limits.line {
                line.retain(|waiting| !waiting.is_closed());
            }
            if line.len() >= self.shared.limits.line {
                return Err(busy());
            }
            let (seat, turn) = oneshot::channel();
            let is_first = line.is_empty();
            line.push_back(seat);
            if is_first {
                state.lines(class).turns.push_back(user.name.clone());
            }
            turn
        };
        match tokio::time::timeout(self.shared.limits.patience, turn).await {
            Ok(Ok(seat)) => Ok(seat),
            _ => Err(busy()),
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // Counters and queues are changed together in a few lines that cannot panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seat(self: &Arc<Self>, class: Class) -> Seat {
        Seat {
            place: Some((Arc::clone(self), class)),
        }
    }

    fn release(self: &Arc<Self>, class: Class) {
        let mut unwanted = Vec::new();
        {
            let mut state = self.lock();
            state.taken = state.taken.saturating_sub(1);
            if class == Class::Other {
                state.taken_by_others = state.taken_by_others.saturating_sub(1);
            }
            while let Some((class, next)) = state.next(&self.limits) {
                state.count(class);
                if let Err(mut seat) = next.send(self.seat(class)) {
                    // Nobody waits any more. It is undone here: dropping it would come back for the lock.
                    seat.place = None;
                    unwanted.push(seat);
                    state.uncount(class);
                }
            }
        }
        drop(unwanted);
    }
}

impl State {
    fn has_room(&self, class: Class, limits: &Limits) -> bool {
        match class {
            Class::System => self.taken < limits.seats,
            Class::Other => {
                self.taken < limits.seats
                    && self.taken_by_others < limits.seats.saturating_sub(limits.kept)
            }
        }
    }

    fn count(&mut self, class: Class) {
        self.taken += 1;
        self.taken_by_others += usize::from(class == Class::Other);
    }

    fn uncount(&mut self, class: Class) {
        self.taken = self.taken.saturating_sub(1);
        let others = usize::from(class == Class::Other);
        self.taken_by_others = self.taken_by_others.saturating_sub(others);
    }

    fn lines(&mut self, class: Class) -> &mut Lines {
        match class {
            Class::System => &mut self.system,
            Class::Other => &mut self.others,
        }
    }

    /// Whose turn it is, as far as there is room for them.
    fn next(&mut self, limits: &Limits) -> Option<(Class, oneshot::Sender<Seat>)> {
        for class in [Class::System, Class::Other] {
            if !self.has_room(class, limits) {
                continue;
            }
            if let Some(next) = self.lines(class).next() {
                return Some((class, next));
            }
        }
        None
    }
}

impl Lines {
    fn next(&mut self) -> Option<oneshot::Sender<Seat>> {
        while let Some(user) = self.turns.pop_front() {
            let Some(line) = self.waiting.get_mut(&user) else {
                continue;
            };
            let next = line.pop_front();
            if line.is_empty() {
                self.waiting.remove(&user);
            } else {
                self.turns.push_back(user);
            }
            if next.is_some() {
                return next;
            }
        }
        None
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some((shared, class)) = self.place.take() {
            shared.release(class);
        }
    }
}

fn busy() -> Status {
    Status::too_many_requests(
        "too many requests, please try again later",
        1, // A seat lasts milliseconds; whoever comes back in a second finds the line short.
    )
}

fn class_of(user: &User) -> Class {
    let is_system = user.groups.iter().any(|group| {
        matches!(
            group.as_str(),
            "system:nodes" | "system:serviceaccounts:kube-system" | "system:karavel:components"
        )
    });
    if is_system {
        Class::System
    } else {
        Class::Other
    }
}

/// What lasts as long as others please, and probes, which must tell a busy server from a dead one.
fn is_unbounded(attempt: &Attempt) -> bool {
    match &attempt.what {
        What::Path(path) => ["/healthz", "/livez", "/readyz"]
            .iter()
            .any(|probe| path.starts_with(probe)),
        What::Resource(target) => {
            attempt.verb == "watch"
                || matches!(
                    target.subresource.as_str(),
                    "proxy" | "exec" | "attach" | "portforward" | "log"
                )
        }
    }
}

#[cfg(test)]
mod tests {
    use serve::target::ResourceTarget;

    use super::*;

    fn user(name: &str, group: &str) -> User {
        User {
            name: name.to_owned(),
            groups: vec![group.to_owned()],
            ..User::default()
        }
    }

    fn get() -> Attempt {
        let target = ResourceTarget {
            resource: "pods".to_owned(),
            ..ResourceTarget::default()
        };
        Attempt::on("get", target)
    }

    fn seats(seats: usize, kept: usize, line: usize) -> Seats {
        Seats::new(Limits {
            seats,
            kept,
            line,
            patience: Duration::from_secs(5),
        })
    }

    #[tokio::test(start_paused = true)]
    async fn a_noisy_user_and_a_quiet_one_take_turns() {
        let seats = seats(1, 0, 100);
        let (noisy, quiet) = (user("noisy", ""), user("quiet", ""));
        let held = seats.take(&noisy, &get()).await.unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = tokio::task::JoinSet::new();
        for who in [&noisy, &noisy, &noisy, &quiet, &noisy] {
            let (seats, order, who) = (seats.clone(), Arc::clone(&order), who.clone());
            tasks.spawn(async move {
                let seat = seats.take(&who, &get()).await.unwrap();
                order.lock().unwrap().push(who.name);
                drop(seat);
            });
            // Each joins its line before the next comes.
            tokio::task::yield_now().await;
        }
        drop(held);
        tasks.join_all().await;
        let order = order.lock().unwrap().join(" ");
        assert_eq!(order, "noisy quiet noisy noisy noisy");
    }

    #[tokio::test(start_paused = true)]
    async fn seats_are_kept_for_the_system_and_masters_need_none() {
        let seats = seats(2, 1, 0);
        let (other, system) = (user("o", ""), user("s", "system:karavel:components"));
        let first = seats.take(&other, &get()).await.unwrap();
        let refused = seats.take(&other, &get()).await.err().unwrap();
        assert_eq!(
            (refused.code, refused.details.retry_after_seconds),
            (429, 1)
        );
        let second = seats.take(&system, &get()).await.unwrap();
        assert!(seats.take(&system, &get()).await.is_err());
        assert!(
            seats
                .take(&user("root", names::MASTERS), &get())
                .await
                .is_ok()
        );
        drop(second);
        assert!(seats.take(&other, &get()).await.is_err());
        drop(first);
        assert!(seats.take(&other, &get()).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_too_long_is_sent_away_and_holds_nobody_up() {
        let seats = seats(1, 0, 10);
        let ann = user("ann", "");
        let held = seats.take(&ann, &get()).await.unwrap();
        let late = seats.take(&ann, &get()).await.err().unwrap();
        assert_eq!(late.code, 429);
        drop(held);
        assert!(seats.take(&ann, &get()).await.is_ok());
        let state = seats.shared.lock();
        assert_eq!((state.taken, state.others.waiting.len()), (0, 0));
    }
}
