//! Named workloads against any control plane that speaks the API, and reports of what they showed.
//!
//! A [`Workload`] is data: a stage it needs and the steps on it. A target is what is measured: servers given by
//! kubeconfig, or processes of our own started for the purpose. [`run`] takes one through the other and returns a
//! [`Report`], which can be shown as a table, as JSON and as a page, and held against another.
//!
//! Entry points: [`run`], [`workloads`], [`Report`], [`compare`].
//!
//! Invariants: what is measured runs in other processes than what measures; each step says how much of the machine
//! either used, so that a figure that shows the generator's limits is seen as such; objects live in namespaces made for
//! the run and are removed after it, in other people's servers too.
//!
//! Non-goals: judging figures (a reader or a comparison does).

mod error;
mod latency;
mod load;
mod objects;
mod progress;
mod report;
mod run;
mod target;
mod watch;
mod weight;
mod wire;
mod workload;

pub use crate::error::BenchError;
pub use crate::latency::Spread;
pub use crate::progress::{Progress, Silent};
pub use crate::report::{Comparison, Machine, Report, Step, compare};
pub use crate::run::{Settings, run};
pub use crate::target::{Given, Own};
pub use crate::weight::Weight;
pub use crate::workload::{Size, Workload, workloads};
