//! The controllers of a simulated cluster: one folder each, a pure plan and a thin shell.

pub(crate) mod autoscaler;
mod claim;
mod claim_protection;
pub(crate) mod cron_job;
pub(crate) mod daemon_set;
mod definition;
pub(crate) mod deployment;
pub(crate) mod disruption;
mod endpoint_mirror;
pub(crate) mod endpoints;
pub(crate) mod ephemeral_volume;
pub(crate) mod exposure;
pub(crate) mod job;
pub(crate) mod kubelet;
pub(crate) mod node;
pub(crate) mod pod_garbage;
mod policy;
pub(crate) mod quota;
mod registration;
pub(crate) mod replica_set;
mod revision;
pub(crate) mod scheduler;
mod slices;
pub(crate) mod stateful_set;
pub(crate) mod taint_eviction;
pub(crate) mod template;
pub(crate) mod volume;

use crate::engine::Controller;

/// Every controller, in the order their keys are planned in.
pub(crate) const CONTROLLERS: &[Controller] = &[
    definition::CONTROLLER,
    registration::CONTROLLER,
    policy::CONTROLLER,
    node::CONTROLLER,
    deployment::CONTROLLER,
    replica_set::CONTROLLER,
    replica_set::OLDER,
    stateful_set::CONTROLLER,
    daemon_set::CONTROLLER,
    job::CONTROLLER,
    cron_job::CONTROLLER,
    ephemeral_volume::CONTROLLER,
    volume::CONTROLLER,
    claim_protection::CONTROLLER,
    endpoints::CONTROLLER,
    endpoint_mirror::CONTROLLER,
    exposure::CONTROLLER,
    autoscaler::CONTROLLER,
    disruption::CONTROLLER,
    quota::CONTROLLER,
    taint_eviction::CONTROLLER,
    pod_garbage::CONTROLLER,
    scheduler::CONTROLLER,
    kubelet::CONTROLLER,
];
