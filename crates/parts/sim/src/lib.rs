//! Simulated member clusters: a Kubernetes API with nodes, and pods that seem to run.
//!
//! A [`Member`] is the generic `serve` server with Kubernetes' built-in kinds, the gate of `access` in front of it, and
//! an engine behind it that does what a cluster's controllers, scheduler and kubelets do, seen through the API. Joining
//! it and joining a real cluster is the same call. Users try the product on it, tests and benches need many of them.
//!
//! Entry points: [`Member::open`] for a member inside the process, [`run`] for members that listen, [`Faults`] for
//! trouble on command, [`behaviour`] for how pods behave.
//!
//! Invariants: all waiting is in tokio's time and all dates are from one clock, so that tests hold both; members of a
//! process share their tables; a member in which nothing happens does nothing but renew its nodes' leases; what a
//! controller decides is a pure function of the objects and the time.
//!
//! Non-goals: running anything; networks between pods; being a Kubernetes for production.

mod admission;
pub mod behaviour;
mod config;
mod controllers;
mod definitions;
mod engine;
mod faults;
mod front;
mod garbage;
mod kubeconfig;
mod member;
mod outage;
mod parts;
mod ports;
mod read;
mod serving;
mod sessions;
mod start;
mod surroundings;
mod tables;
mod usage;

pub use config::{Data, MemberConfig};
pub use faults::{FaultError, FaultState, Faults};
pub use front::{FAULTS_PATH, RESTART_PATH};
pub use member::{Member, OpenError};
pub use serving::{Credentials, ServeError};
pub use start::{Moved, RunError, Running, SimConfig, run};
