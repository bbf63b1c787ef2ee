//! Kinds of `autoscaling.karmada.io/v1alpha1`: scaling over all clusters together.

mod cron;
mod federated;

pub use cron::*;
pub use federated::*;
