//! When a workload leaves a cluster, how it is handed over, and when it is placed anew.
//!
//! Stands beside the scheduler: [`taints`] and [`application`] say that a binding leaves a cluster, [`eviction`] writes that
//! into it, the scheduler finds another place, and [`handover`] says when the old copy may go. [`finished`] knows what is not
//! taken anywhere. [`rebalance`] asks for a fresh decision. [`taint_policy`] and [`remedy`] read the conditions of a cluster: the first marks it with taints, the second
//! names what outsiders should do about it.
//!
//! Invariants:
//! - A binding leaves a cluster once: while a task for it is there, nobody adds another.
//! - A binding that goes on where it was never stops being wanted there: the task ends and the target comes in one write.
//! - An old copy that is handed over gracefully goes when the new ones are healthy or its time is up, never before.
//! - Time is an input, and whoever waits says until when.
//!
//! Non-goals: choosing clusters (`schedule`), making and deleting works (`binding`), writing.

pub mod application;
pub mod eviction;
pub mod finished;
pub mod handover;
pub mod rebalance;
pub mod remedy;
pub mod state;
pub mod taint_policy;
pub mod taints;

#[cfg(test)]
mod tests;
