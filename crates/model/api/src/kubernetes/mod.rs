//! The pieces of Kubernetes' own API that the multi-cluster kinds are built from.
//!
//! Only what some kind here embeds: tolerations and node selectors, ingress rules, service status, and the metric
//! vocabulary of autoscaling/v2. Whole Kubernetes objects are templates and stay dynamic.

pub mod autoscaling;
pub mod ingress;
pub mod scheduling;
pub mod service;

use std::collections::BTreeMap;

use object::quantity::Quantity;

/// Amounts by resource name, for example `cpu: 500m`, `memory: 1Gi`, `nvidia.com/gpu: 1`.
pub type ResourceList = BTreeMap<String, Quantity>;
