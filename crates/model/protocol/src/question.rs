//! What can be asked.

use crate::{
    message::{MaxReplicasRequest, MaxSetsRequest, UnschedulableRequest},
    path,
};

/// A question to the estimator of one cluster.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// How many replicas fit?
    Replicas(MaxReplicasRequest),
    /// How many sets of components fit?
    Sets(MaxSetsRequest),
    /// How many pods found no node?
    Unschedulable(UnschedulableRequest),
}

impl Question {
    /// Its name among the calls.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Replicas(_) => "MaxAvailableReplicas",
            Self::Sets(_) => "MaxAvailableComponentSets",
            Self::Unschedulable(_) => "GetUnschedulableReplicas",
        }
    }

    /// Where the call goes.
    #[must_use]
    pub fn path(&self) -> &'static str {
        match self {
            Self::Replicas(_) => path::MAX_REPLICAS,
            Self::Sets(_) => path::MAX_SETS,
            Self::Unschedulable(_) => path::UNSCHEDULABLE,
        }
    }

    /// The cluster that is meant.
    #[must_use]
    pub fn cluster(&self) -> &str {
        match self {
            Self::Replicas(asked) => &asked.cluster,
            Self::Sets(asked) => &asked.cluster,
            Self::Unschedulable(asked) => &asked.cluster,
        }
    }
}
