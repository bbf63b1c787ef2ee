//! What a binding says, which works it wants, and what each of them says.
//!
//! Stands on both sides of the scheduler. Before it: [`terms`] writes the binding of a template that a policy claims.
//! After it: [`targets`] says which clusters get a work and which works are to go, [`completions`] how a Job's
//! completions are to be shared, [`work`] what the work for one cluster looks like once the template has been rendered
//! for it (replicas by the interpreter, then overrides), [`dependencies`] what comes along with a template. [`manifest`] finishes what is sent to a member, here and on
//! admission of works alike.
//!
//! Invariants:
//! - One writer for each field: what the scheduler and others write into a binding or a work stays.
//! - Exactly one work for each target, none for any other cluster; a cluster that is being left keeps its work until its
//!   eviction is over.
//! - Finishing a manifest twice changes nothing, so that the controller and admission agree byte for byte.
//!
//! Non-goals: choosing the policy, interpreting templates, applying overrides, sharing numbers out (the caller brings
//! the results), writing.

pub mod terms;

pub mod targets;

pub mod completions;
pub mod dependencies;
pub mod failover;

pub mod manifest;
pub mod work;

#[cfg(test)]
mod tests;

pub use crate::{
    terms::{ForeignBinding, Lookups, Needs},
    work::{Draft, WorkError, draft},
};
