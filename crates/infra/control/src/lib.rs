//! The reconcile loop: changes become keys, workers look at them, and one executor carries out what they decide.
//!
//! A controller is a [`Reconcile`] and the caches it watches. [`Controller::run`] maps changes to keys, keeps them in a
//! queue and gives each to one worker at a time. The reconcile gathers, decides, and hands its plan to
//! [`Cx::carry_out`], the only place where controllers write. [`election`] lets one of several processes be the one.
//!
//! Entry points: [`Controller::new`], [`Cx::carry_out`], [`election::Election`].
//!
//! A look that waits for somebody outside ([`aside::wait`]) needs no worker meanwhile.
//!
//! Invariants: a key is never with two workers at once; every write carries the preconditions its plan names; a deletion
//! is logged with its cause; events never hold a reconcile up; a panicking reconcile costs its key a backoff, not the
//! process.
//!
//! Non-goals: deciding anything.

pub mod aside;
mod controller;
mod cx;
pub mod election;
mod events;
mod execute;
mod observe;
mod pressure;
#[cfg(test)]
mod scripted;

pub use crate::controller::{Controller, Reconcile, ReconcileError, Running};
pub use crate::cx::Cx;
pub use crate::events::{EventSink, Recorder};
pub use crate::execute::CarryOutError;
pub use crate::observe::{Observer, Quiet};
pub use crate::pressure::{Counted, Pressure, Turn};
/// When a controller wants to look at a key again.
pub use intent::Wake;
