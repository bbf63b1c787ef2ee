//! Decides where bindings go: the queue, the gathering and the writing around the pure decision of `schedule`.
//!
//! Follows bindings of both scopes and clusters. What an event means is decided at a glance ([`schedule::intake`]);
//! bindings that need a decision wait in a [`queue`] and are attempted by several workers at once. An attempt reads the
//! binding from the cache, asks whether it needs a decision at all, decides from a snapshot of the clusters, and writes
//! what changed (`plan`), targets and condition in one patch where the server takes it so.
//!
//! Entry points: [`run`], which returns a [`Scheduler`] to look at, and [`deschedule`], which takes replicas back from
//! where they found no node.
//!
//! Invariants: a binding is with one worker at a time; a result is written only to the state it was decided for; nothing
//! is decided before all caches are filled; targets are never taken away on an incomplete list of clusters; a binding
//! that cannot be placed holds no other up.
//!
//! Non-goals: making bindings, carrying targets out.

mod bound;
mod cycle;
mod descheduler;
pub mod estimator;
mod fleet;
mod groups;
mod intake;
mod line;
pub mod metrics;
mod placements;
mod plan;
pub mod queue;
pub mod recorder;
mod run;
mod settings;
mod trust;
pub mod webhook;
mod writing;

/// What becomes of selected clusters that get no replicas, for [`Settings::options`].
pub use schedule::EmptyWorkloads;

pub use crate::{
    descheduler::{DeschedulerSettings, deschedule},
    run::{Scheduler, StartError, run},
    settings::{Overcommit, Priorities, Settings, SettingsError, WORKERS},
};
