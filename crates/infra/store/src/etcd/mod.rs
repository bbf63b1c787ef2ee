//! A store in etcd: the same promises as the embedded one, kept by a cluster of machines.
//!
//! Revisions are etcd's own, transactions are its transactions, a time to live is a lease. The client is ours
//! (`docs/adr/0008-own-etcd-client.md`): `proto` has the messages, `client` sends them to whichever member answers,
//! `trouble` tells failures apart. On these stand `read`, `write`, `lease` and `compaction`, and the watch: `link`
//! opens a stream, `follow` turns what it brings into whole transactions, `pump` keeps it going across failures and
//! `watch` is the reader's end.

mod auth;
mod client;
mod compaction;
mod follow;
mod layout;
mod lease;
mod link;
mod options;
mod proto;
mod pump;
mod read;
mod trouble;
mod version;
mod watch;
mod write;

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

pub use self::options::{OpenError, Options, Tls, User};
pub use self::trouble::EtcdError;
pub use self::watch::EtcdWatch;

use self::client::{Client, Purpose};
use self::layout::Layout;
use self::proto::{StatusRequest, StatusResponse, path};
use self::trouble::Trouble;
use self::version::Version;
use crate::entry::Entry;
use crate::error::{CommitError, CompactError, ReadError, RenewError, WatchError};
use crate::key::{Key, Revision};
use crate::query::{Page, Query};
use crate::status::Status;
use crate::txn::{Committed, Txn};

/// How many leases may wait to be given back. When more do they are forgotten, and end with their time.
const SWEEP_QUEUE: usize = 1024;

/// A store below a prefix of an etcd. Clones are the same store; it closes when the last one goes.
#[derive(Clone, Debug)]
pub struct Etcd {
    owner: Arc<Owner>,
}

/// Ends the store's own task with the store.
#[derive(Debug)]
struct Owner {
    shared: Arc<Shared>,
    /// Aborts what it holds when it goes.
    _tasks: JoinSet<()>,
}

/// What operations and watches need.
#[derive(Debug)]
struct Shared {
    client: Client,
    layout: Layout,
    watch_bytes: usize,
    /// Leases that nothing needs any more.
    spent: mpsc::Sender<i64>,
}

impl Etcd {
    /// Connects, proves who we are and makes sure that etcd is one we can use.
    ///
    /// # Errors
    /// When no member answers as it should; the message says what to do.
    pub async fn connect(options: Options) -> Result<Self, OpenError> {
        let client = Client::new(&options)?;
        let open = |trouble: Trouble| OpenError::Etcd {
            source: trouble.into_error(),
        };
        let place = client.place();
        match client.refresh_token(place).await {
            // The first member may be down: a call finds another, and asks that for a token when it must.
            Ok(()) | Err(Trouble::Unsent(_) | Trouble::Lost(_)) => {}
            Err(trouble) => return Err(open(trouble)),
        }
        let status: StatusResponse = client
            .call(path::STATUS, StatusRequest {}, Purpose::Repeatable)
            .await
            .map_err(open)?;
        let place = client.place();
        let Some(version) =
            Version::parse(&status.version).filter(|version| version.is_supported())
        else {
            return Err(OpenError::Version {
                endpoint: client.endpoint(place).to_owned(),
                version: status.version,
            });
        };
        if !version.tells_progress() {
            tracing::warn!(
                %version,
                "this etcd cannot tell how far a watch has come, so watches read everything below the prefix; \
                 3.4.31, 3.5.13 and later can"
            );
        }
        let (spent, queue) = mpsc::channel(SWEEP_QUEUE);
        let shared = Arc::new(Shared {
            client,
            layout: Layout::below(&options.prefix),
            watch_bytes: options.watch_bytes,
            spent,
        });
        // Reading proves that the user may do so, before anyone relies on it.
        shared.revision().await.map_err(|error| OpenError::Etcd {
            source: unwrap_cause(error),
        })?;
        let mut tasks = JoinSet::new();
        tasks.spawn(lease::sweep(Arc::downgrade(&shared), queue));
        Ok(Self {
            owner: Arc::new(Owner {
                shared,
                _tasks: tasks,
            }),
        })
    }

    /// What a key holds, now or at a revision.
    ///
    /// # Errors
    /// When the revision is compacted or in the future, or etcd does not answer.
    pub async fn get(
        &self,
        key: &Key,
        at: Option<Revision>,
    ) -> Result<Option<Arc<Entry>>, ReadError> {
        self.shared().get(key, at).await
    }

    /// Entries of many keys, all as of one revision.
    ///
    /// # Errors
    /// When the revision is compacted or in the future, or etcd does not answer.
    pub async fn range(&self, query: &Query) -> Result<Page, ReadError> {
        self.shared().range(query).await
    }

    /// The newest revision.
    ///
    /// # Errors
    /// When etcd does not answer.
    pub async fn revision(&self) -> Result<Revision, ReadError> {
        self.shared().revision().await
    }

    /// Performs a transaction. Once begun it may happen even if the future is dropped.
    ///
    /// # Errors
    /// See [`CommitError`]: only [`CommitError::Unknown`] leaves it open whether anything happened.
    pub async fn commit(&self, txn: Txn) -> Result<Committed, CommitError> {
        self.shared().commit(txn).await
    }

    /// Gives a key its whole time to live again.
    ///
    /// # Errors
    /// When there is no such key, it has no limit, or etcd does not answer.
    pub async fn renew(&self, key: &Key) -> Result<(), RenewError> {
        self.shared().renew(key).await
    }

    /// Lets etcd forget history before a revision, for all its tenants.
    ///
    /// # Errors
    /// When the revision is in the future or etcd does not answer.
    pub async fn compact(&self, revision: Revision) -> Result<(), CompactError> {
        self.shared().compact(revision).await
    }

    /// Follows the changes to keys with a prefix after a revision, across failures of members and connections.
    ///
    /// # Errors
    /// When those changes are no longer known, or etcd does not answer.
    pub async fn watch(&self, prefix: Bytes, after: Revision) -> Result<EtcdWatch, WatchError> {
        EtcdWatch::start(Arc::clone(self.shared()), prefix, after).await
    }

    /// The store at a glance, as the member in use sees it; alarms are those of all members.
    ///
    /// # Errors
    /// When etcd does not answer.
    pub async fn status(&self) -> Result<Status, ReadError> {
        self.shared().status().await
    }

    /// Takes no more requests and ends all watches. What is under way goes on.
    pub async fn close(&self) {
        self.shared().client.close();
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.owner.shared
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.shared.client.close();
    }
}

/// The cause inside a failed read.
fn unwrap_cause(error: ReadError) -> EtcdError {
    let ReadError::Unavailable { source } = &error else {
        return Trouble::Closed.into_error();
    };
    source
        .downcast_ref::<EtcdError>()
        .cloned()
        .unwrap_or_else(|| Trouble::Closed.into_error())
}
