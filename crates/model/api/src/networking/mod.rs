//! Kinds of `networking.karmada.io/v1alpha1`: traffic over several clusters.

mod ingress;
mod service;

pub use ingress::*;
pub use service::*;
