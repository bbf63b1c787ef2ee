//! The reader's end of a watch: a bounded queue that `pump` fills.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::Shared;
use super::follow::{Follower, weight};
use super::pump::Pump;
use crate::error::{ReadError, WatchError};
use crate::key::Revision;
use crate::status::Notice;

/// How many notices wait for a reader at most, whatever their size.
const QUEUE: usize = 4096;

/// A watch on a store in etcd. Its task ends with it.
pub struct EtcdWatch {
    shared: Arc<Shared>,
    mailbox: Arc<Mailbox>,
    prefix: Bytes,
    /// Aborts the pump when it goes.
    _pump: JoinSet<()>,
}

impl fmt::Debug for EtcdWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdWatch")
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

impl EtcdWatch {
    pub(super) async fn start(
        shared: Arc<Shared>,
        prefix: Bytes,
        after: Revision,
    ) -> Result<Self, WatchError> {
        // etcd itself says only some time after a watch was begun that it cannot be.
        match shared.read(shared.nothing(), Some(after)).await {
            Ok(_) | Err(ReadError::Future { .. }) => {}
            Err(ReadError::Closed) => return Err(WatchError::Closed),
            Err(ReadError::Unavailable { source }) => {
                return Err(WatchError::Unavailable { source });
            }
            Err(ReadError::Compacted {
                requested,
                compacted,
            }) => {
                return Err(WatchError::Compacted {
                    requested,
                    compacted,
                });
            }
        }
        let follower = Follower::new(shared.layout.clone(), prefix.clone(), after);
        let mailbox = Arc::new(Mailbox::new(shared.watch_bytes));
        let mut pump = Pump::new(Arc::clone(&shared), Arc::clone(&mailbox), follower);
        let link = pump.first_link().await?;
        let mut tasks = JoinSet::new();
        tasks.spawn(pump.run(link));
        Ok(Self {
            shared,
            mailbox,
            prefix,
            _pump: tasks,
        })
    }

    /// Asks for a [`Notice::Progress`] once everything acknowledged before this call has been delivered.
    pub fn request_progress(&mut self) {
        let mut inbox = self.mailbox.lock();
        inbox.asked = inbox.asked.wrapping_add(1);
        drop(inbox);
        self.mailbox.to_pump.notify_one();
    }

    /// Waits for the next notice. Safe to cancel: nothing is lost by dropping the future.
    ///
    /// # Errors
    /// When the watch cannot go on; it then says so every time.
    pub async fn next(&mut self) -> Result<Notice, WatchError> {
        loop {
            if let Some(notice) = self.take()? {
                return Ok(notice);
            }
            self.mailbox.to_reader.notified().await;
        }
    }

    /// The next notice, if there is one already.
    ///
    /// # Errors
    /// When the watch cannot go on; it then says so every time.
    pub fn take(&mut self) -> Result<Option<Notice>, WatchError> {
        if self.shared.client.is_closed() {
            return Err(WatchError::Closed);
        }
        self.mailbox.take().transpose()
    }
}

/// What pump and reader share.
#[derive(Debug)]
pub(super) struct Mailbox {
    inbox: Mutex<Inbox>,
    limit: usize,
    to_reader: Notify,
    to_pump: Notify,
}

#[derive(Debug, Default)]
struct Inbox {
    /// Bounded by [`QUEUE`] and the limit of bytes; when full, the pump gives its stream up until this is empty.
    queue: VecDeque<(Notice, usize)>,
    bytes: usize,
    /// Counts requests for progress.
    asked: u64,
    ended: Option<WatchError>,
}

impl Mailbox {
    fn new(limit: usize) -> Self {
        Self {
            inbox: Mutex::default(),
            limit,
            to_reader: Notify::new(),
            to_pump: Notify::new(),
        }
    }

    /// Hands a notice to the reader. Says whether there is room for more.
    pub(super) fn push(&self, notice: Notice) -> bool {
        let bytes = match &notice {
            Notice::Changes(changes) => weight(changes),
            Notice::Progress(_) => 0,
        };
        let mut inbox = self.lock();
        inbox.bytes = inbox.bytes.saturating_add(bytes);
        inbox.queue.push_back((notice, bytes));
        let room = inbox.bytes < self.limit && inbox.queue.len() < QUEUE;
        drop(inbox);
        self.to_reader.notify_one();
        room
    }

    /// Tells the reader that nothing follows. The first reason stays.
    pub(super) fn end(&self, error: WatchError) {
        self.lock().ended.get_or_insert(error);
        self.to_reader.notify_one();
    }

    /// How often progress was asked for.
    pub(super) fn asked(&self) -> u64 {
        self.lock().asked
    }

    /// Waits until the reader has done something: asked for progress, or emptied the queue.
    pub(super) async fn changed(&self) {
        self.to_pump.notified().await;
    }

    /// Waits until the reader has taken everything.
    pub(super) async fn emptied(&self) {
        while !self.lock().queue.is_empty() {
            self.to_pump.notified().await;
        }
    }

    fn take(&self) -> Option<Result<Notice, WatchError>> {
        let mut inbox = self.lock();
        let Some((notice, bytes)) = inbox.queue.pop_front() else {
            return inbox.ended.clone().map(Err);
        };
        inbox.bytes = inbox.bytes.saturating_sub(bytes);
        if inbox.queue.is_empty() {
            self.to_pump.notify_one();
        }
        Some(Ok(notice))
    }

    fn lock(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
