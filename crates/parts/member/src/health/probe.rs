//! What a probe's answer means.

use api::cluster::Cluster;
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

/// The reason of a cluster in whose place another one answers.
pub(crate) const IDENTITY_CHANGED: &str = "ClusterIdentityChanged";

/// The Ready condition of a cluster in whose place another one answers, with the id that was found there.
///
/// Upstream: whoever answers is believed to be the cluster that joined.
pub(crate) fn another(cluster: &Cluster, expected: &str, found: &str) -> Condition {
    let found = match found {
        "" => "has no namespace kube-system".to_owned(),
        id => format!("has the ID {id}"),
    };
    let endpoint = &cluster.spec.api_endpoint;
    Condition::new(
        READY,
        ConditionStatus::False,
        IDENTITY_CHANGED,
        format!(
            "another cluster answers at {endpoint}: it {found}, and the one that joined has the ID {expected}; nothing is written or deleted there until spec.apiEndpoint and the secret that spec.secretRef names lead to that one again; if it was made anew, unjoin it with --force and join it again"
        ),
    )
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
