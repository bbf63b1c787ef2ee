//! The operator's commands that work on files and on a running server from outside.
//!
//! A command is a function that takes what was asked for and returns what came of it; [`Failure`] says whether it was
//! refused or failed, which becomes the exit code. The binary parses arguments and prints.
//!
//! Entry points: [`crds`], [`backup`], [`restore`]; [`Reach`] finds the control plane that [`clusters`], [`cordon`],
//! [`taint`], [`get`] and [`explain`] are about.
//!
//! Invariants: a file given as output is complete or absent; nothing is overwritten.
//!
//! Non-goals: running servers (the binary does).

mod age;
mod backup;
mod clusters;
mod definitions;
mod explain;
mod failure;
mod kubeconfigs;
mod reach;
mod reading;
mod table;

pub use backup::{Saved, backup, restore};
pub use clusters::{Cordon, TaintChange, clusters, cordon, taint};
pub use definitions::{Format, crds};
pub use explain::{Telling, explain};
pub use failure::Failure;
pub use kubeconfigs::merge_kubeconfigs;
pub use reach::{Reach, call_failure};
pub use reading::{Answer, Output, Query, Scope, get};
pub use table::Table;
