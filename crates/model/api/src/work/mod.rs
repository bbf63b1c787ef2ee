//! Kinds of `work.karmada.io`: what is to run where (bindings), and what is sent to one cluster (works).
//!
//! Bindings are stored as `v1alpha2`; `v1alpha1` is an older view of them that is still served. Works exist only as
//! `v1alpha1`.

pub mod conversion;
pub mod placing;
pub mod v1alpha1;
pub mod v1alpha2;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a copy in a cluster is doing, as the interpreter of its kind sees it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum ResourceHealth {
    /// It does what it should.
    Healthy,
    /// It does not.
    Unhealthy,
    /// Nobody can say: the kind has no health rule, or the rule gave no answer.
    Unknown,
}
