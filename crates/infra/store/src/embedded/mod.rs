//! The embedded engine: everything in memory, durable through a journal and a checkpoint in one directory.
//!
//! `DESIGN.md` beside this crate's manifest has the format, the invariants and the crash argument; comments that name
//! a case mean its list.

mod backup;
mod checkpoint;
mod checkpointer;
pub(crate) mod clock;
mod deadlines;
mod disk;
mod frame;
pub(crate) mod history;
mod journal;
pub(crate) mod ledger;
mod open;
pub(crate) mod published;
mod record;
mod segment;
mod shared;
pub(crate) mod state;
mod watch;
mod writer;

#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod fault;

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use bytes::Bytes;
use tokio::sync::{oneshot, watch as latest};

pub use self::backup::{BackupError, BackupSummary, RestoreError, inspect, restore};
pub use self::clock::{Clock, ManualClock};
pub use self::history::Retention;
pub use self::open::OpenError;
pub use self::watch::{Arrivals, EmbeddedWatch};

use self::checkpointer::{Checkpointer, Pending};
use self::clock::Ticker;
use self::disk::{Directory, Disk, Lock};
use self::ledger::Ledger;
use self::open::{Recovered, recover};
use self::shared::{Gather, Shared, Task};
use self::state::State;
use self::writer::Writer;
use crate::entry::Entry;
use crate::error::{CommitError, CompactError, ReadError, RenewError, WatchError};
use crate::key::{Key, Revision};
use crate::query::{Page, Query};
use crate::status::Status;
use crate::txn::{Committed, Txn};

/// How an embedded store behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// How much of the past is kept.
    pub retention: Retention,
    /// Where the time comes from.
    pub clock: Clock,
    /// The size of a journal segment, and how much the journal grows between two steps of the checkpoint. Larger
    /// values write less to the disk altogether and take longer to start.
    pub checkpoint_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            retention: Retention::default(),
            clock: Clock::System,
            checkpoint_bytes: 16 * 1024 * 1024,
        }
    }
}

/// A store in a directory of this machine. Clones are the same store; the last one to go closes it.
#[derive(Clone, Debug)]
pub struct Embedded {
    owner: Arc<Owner>,
}

/// Joins the writing thread, so that nothing outlives the store.
#[derive(Debug)]
struct Owner {
    shared: Arc<Shared>,
    writer: Mutex<Option<JoinHandle<()>>>,
    stopped: latest::Receiver<bool>,
}

impl Embedded {
    /// Opens the store in a directory, creating both if need be. Reads everything: call it where blocking is allowed.
    ///
    /// # Errors
    /// When another process has the store, or the directory holds something this version cannot take responsibility
    /// for; the message says what to do.
    pub fn open(path: &Path, options: Options) -> Result<Self, OpenError> {
        let directory = Directory::lock(path).map_err(OpenError::directory)?;
        let Some((directory, lock)) = directory else {
            return Err(OpenError::Locked {
                path: path.to_owned(),
            });
        };
        let disk: Arc<dyn Disk> = Arc::new(directory);
        let recovered = recover(&disk)?;
        Self::start(disk, Some(lock), recovered, options).map_err(OpenError::directory)
    }

    fn start(
        disk: Arc<dyn Disk>,
        lock: Option<Lock>,
        recovered: Recovered,
        options: Options,
    ) -> io::Result<Self> {
        let Recovered {
            meta,
            mut state,
            compacted,
            journal,
            checkpoint,
            renewed,
        } = recovered;
        let shared = Arc::new(Shared::new(state.clone(), Arc::clone(&disk)));
        let weak = Arc::downgrade(&shared);
        let ticker = Ticker::start(options.clock, move || {
            if let Some(shared) = weak.upgrade() {
                shared.nudge();
            }
        });
        let mut pending = Pending::default();
        renewed.into_iter().for_each(|key| pending.renew(key));
        // The clock may have gone back since the deadlines were written.
        state.cap_deadlines(ticker.now());
        let mut writer = Writer {
            shared: Arc::clone(&shared),
            absorbed: meta.revision,
            ledger: Ledger::new(state),
            journal,
            checkpointer: Checkpointer::start(disk, checkpoint)?,
            meta,
            pending,
            checkpointed: 0,
            checkpoint_bytes: options.checkpoint_bytes,
            retention: options.retention,
            ticker,
            gather: Gather::default(),
            frame: Vec::new(),
        };
        writer.resume(compacted);
        let (stop, stopped) = latest::channel(false);
        let guard = Guard {
            shared: Arc::clone(&shared),
            stop,
            lock,
        };
        let thread = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || {
                let guard = guard;
                writer.run();
                drop(guard);
            })?;
        Ok(Self {
            owner: Arc::new(Owner {
                shared,
                writer: Mutex::new(Some(thread)),
                stopped,
            }),
        })
    }

    /// What a key holds, now or at a revision.
    ///
    /// # Errors
    /// When the revision is compacted or in the future, or the store is closed.
    pub fn get(&self, key: &Key, at: Option<Revision>) -> Result<Option<Arc<Entry>>, ReadError> {
        self.readable()?.entry_at(key, at)
    }

    /// Entries of many keys, all as of one revision.
    ///
    /// # Errors
    /// When the revision is compacted or in the future, or the store is closed.
    pub fn range(&self, query: &Query) -> Result<Page, ReadError> {
        self.readable()?.page(query)
    }

    /// The newest revision.
    ///
    /// # Errors
    /// When the store is closed.
    pub fn revision(&self) -> Result<Revision, ReadError> {
        self.readable().map(|state| Revision(state.revision))
    }

    /// Performs a transaction and waits until it is durable. Once begun it may happen even if the future is dropped.
    ///
    /// # Errors
    /// See [`CommitError`]: only [`CommitError::Unknown`] leaves it open whether anything happened.
    pub async fn commit(&self, txn: Txn) -> Result<Committed, CommitError> {
        txn.validate()?;
        let (to, answer) = oneshot::channel();
        self.owner.shared.submit(Task::Commit(txn, to)).await?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// Gives a key its whole time to live again.
    ///
    /// # Errors
    /// When there is no such key, it has no limit, or the renewal could not be made durable.
    pub async fn renew(&self, key: Key) -> Result<(), RenewError> {
        let (to, answer) = oneshot::channel();
        self.owner.shared.submit(Task::Renew(key, to)).await?;
        answer.await.unwrap_or_else(|_| Err(stopped().into()))
    }

    /// Lets go of history before a revision, whose own state stays readable. Does nothing when that is so already.
    ///
    /// # Errors
    /// When the revision is in the future or the decision could not be made durable.
    pub async fn compact(&self, revision: Revision) -> Result<(), CompactError> {
        let (to, answer) = oneshot::channel();
        self.owner
            .shared
            .submit(Task::Compact(revision, to))
            .await?;
        answer.await.unwrap_or_else(|_| Err(stopped().into()))
    }

    /// Follows the changes to keys with a prefix after a revision.
    ///
    /// # Errors
    /// When those changes are no longer known, or the store is closed.
    pub fn watch(&self, prefix: Bytes, after: Revision) -> Result<EmbeddedWatch, WatchError> {
        if self.owner.shared.is_closing() {
            return Err(WatchError::Closed);
        }
        EmbeddedWatch::start(Arc::clone(&self.owner.shared.published), prefix, after)
    }

    /// The store at a glance. Looks at the sizes of its files.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn status(&self) -> Result<Status, ReadError> {
        let shared = &self.owner.shared;
        let state = self.readable()?;
        let disk_bytes = disk_bytes(&*shared.disk).map_err(|error| ReadError::Unavailable {
            source: Arc::new(error),
        })?;
        Ok(Status {
            revision: Revision(state.revision),
            compacted: Revision(state.history.compacted()),
            entries: u64::try_from(state.len()).ok(),
            disk_bytes,
            read_only: shared.read_only(),
        })
    }

    /// Writes everything as of one revision to a file or stream, while the store goes on. Blocks on the output.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn backup(&self, output: impl io::Write) -> Result<BackupSummary, BackupError> {
        backup::write(&self.owner.shared.published.state(), output)
    }

    /// Does what is queued, takes no more, ends all watches and gives the directory free.
    pub async fn close(&self) {
        self.owner.shared.close();
        let mut stopped = self.owner.stopped.clone();
        // An error means that the thread is gone, which is what we wait for.
        let _ = stopped.wait_for(|stopped| *stopped).await;
        self.owner.join();
    }

    fn readable(&self) -> Result<Arc<State>, ReadError> {
        if self.owner.shared.is_closing() {
            return Err(ReadError::Closed);
        }
        Ok(self.owner.shared.published.state())
    }
}

impl Owner {
    fn join(&self) {
        let writer = self
            .writer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(writer) = writer {
            // A panic was already turned into a read-only store by the guard.
            let _ = writer.join();
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.shared.close();
        self.join();
    }
}

/// Says that the writing thread is gone, however it went.
struct Guard {
    shared: Arc<Shared>,
    stop: latest::Sender<bool>,
    /// Given back only when nothing writes any more.
    lock: Option<Lock>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.shared.poison(
                "the writing thread failed; start again: what was acknowledged is safe".into(),
            );
        }
        self.shared.abandon();
        self.lock = None;
        self.stop.send_replace(true);
    }
}

/// The writer went away with the question.
fn stopped() -> CommitError {
    CommitError::Unknown {
        source: Arc::new(io::Error::other("the writing thread has stopped")),
    }
}

fn disk_bytes(disk: &dyn Disk) -> io::Result<u64> {
    let mut bytes = 0u64;
    for name in disk.list()? {
        match disk.open(&name).and_then(|file| file.len()) {
            Ok(len) => bytes = bytes.saturating_add(len),
            // A segment may be retired between listing and looking.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}
