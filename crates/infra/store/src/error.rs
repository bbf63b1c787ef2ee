//! How operations fail. Each operation has its own enum; all are cheap to clone, because one failed sync answers many.

use std::error::Error;
use std::sync::Arc;

use crate::key::{Key, Revision};
use crate::txn::{Conflict, TxnError};

/// What lies under a failure.
pub type Cause = Arc<dyn Error + Send + Sync>;

/// Why nothing was read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    /// The state asked for is no longer known: read the newest.
    #[error("revision {requested} has been compacted; the oldest readable revision is {compacted}")]
    Compacted {
        /// What was asked for.
        requested: Revision,
        /// The oldest revision whose state is known.
        compacted: Revision,
    },
    /// The state asked for does not exist yet.
    #[error("revision {requested} is in the future; the current revision is {current}")]
    Future {
        /// What was asked for.
        requested: Revision,
        /// The newest there is.
        current: Revision,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// The store cannot answer now. Worth trying again.
    #[error("the store cannot be read")]
    Unavailable {
        /// What went wrong.
        source: Cause,
    },
}

/// Why a transaction did not succeed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CommitError {
    /// A check did not hold; nothing happened.
    #[error("key {} is not in the expected state", .0.check.key)]
    Conflict(Box<Conflict>),
    /// The transaction breaks a rule; nothing happened.
    #[error("the transaction is not valid")]
    Invalid(#[from] TxnError),
    /// The store takes no writes, and says why; nothing happened.
    #[error("the store takes no more writes: {reason}")]
    ReadOnly {
        /// What happened and what to do about it.
        reason: Arc<str>,
    },
    /// The store was closed before the transaction was looked at; nothing happened.
    #[error("the store is closed")]
    Closed,
    /// The store cannot take the transaction now; nothing happened. Worth trying again.
    #[error("the store cannot be written")]
    Unavailable {
        /// What went wrong.
        source: Cause,
    },
    /// The transaction was under way when something broke: it may or may not have happened. Read before trying again.
    #[error("it is not known whether the transaction was kept")]
    Unknown {
        /// What went wrong.
        source: Cause,
    },
}

/// Why a key was not given more time.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RenewError {
    /// There is no such key: it was deleted or has expired.
    #[error("key {key} does not exist")]
    Missing {
        /// The key.
        key: Key,
    },
    /// The key was put without a time to live.
    #[error("key {key} has no time to live")]
    Lasting {
        /// The key.
        key: Key,
    },
    /// The renewal could not be written.
    #[error("the time to live could not be renewed")]
    Commit(#[from] CommitError),
}

/// Why a watch ended.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WatchError {
    /// The watch asked for changes that are no longer known: read the newest state and watch after it.
    #[error(
        "changes after revision {requested} have been compacted; the oldest revision to watch after is {compacted}"
    )]
    Compacted {
        /// Where the watch wanted to begin.
        requested: Revision,
        /// The oldest revision a watch can begin after.
        compacted: Revision,
    },
    /// The reader was so slow that changes it had not taken were let go: read the newest state and watch after it.
    #[error(
        "the watch fell behind: changes after revision {seen} are gone, the history begins after {compacted}"
    )]
    FellBehind {
        /// Up to where everything was delivered.
        seen: Revision,
        /// The oldest revision a watch can begin after.
        compacted: Revision,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// The store cannot be reached; a watch after the last delivered revision continues without gap.
    #[error("the watch was interrupted")]
    Unavailable {
        /// What went wrong.
        source: Cause,
    },
}

/// Why history was not let go.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CompactError {
    /// That revision does not exist yet.
    #[error("revision {requested} is in the future; the current revision is {current}")]
    Future {
        /// What was asked for.
        requested: Revision,
        /// The newest there is.
        current: Revision,
    },
    /// The decision could not be written.
    #[error("the compaction could not be recorded")]
    Commit(#[from] CommitError),
}
