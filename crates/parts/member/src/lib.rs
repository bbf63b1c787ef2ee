//! Everything that faces one member cluster: health, works, reports; and what clusters need in the control plane.
//!
//! Stands at the far end of the flow: works become objects in a member, and what becomes of those comes back into the
//! works' status. The same loops run in the control plane for members it can reach, and beside a member that it cannot;
//! nothing here assumes which.
//!
//! Entry points: [`fleet::run`] for the loops that face members; [`lifecycle::run`], [`monitor::run`], [`namespaces::run`],
//! [`impersonation::run`] and [`credentials::run`] for what every control plane does for its clusters; [`join::join`] and [`join::unjoin`];
//! [`proxy::Proxy`] for requests that users send through to members.
//!
//! Invariants:
//! - Only this crate writes to members, and only objects that carry its mark or that a work says to overwrite.
//! - Nothing is deleted from a member unless its work was deleted and the object was read from the member just before.
//! - One member's trouble is its own: every member has its own queue, limits and connections, and is spared while it does
//!   not answer.
//! - What is known of a member stays known while it does not answer in full.
//!
//! Non-goals: deciding what goes where (`schedule`, `policy`), folding reports of several members (`status`).

pub mod fleet;
pub mod impersonation;
pub mod lifecycle;
pub mod monitor;
pub mod namespaces;

pub mod connect;
pub mod credentials;
pub mod join;
pub mod proxy;

pub mod census;
pub mod health;
pub mod lease;
pub mod report;

pub mod apply;
mod reflect;
mod works;

pub mod resources;
mod sending;
#[cfg(test)]
mod testing;
