//! Slow suites in which other people's programs judge the server: real clients, real API servers, and `kill -9`.
//!
//! Reads: programs that the registries carry, fetched once into a folder outside the clone. Writes: nothing in the
//! clone; a report on the terminal. Everything that differs from what Kubernetes does is either a defect or listed, with
//! its reason, beside the suite that found it.
//!
//! Entry points: [`kubernetes::ensure_built`], [`clients::run`], [`oracle::run`],
//! [`crash::run`], [`rollout::run`], [`idle::run`], [`versus::run`].
//!
//! Keeps: what is random comes from a seed that the report names, and what is expected is data.
//!
//! Non-goals: anything that a test in the process of the server can show (`dev/world`, the crates' own tests).
#![expect(
    clippy::print_stdout,
    reason = "the suites report on the terminal while they run"
)]

pub mod cache;
pub mod certificates;
pub mod clients;
pub mod crash;
pub mod debian;
mod dice;
pub mod idle;
pub mod install;
pub mod kubernetes;
pub mod members;
mod nodes;
pub mod oracle;
pub mod peer;
pub mod process;
pub mod rollout;
pub mod script;
pub mod versus;
