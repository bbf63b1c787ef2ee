//! Server-side apply: several authors write one object, each owns the fields it set, and nobody overwrites another's
//! without saying so.
//!
//! [`Write::apply`] merges a declaration into the live object and tells who owned the fields it changes;
//! [`Write::own`] records who owns what after any other write. Ownership is kept in the object itself
//! ([`managers`]), as sets of paths ([`fieldset`], written as [`codec`] says).
//!
//! Upstream: the rules are those of Kubernetes' field managers, down to the order entries are written in.

pub mod codec;
pub mod fieldset;
pub mod managers;
pub mod path;

mod check;
mod compare;
mod errors;
mod merge;
mod owners;
mod reconcile;
mod settled;
mod shortcut;
mod typed;
mod write;

pub use self::{
    check::TypeProblem,
    errors::{ApplyError, Conflict},
    write::{Applied, NoOtherVersion, Versions, Write, keep_times},
};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
