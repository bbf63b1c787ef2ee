//! How many replicas, or whole sets of components, still fit into a cluster.
//!
//! The scheduler asks this of every candidate, in every decision: the answers are its dynamic weights and order
//! clusters that score alike. [`Capacity`] is a cluster's room in a form prepared once, whenever its status changes;
//! [`general`] answers from it in a few divisions. [`merge`] brings those answers together with the ones that
//! estimators beside the clusters gave. [`nodes`] and [`quota`] are what such an estimator computes from nodes and
//! quotas it knows; [`inventory`] keeps what it knows of nodes and [`pod`]s.
//!
//! Entry points: [`Capacity::of`], [`general::replicas`], [`general::sets`], [`merge::merge`].
//!
//! Invariants: amounts are integers in one unit for each resource (thousandths for CPU, whole units, rounded up, for
//! all others) and arithmetic saturates instead of wrapping; an estimate is between 0 and [`general::UNBOUNDED`];
//! the result does not depend on the order of maps.
//!
//! Non-goals: asking anybody over a network, and deciding what to do with an estimate.

pub mod capacity;
pub mod demand;
mod first_fit;
pub mod general;
pub mod inventory;
pub mod merge;
pub mod nodes;
pub mod pod;
pub mod quota;
pub mod resource;
pub mod rollout;
#[cfg(test)]
mod tests;
pub mod toleration;

pub use crate::{
    capacity::Capacity,
    demand::{Assumed, Component, Workload},
    general::{Basis, Estimate, Models},
    inventory::Inventory,
    merge::{Answer, Answers, OnFailure, Source},
    resource::{Amounts, Resource},
};
