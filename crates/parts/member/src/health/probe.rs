//! What a probe's answer means.

use api::well_known::conditions::cluster::{
    CLUSTER_NOT_REACHABLE, CLUSTER_NOT_READY, CLUSTER_READY, READY, STATUS_COLLECTION_FAILED,
};
use object::condition::{Condition, ConditionStatus};

/// What came back from a member's health endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// This HTTP status.
    Status(u16),
    /// Nothing.
    Silence,
}

/// The Ready condition that follows.
///
/// Upstream: an answer outside 2xx counts as no answer at all, so that a member that says it is not ready is reported as
/// not reachable. Here a member that does not take the credentials, such as one that was set up anew, is told apart in the
/// message.
pub(crate) fn condition(answer: Answer) -> Condition {
    let (status, reason, message) = match answer {
        Answer::Status(200) => (
            ConditionStatus::True,
            CLUSTER_READY,
            "cluster is healthy and ready to accept workloads",
        ),
        Answer::Status(201..=299) => (
            ConditionStatus::False,
            CLUSTER_NOT_READY,
            "cluster is reachable but health endpoint responded without ok",
        ),
        Answer::Status(401) => (
            ConditionStatus::False,
            CLUSTER_NOT_REACHABLE,
            "cluster is not reachable: it does not know the credentials of the control plane any more; put a good token into the secret that spec.secretRef names, or unjoin the cluster with --force and join it again",
        ),
        Answer::Status(403) => (
            ConditionStatus::False,
            CLUSTER_NOT_REACHABLE,
            "cluster is not reachable: the account of the control plane may not ask whether it is well; give it back its role, or unjoin the cluster with --force and join it again",
        ),
        Answer::Status(_) | Answer::Silence => (
            ConditionStatus::False,
            CLUSTER_NOT_REACHABLE,
            "cluster is not reachable",
        ),
    };
    Condition::new(READY, status, reason, message)
}

/// The Ready condition of a member that cannot even be called.
pub(crate) fn unconnected(problem: &str) -> Condition {
    Condition::new(
        READY,
        ConditionStatus::False,
        STATUS_COLLECTION_FAILED,
        format!("failed to create a ClusterClient: {problem}"),
    )
}
