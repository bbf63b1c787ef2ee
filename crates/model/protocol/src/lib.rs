//! What schedulers and estimators say to each other, as values and as bytes.
//!
//! An estimator stands beside a member and knows its nodes; schedulers ask it how much still fits, and the descheduler
//! which pods found no node. The protocol is the reference's: gRPC calls at the paths in [`path`], with the messages in
//! [`message`]. `scheduler` asks and `estimator` answers; what both need of the wire is here and nothing else.
//!
//! Entry points: [`Question`], the messages, `of` to make one from what a binding says, and `read` to get that back.
//!
//! Invariants: names, numbers and types of fields are the reference's. A writer fills the older typed fields as well as
//! the newer fields of bytes, and a reader prefers the bytes, so that either side may be of another age. What cannot be
//! read is an error that names the field, never a guess.
//!
//! Non-goals: calling anybody, and estimating.

mod kubernetes;
pub mod message;
mod question;
mod reading;
#[cfg(test)]
mod tests;
mod writing;

pub use prost::Message;

pub use crate::{question::Question, reading::ReadError};

/// Where calls go.
pub mod path {
    /// How many replicas fit.
    pub const MAX_REPLICAS: &str =
        "/github.com.karmada_io.karmada.pkg.estimator.service.Estimator/MaxAvailableReplicas";
    /// How many sets of components fit.
    pub const MAX_SETS: &str =
        "/github.com.karmada_io.karmada.pkg.estimator.service.Estimator/MaxAvailableComponentSets";
    /// How many pods of a workload found no node.
    pub const UNSCHEDULABLE: &str =
        "/github.com.karmada_io.karmada.pkg.estimator.service.Estimator/GetUnschedulableReplicas";
}

/// The header that says for whose sake is asked, for logs.
pub const OBJECT_HEADER: &str = "object";

/// What `OBJECT_HEADER` says of an object.
#[must_use]
pub fn object_note(kind: &str, namespace: &str, name: &str) -> String {
    format!("kind={kind}, name={namespace}/{name}")
}
