//! Seats for requests: so many at once, shared fairly between users, system traffic first.
//!
//! A request that finds no seat waits in the line of its user. A seat that falls free goes to the lines in turn, so a
//! user who sends a thousand requests and one who sends a single one wait equally long for their next. Nobody but the
//! system has more than a share of the seats, so that somebody else's next request finds one at once, and finds little
//! before it on the processors. Some seats are kept for the system's own users, whose lines also come first.

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

/// The seats of a server. Clones share them.
#[derive(Clone)]
pub struct Seats {
    shared: Arc<Shared>,
}

/// A request's seat; dropping it gives it to the next.
pub struct Seat {
    place: Option<(Arc<Shared>, Holder)>,
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
        let turn = {
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

    fn seat(self: &Arc<Self>, class: Class, user: Arc<str>) -> Seat {
        Seat {
            place: Some((Arc::clone(self), Holder { class, user })),
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
            share: seats,
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
    async fn seats_are_kept_for_the_system_and_for_masters() {
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
        let root = user("root", names::MASTERS);
        assert!(
            seats.take(&root, &get()).await.is_err(),
            "there are no more"
        );
        drop(second);
        assert!(seats.take(&root, &get()).await.is_ok());
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

    #[tokio::test(start_paused = true)]
    async fn nobody_has_more_than_a_share_but_the_system() {
        let seats = Seats::new(Limits {
            seats: 10,
            kept: 2,
            share: 3,
            line: 10,
            patience: Duration::from_secs(5),
        });
        let (noisy, quiet) = (user("noisy", ""), user("quiet", ""));
        let system = user("s", "system:karavel:components");
        let mut held = Vec::new();
        for _ in 0..3 {
            held.push(seats.take(&noisy, &get()).await.unwrap());
        }
        assert!(
            seats.take(&noisy, &get()).await.is_err(),
            "it waits although there is room"
        );
        held.push(seats.take(&quiet, &get()).await.unwrap());
        for _ in 0..6 {
            held.push(seats.take(&system, &get()).await.unwrap());
        }
        // Somebody who waits for their share gets the next seat of their own, not somebody else's.
        let attempt = get();
        let waiting = seats.take(&noisy, &attempt);
        let freeing = async {
            tokio::task::yield_now().await;
            held.remove(0);
        };
        assert!(tokio::join!(waiting, freeing).0.is_ok());
        drop(held);
        let state = seats.shared.lock();
        assert_eq!(
            (state.taken, state.held.len(), state.others.waiting.len()),
            (0, 0, 0)
        );
    }
}
