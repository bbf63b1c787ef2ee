//! The pages that are made for a kind each.
//!
//! Upstream: sections, labels and their order are those of `kubectl describe`, so that eyes and scripts find what they know.

pub(super) mod account;
pub(super) mod bounds;
pub(super) mod deployment;
pub(super) mod endpoint_slice;
pub(super) mod entries;
pub(super) mod ingress;
pub(super) mod jobs;
pub(super) mod namespace;
pub(super) mod node;
pub(super) mod pod;
pub(super) mod scaling;
pub(super) mod service;
pub(super) mod storage;
pub(super) mod workloads;
