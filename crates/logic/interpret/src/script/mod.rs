//! Rules written in Lua: how a script is compiled, run and stopped, and how values go in and come back.
//!
//! An [`Engine`] compiles each text once ([`Engine::compile`]) and runs it in a machine of its pool. What a run may
//! spend is in [`Limits`]; what it may know of the world comes in through [`Surroundings`]. Why Luau, and why the limit
//! is counted and not timed: `docs/adr/0017-scripts-in-luau.md`.
//!
//! # What a script is given
//!
//! The functions that Lua 5.1 scripts know from the reference: `assert`, `error`, `ipairs`, `next`, `pairs`, `pcall`,
//! `print`, `require`, `select`, `tonumber`, `tostring`, `type`, `unpack` and `xpcall`; `math`, `table`, `string`
//! without `gsub`, `rep` and `dump`; `os.time` and `os.date`; and `require("kube")` with `resourceAdd`,
//! `accuratePodRequirements`, `getPodDependencies` and `getResourceQuantity`. Nothing else is there: no files, no
//! metatables, no code from texts.
//!
//! # Values
//!
//! Numbers are doubles; an integer beyond 2^53 that a script passes on unchanged comes back as it was. `null` is absent.
//! A table with the keys `1..n` is a list, one with texts for keys an object; anything between, and a table that is in a
//! result twice, is an error. An empty table is whatever the inputs have at that place, and left out if they have
//! nothing empty there.
//!
//! # Invariants
//!
//! - A run sees nothing of an earlier one: every run has globals of its own, and what all share cannot be written.
//! - A run ends: by its effort, its memory, or its time.
//! - No single call of a library function takes more than a fraction of the time that a run has: what costs more than its
//!   data is long is counted in steps (`table.sort`), done otherwise (`string.find` of a text) or refused (a pattern and a
//!   text that are too long together).
//! - A machine in which a run was stopped is thrown away, and the script is not run on the same object for a while;
//!   nor on any, once it was stopped on many.

mod answer;
mod arguments;
mod empties;
mod engine;
mod error;
mod kube;
mod limits;
mod machine;
mod rest;
mod search;

pub use crate::script::{
    engine::{Engine, Script, Turnover, check},
    error::{Reach, ScriptError, ScriptProblem},
    limits::{Limits, Secluded, Surroundings},
};

pub(crate) use crate::script::{
    answer::{Emptiness, Returned},
    arguments::Argument,
};

#[cfg(test)]
mod tests;
