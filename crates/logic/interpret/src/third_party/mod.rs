//! Rules for other people's kinds, one file for each family.
//!
//! A kind is a row of [`KINDS`], like a native one, and its cases lie under `cases/`. What several families share has a
//! file of its own: [`fold`] for statuses whose fields are brought together one by one, [`conditions`] for conditions
//! from several members, [`groups`] for templates with several kinds of pod.

mod conditions;
mod flink;
mod flux;
mod fold;
mod groups;
mod kruise;
mod kruise_jobs;
mod kyverno;
mod memory;
mod notebook;
mod ray;
mod ray_service;
mod sidecar_set;
mod spark;
mod training;
mod volcano;
mod workflow;

use crate::{
    kind::KindRef,
    native::Options,
    table::{KindRules, Table},
};

/// The rules for other people's kinds.
#[derive(Clone, Copy, Debug)]
pub struct ThirdParty;

const KINDS: [&KindRules; 27] = [
    &kruise_jobs::ADVANCED_CRON_JOB,
    &kruise_jobs::BROADCAST_JOB,
    &kruise::CLONE_SET,
    &kruise::DAEMON_SET,
    &sidecar_set::RULES,
    &kruise::UNITED_DEPLOYMENT,
    &kruise::STATEFUL_SET,
    &workflow::RULES,
    &volcano::RULES,
    &flink::RULES,
    &flux::HELM_RELEASE,
    &notebook::RULES,
    &training::PYTORCH_JOB,
    &training::TF_JOB,
    &training::MPI_JOB,
    &flux::KUSTOMIZATION,
    &kyverno::CLUSTER_POLICY,
    &kyverno::POLICY,
    &ray::CLUSTER,
    &ray::JOB,
    &ray_service::RULES,
    &flux::GIT_REPOSITORY,
    &flux::BUCKET,
    &flux::HELM_CHART,
    &flux::HELM_REPOSITORY,
    &flux::OCI_REPOSITORY,
    &spark::RULES,
];

impl ThirdParty {
    /// The kinds that have rules.
    pub fn kinds() -> impl Iterator<Item = KindRef<'static>> {
        KINDS.into_iter().map(|rules| rules.kind)
    }

    pub(crate) fn table(options: Options) -> Table {
        Table {
            kinds: &KINDS,
            reflects_all: false,
            options,
        }
    }
}
