//! The operator's commands that work on files and on a running server from outside.
//!
//! A command is a function that takes what was asked for and returns what came of it; [`Failure`] says whether it was
//! refused or failed, which becomes the exit code. The binary parses arguments and prints.
//!
//! Entry points: [`crds`], [`backup`], [`restore`].
//!
//! Invariants: a file given as output is complete or absent; nothing is overwritten.
//!
//! Non-goals: running servers (the binary does).

mod backup;
mod definitions;
mod failure;
mod kubeconfig;

pub use backup::{Saved, backup, restore};
pub use definitions::{Format, crds};
pub use failure::Failure;
