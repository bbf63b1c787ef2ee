//! Which clusters a binding goes to and with how many replicas, and why.
//!
//! The scheduler gathers what it knows into [`Inputs`] and calls [`schedule`]; what comes back is a [`Decision`] with
//! its whole [`Diagnosis`]. Conditions, events and every explanation are made from that one value.
//!
//! The way through a decision is also the order to read the modules in: a [`cluster::Snapshot`] of prepared clusters
//! and a [`placement::PreparedPlacement`]; filters and scores ([`plugin`]); the order of what is left
//! ([`candidate`]); spread constraints ([`select`]); sharing replicas out ([`assign`]). Around it: whose business a
//! binding is ([`intake`]), whether it needs a decision ([`trigger`]), and what its status says afterwards
//! ([`report`]).
//!
//! Invariants: the same inputs give the same answer, in whatever order clusters are listed; a cluster that a filter
//! refused is never a target; divided replicas add up to what was asked for, or nothing is placed; where replicas
//! follow room, no cluster gets more than fits beside what it has. Clusters, placements and selectors are compiled once
//! and shared; reasons become text only when read.
//!
//! Non-goals: queues, retries, writing anything, asking estimators over a network.

pub mod binding;
pub mod cluster;
pub mod placement;

mod cycle;
pub mod plugin;
pub mod reason;

pub mod assign;
pub mod candidate;
pub mod select;

mod decide;
mod decision;
pub mod diagnosis;

pub mod assume;
pub mod awaited;
pub mod deschedule;
pub mod intake;
pub mod report;
pub mod trigger;

#[cfg(test)]
mod examples;

pub use crate::{
    cycle::{Components, Cycle, EmptyWorkloads, Inputs, Options, is_component_set},
    decide::{Point, Run, Step, Watch, candidates, passing, schedule, schedule_watched},
    decision::{Decision, FitError, Outcome, Refusal, Target, TargetsText, cut},
    diagnosis::Diagnosis,
};
