//! What can go wrong between us and etcd, told apart by what it means for the caller.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use tonic::{Code, ConnectError, Status};

use crate::error::{CommitError, ReadError, WatchError};
use crate::txn::TxnError;

/// Why etcd did not do what it was asked. Found as the source of the store's errors.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EtcdError {
    /// No connection could be made.
    #[error("cannot connect to etcd at {endpoint}: {detail}")]
    Unreachable {
        /// Where it was tried last.
        endpoint: Arc<str>,
        /// What the network or TLS said.
        detail: Arc<str>,
    },
    /// The member asked knows of no leader: the cluster has lost its quorum, or the member is cut off from it.
    #[error(
        "etcd at {endpoint} has no leader: a majority of the members must be running and reach each other"
    )]
    NoLeader {
        /// Who said so.
        endpoint: Arc<str>,
    },
    /// There was no answer in time.
    #[error("etcd did not answer within {waited:?}")]
    TimedOut {
        /// How long was waited.
        waited: Duration,
    },
    /// More requests were under way than allowed, for longer than a request may take.
    #[error("too many requests to etcd are under way")]
    Busy,
    /// The user or the password is wrong, or etcd wants one and none is set.
    #[error("etcd at {endpoint} does not accept the user and password: {detail}")]
    Credentials {
        /// Who said so.
        endpoint: Arc<str>,
        /// What it said.
        detail: Arc<str>,
    },
    /// The user may not do this.
    #[error(
        "etcd denies access: grant the user's role readwrite permission for everything that begins with the prefix, which is to be named without its last slash"
    )]
    Denied,
    /// The answer came from another cluster than the first one.
    #[error(
        "etcd at {endpoint} belongs to another cluster than before: revisions cannot be compared; check the endpoints, and start again if etcd was restored or replaced"
    )]
    OtherCluster {
        /// Who answered.
        endpoint: Arc<str>,
    },
    /// Anything else, in etcd's words.
    #[error("etcd at {endpoint} answered {code:?}: {detail}")]
    Other {
        /// Who said so.
        endpoint: Arc<str>,
        /// The kind of failure.
        code: Code,
        /// What it said.
        detail: Arc<str>,
    },
}

/// What a failed call means.
#[derive(Debug, Clone)]
pub(super) enum Trouble {
    /// It did not happen; another member, or the same one later, may well do it.
    Unsent(EtcdError),
    /// It may or may not have happened.
    Lost(EtcdError),
    /// It did not happen, and trying again will not help.
    Refused(EtcdError),
    /// It did not happen: our token is no longer good.
    StaleToken(EtcdError),
    /// It did not happen: etcd's disk quota is used up.
    Full,
    /// It did not happen: etcd found its members to differ and takes no writes.
    Corrupt,
    /// It did not happen: more than this etcd takes at once.
    TooLarge(Arc<str>),
    /// It did not happen: that revision is compacted.
    Compacted,
    /// It did not happen: that revision is yet to come.
    Future,
    /// It did not happen: there is no such lease.
    NoLease,
    /// It did not happen: there is such a lease already.
    LeaseExists,
    /// It did not happen: authentication is switched off, so no token is needed.
    AuthOff,
    /// The store was closed.
    Closed,
}

/// Reads what etcd or the connection to it said. etcd tells most things apart by their text alone.
pub(super) fn classify(endpoint: &Arc<str>, status: &Status) -> Trouble {
    let endpoint = Arc::clone(endpoint);
    let message = status.message();
    let says = |text: &str| message.contains(text);
    let detail = || Arc::from(message);
    if let Some(connect) = connect_error(status) {
        let detail = innermost(connect).to_string().into();
        return Trouble::Unsent(EtcdError::Unreachable { endpoint, detail });
    }
    match status.code() {
        Code::OutOfRange if says("has been compacted") => Trouble::Compacted,
        Code::OutOfRange if says("future revision") => Trouble::Future,
        Code::Unavailable if says("no leader") => Trouble::Unsent(EtcdError::NoLeader { endpoint }),
        Code::ResourceExhausted if says("space exceeded") => Trouble::Full,
        Code::ResourceExhausted if says("too many requests") => Trouble::Unsent(EtcdError::Busy),
        // The gRPC layer of etcd refuses the largest requests before etcd itself sees them.
        Code::ResourceExhausted if says("larger than max") => Trouble::TooLarge(detail()),
        Code::InvalidArgument if says("too large") || says("too many operations") => {
            Trouble::TooLarge(detail())
        }
        Code::DataLoss => Trouble::Corrupt,
        Code::Unauthenticated => Trouble::StaleToken(EtcdError::Credentials {
            detail: detail(),
            endpoint,
        }),
        // The latter when authentication was switched on after we had come without a token.
        Code::InvalidArgument if says("auth store is old") || says("user name is empty") => {
            Trouble::StaleToken(EtcdError::Credentials {
                detail: detail(),
                endpoint,
            })
        }
        Code::InvalidArgument if says("authentication failed") => {
            Trouble::Refused(EtcdError::Credentials {
                detail: detail(),
                endpoint,
            })
        }
        Code::FailedPrecondition if says("authentication is not enabled") => Trouble::AuthOff,
        Code::PermissionDenied => Trouble::Refused(EtcdError::Denied),
        Code::NotFound if says("lease not found") => Trouble::NoLease,
        Code::FailedPrecondition if says("lease already exists") => Trouble::LeaseExists,
        Code::InvalidArgument | Code::Unimplemented => Trouble::Refused(EtcdError::Other {
            endpoint,
            code: status.code(),
            detail: detail(),
        }),
        // A broken connection, a lost leader, a timeout inside etcd: the request was under way.
        code => Trouble::Lost(EtcdError::Other {
            endpoint,
            code,
            detail: detail(),
        }),
    }
}

/// What an operator is told when etcd's quota is used up.
pub(super) const FULL: &str = "etcd's space quota is used up; compact its history (etcdctl compact), defragment each member (etcdctl defrag), then clear the alarm (etcdctl alarm disarm), or raise --quota-backend-bytes";

/// What an operator is told when etcd's members differ.
pub(super) const CORRUPT: &str = "etcd raised its corruption alarm because its members differ; find the damaged member, replace it, then clear the alarm (etcdctl alarm disarm)";

impl Trouble {
    /// The cause to show, for troubles that have no meaning of their own to the caller.
    pub(super) fn into_error(self) -> EtcdError {
        let other = |detail: &str| EtcdError::Other {
            endpoint: "any".into(),
            code: Code::Unknown,
            detail: detail.into(),
        };
        match self {
            Self::Unsent(error)
            | Self::Lost(error)
            | Self::Refused(error)
            | Self::StaleToken(error) => error,
            Self::Full => other(FULL),
            Self::Corrupt => other(CORRUPT),
            Self::TooLarge(detail) => other(&detail),
            Self::Compacted => other("the revision has been compacted"),
            Self::Future => other("the revision is in the future"),
            Self::NoLease => other("there is no such lease"),
            Self::LeaseExists => other("there is such a lease already"),
            Self::AuthOff => other("authentication is not enabled"),
            Self::Closed => other("the store is closed"),
        }
    }

    /// The failure of a read. Compacted and future revisions are told by the caller, who knows the numbers.
    pub(super) fn into_read_error(self) -> ReadError {
        match self {
            Self::Closed => ReadError::Closed,
            other => ReadError::Unavailable {
                source: Arc::new(other.into_error()),
            },
        }
    }

    /// The failure of a write.
    pub(super) fn into_commit_error(self) -> CommitError {
        match self {
            Self::Closed => CommitError::Closed,
            Self::Full => CommitError::ReadOnly {
                reason: FULL.into(),
            },
            Self::Corrupt => CommitError::ReadOnly {
                reason: CORRUPT.into(),
            },
            Self::TooLarge(detail) => CommitError::Invalid(TxnError::Refused { detail }),
            Self::Refused(error @ EtcdError::Denied) => CommitError::ReadOnly {
                reason: error.to_string().into(),
            },
            Self::Lost(error) => CommitError::Unknown {
                source: Arc::new(error),
            },
            other => CommitError::Unavailable {
                source: Arc::new(other.into_error()),
            },
        }
    }

    /// The failure of a watch. Compaction is told by the caller, who knows the numbers.
    pub(super) fn into_watch_error(self) -> WatchError {
        match self {
            Self::Closed => WatchError::Closed,
            other => WatchError::Unavailable {
                source: Arc::new(other.into_error()),
            },
        }
    }
}

/// Whether the connection could not even be made, so that nothing was sent.
fn connect_error(status: &Status) -> Option<&(dyn Error + 'static)> {
    let mut cause = status.source();
    while let Some(error) = cause {
        if error.is::<ConnectError>() {
            return Some(error);
        }
        cause = error.source();
    }
    None
}

/// The end of a chain: the layers above it only repeat that something failed.
fn innermost<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One word for what a status means to a writer.
    fn meaning(code: Code, message: &str) -> &'static str {
        let endpoint = Arc::from("e");
        match classify(&endpoint, &Status::new(code, message)).into_commit_error() {
            CommitError::Conflict(_) => "conflict",
            CommitError::Invalid(_) => "invalid",
            CommitError::ReadOnly { .. } => "read-only",
            CommitError::Closed => "closed",
            CommitError::Unavailable { .. } => "unavailable",
            CommitError::Unknown { .. } => "unknown",
        }
    }

    #[test]
    fn only_what_surely_did_not_happen_is_told_so() {
        let cases = [
            (Code::Unavailable, "etcdserver: no leader", "unavailable"),
            (Code::Unavailable, "etcdserver: leader changed", "unknown"),
            (
                Code::Unavailable,
                "etcdserver: request timed out",
                "unknown",
            ),
            (Code::Unavailable, "etcdserver: server stopped", "unknown"),
            (
                Code::Unavailable,
                "error reading a body from connection",
                "unknown",
            ),
            (
                Code::DeadlineExceeded,
                "context deadline exceeded",
                "unknown",
            ),
            (Code::Cancelled, "operation was canceled", "unknown"),
            (Code::Internal, "h2 protocol error", "unknown"),
            (
                Code::ResourceExhausted,
                "etcdserver: too many requests",
                "unavailable",
            ),
            (
                Code::ResourceExhausted,
                "etcdserver: mvcc: database space exceeded",
                "read-only",
            ),
            (Code::DataLoss, "etcdserver: corrupt cluster", "read-only"),
            (
                Code::PermissionDenied,
                "etcdserver: permission denied",
                "read-only",
            ),
            (
                Code::InvalidArgument,
                "etcdserver: request is too large",
                "invalid",
            ),
            (
                Code::InvalidArgument,
                "etcdserver: too many operations in txn request",
                "invalid",
            ),
            (
                Code::ResourceExhausted,
                "grpc: received message larger than max (3 vs. 2)",
                "invalid",
            ),
            (
                Code::Unauthenticated,
                "etcdserver: invalid auth token",
                "unavailable",
            ),
            (
                Code::InvalidArgument,
                "etcdserver: authentication failed, invalid user ID or password",
                "unavailable",
            ),
        ];
        for (code, message, expected) in cases {
            assert_eq!(meaning(code, message), expected, "{message}");
        }
    }

    #[test]
    fn an_operator_is_told_what_to_do_about_a_full_etcd() {
        for step in ["compact", "defrag", "disarm", "--quota-backend-bytes"] {
            assert!(FULL.contains(step), "{step}");
        }
    }
}
