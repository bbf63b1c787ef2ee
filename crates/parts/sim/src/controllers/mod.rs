//! The controllers of a simulated cluster: one folder each, a pure plan and a thin shell.

mod definition;
pub(crate) mod deployment;
pub(crate) mod kubelet;
pub(crate) mod node;
pub(crate) mod replica_set;
pub(crate) mod scheduler;
pub(crate) mod template;

use crate::engine::Controller;

/// Every controller, in the order their keys are planned in.
pub(crate) const CONTROLLERS: &[Controller] = &[
    definition::CONTROLLER,
    node::CONTROLLER,
    deployment::CONTROLLER,
    replica_set::CONTROLLER,
    scheduler::CONTROLLER,
    kubelet::CONTROLLER,
];
