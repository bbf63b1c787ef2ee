//! Starts tasks, sees to it that all of them end, and tells them the time and what to look at next.
//!
//! Every long-running part of the process is a task of one [`Tasks`]: named, told to stop by one token, and joined. A task
//! that ends unasked ends the process, because a control plane that has quietly lost a part is worse than one that is
//! restarted. `client` and `control` build their loops from what is here.
//!
//! Entry points: [`Tasks`] and its [`Spawner`], [`Clock`], [`Queue`], [`Backoff`], [`keep_listening`].
//!
//! Invariants: no task outlives its `Tasks`; shutdown ends within its deadline; a queue never holds a key twice and never
//! gives one to two workers.
//!
//! Non-goals: what the tasks do; when to retry (`control`, `client`).

mod backoff;
mod clock;
mod listening;
mod queue;
mod tasks;

pub use backoff::Backoff;
pub use clock::Clock;
pub use listening::keep_listening;
pub use queue::{
    Counts, Gauge, Priority, Queue, RetryAfter, Taken, Turn, Turns, in_the_background,
};
pub use tasks::{Outcome, Spawner, Tasks, panic_text};
pub use tokio_util::sync::CancellationToken;
