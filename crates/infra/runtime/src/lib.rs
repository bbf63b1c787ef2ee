//! Starts tasks, and sees to it that all of them end.
//!
//! Every long-running part of the process is a task of one [`Tasks`]: named, told to stop by one token, and joined. A task
//! that ends unasked ends the process, because a control plane that has quietly lost a part is worse than one that is
//! restarted.
//!
//! Entry points: [`Tasks::new`], [`Tasks::spawn`], [`Tasks::run_until`].
//!
//! Invariants: no task outlives its `Tasks`; shutdown ends within its deadline.
//!
//! Non-goals: what the tasks do; retries (`control`, `client`).

mod tasks;

pub use tasks::{Outcome, Tasks};
pub use tokio_util::sync::CancellationToken;
