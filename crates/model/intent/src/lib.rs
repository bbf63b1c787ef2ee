//! How a decision is handed to whoever carries it out: as a value.
//!
//! Every controller is a pure function from what it found to a [`Plan`]: the [`Action`]s it wants done, in order, the
//! [`Problem`]s it met, and when it wants to look again ([`Wake`]). `control` carries plans out; `explain`, `--dry-run`
//! and tests show them instead.
//!
//! Entry points: [`Plan`], [`Action`].
//!
//! Invariants: a plan serializes whole; every deletion names the object's uid and its cause; carrying a plan out twice is
//! harmless.
//!
//! Non-goals: deciding anything, doing anything.

mod action;
mod plan;

pub use crate::action::{Action, EventKind, ObjectRef, Part, Propagation};
pub use crate::plan::{Plan, Problem, Wake};
