//! A walk through a simulated member with the real kubectl: what a user of Kubernetes types, and the shape of what is
//! printed.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod walk;

mod cluster;
mod containers;
mod workloads;
