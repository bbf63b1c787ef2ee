//! How a template differs from cluster to cluster: override policies applied to one object for one cluster.
//!
//! Stands between a scheduled binding and its works: the replicas have been revised already, and what comes out is what
//! the cluster gets. [`render()`] gives the object and the rules that were applied; [`explain`] tells on the way what
//! each rule changed or why it was not for the cluster. [`concerns`] says whether a change of an override policy is
//! about a template.
//!
//! Entry points: [`Overrides`] holds the policies, prepared by [`Policy::prepare`]; [`ClusterFacts`] is what rules may
//! ask about a cluster.
//!
//! Invariants:
//! - Objects are edited in place, by path: fields nobody here has heard of survive, and so does the order of fields.
//! - Policies apply in a fixed order: cluster-wide ones first, then by how closely they describe the template, then by
//!   name; rules as they are listed; within a rule images, commands, arguments, labels, annotations, fields and
//!   plaintext.
//! - A rule that does not fit is an error that names the policy, the rule, the overrider and the place, and nothing of
//!   the object reaches the cluster; no input panics.
//! - No rule makes another object of a template, and none changes whom a role or a binding lets do what.
//!
//! Non-goals: choosing clusters, replicas, making works.

pub mod cluster;
pub mod policy;
pub mod template;

pub mod collection;

pub mod overrider;
pub mod problem;

pub mod change;
mod escape;
mod identity;
pub mod render;
mod rights;

#[cfg(test)]
mod tests;

pub use api::affinity::Mismatch;

pub use crate::{
    change::Change,
    cluster::ClusterFacts,
    collection::{Match, Overrides, concerns},
    policy::{Policy, PolicyId, Rule, RulePlace},
    problem::{OverrideError, Overrider, Problem},
    render::{Applied, Effect, Rendered, Step, explain, render},
    template::{Specificity, Template},
};
