//! Rules for Kubernetes' own kinds, one file for each.
//!
//! A kind is a row of [`KINDS`]: a function for each operation it has a rule for. Status is reflected for every kind
//! there is: where no rule says which part, the whole of it.

mod certificates;
pub(crate) mod counters;
mod cron_job;
pub(crate) mod daemon_set;
mod deployment;
mod disruption_budget;
mod entry_points;
mod horizontal_pod_autoscaler;
mod ingress;
mod job;
mod job_status;
mod phases;
mod pods;
mod replica_set;
mod secret;
mod service;
mod service_account;
mod service_import;
mod stateful_set;
mod volumes;
pub(crate) mod workload;

use crate::{
    kind::KindRef,
    table::{KindRules, Table, put, reflect_whole, reported, take},
};

/// What the native rules are told by configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The feature gate `ResourceQuotaEstimate`: say which namespace and priority class replicas have.
    pub resource_quota_estimate: bool,
}

/// The rules for Kubernetes' own kinds.
#[derive(Clone, Copy, Debug)]
pub struct Native;

const KINDS: [&KindRules; 20] = [
    &deployment::RULES,
    &replica_set::RULES,
    &stateful_set::RULES,
    &daemon_set::RULES,
    &job::RULES,
    &cron_job::RULES,
    &pods::RULES,
    &service::RULES,
    &service_account::RULES,
    &secret::RULES,
    &volumes::CLAIM_RULES,
    &volumes::VOLUME_RULES,
    &ingress::RULES,
    &disruption_budget::RULES,
    &horizontal_pod_autoscaler::RULES,
    &service_import::RULES,
    &certificates::MUTATING_WEBHOOKS,
    &certificates::VALIDATING_WEBHOOKS,
    &certificates::CUSTOM_RESOURCE,
    &certificates::API_SERVICE,
];

impl Native {
    /// The kinds that have rules.
    pub fn kinds() -> impl Iterator<Item = KindRef<'static>> {
        KINDS.into_iter().map(|rules| rules.kind)
    }

    pub(crate) fn table(options: Options) -> Table {
        Table {
            kinds: &KINDS,
            reflects_all: true,
            options,
        }
    }
}
