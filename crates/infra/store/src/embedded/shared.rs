//! What readers, watchers, callers and the writer share.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::embedded::disk::Disk;
use crate::embedded::published::Published;
use crate::embedded::state::State;
use crate::error::{CommitError, CompactError, RenewError};
use crate::key::{Key, Revision};
use crate::txn::{Committed, Txn};

/// How many KiB of transactions may be queued; when they are, callers wait.
const QUEUE_KIB: u32 = 64 * 1024;

/// The state and the ways to it. Locks are held for a few lines only, never while waiting for a disk.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) published: Arc<Published>,
    queue: Mutex<Queue>,
    ready: Condvar,
    room: Arc<Semaphore>,
    /// Why no writes are taken any more. Set once, for good.
    read_only: OnceLock<Arc<str>>,
    pub(crate) disk: Arc<dyn Disk>,
}

#[derive(Debug, Default)]
struct Queue {
    commands: VecDeque<Command>,
    closing: bool,
    nudged: bool,
    /// How many commands are worth waking the writer for; 0 is as good as 1.
    wanted: usize,
}

impl Queue {
    fn is_quiet(&self) -> bool {
        self.commands.is_empty() && !self.closing && !self.nudged
    }
}

/// How long to wait for company once there is a command.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gather {
    /// With so many commands there is no need to wait.
    pub(crate) count: usize,
    pub(crate) time: Duration,
}

/// Something for the writer to do.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) task: Task,
    /// Room in the queue, given back when the command has been answered.
    room: OwnedSemaphorePermit,
}

impl Command {
    /// The task, and the room to keep until it has been answered.
    pub(crate) fn into_parts(self) -> (Task, OwnedSemaphorePermit) {
        (self.task, self.room)
    }
}

/// What to do and whom to tell.
#[derive(Debug)]
pub(crate) enum Task {
    Commit(Txn, oneshot::Sender<Result<Committed, CommitError>>),
    Renew(Key, oneshot::Sender<Result<(), RenewError>>),
    Compact(Revision, oneshot::Sender<Result<(), CompactError>>),
}

impl Task {
    /// Roughly how many bytes the task adds to a batch.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Commit(txn, _) => txn.bytes(),
            Self::Renew(key, _) => key.as_bytes().len(),
            Self::Compact(..) => 0,
        }
    }
}

/// What the writer found in the queue.
#[derive(Debug)]
pub(crate) enum Taken {
    /// Work, or none because time has passed.
    Batch(Vec<Command>),
    /// No more will come.
    Closed,
}

impl Shared {
    pub(crate) fn new(state: State, disk: Arc<dyn Disk>) -> Self {
        Self {
            published: Arc::new(Published::new(state)),
            queue: Mutex::default(),
            ready: Condvar::new(),
            room: Arc::new(Semaphore::new(QUEUE_KIB as usize)),
            read_only: OnceLock::new(),
            disk,
        }
    }

    /// Why no writes are taken, if so.
    pub(crate) fn read_only(&self) -> Option<Arc<str>> {
        self.read_only.get().cloned()
    }

    /// Ends all writing for good. The first reason stays.
    pub(crate) fn poison(&self, reason: Arc<str>) {
        let _ = self.read_only.set(reason);
    }

    /// Queues a task, waiting for room first.
    pub(crate) async fn submit(&self, task: Task) -> Result<(), CommitError> {
        let kib = u32::try_from(task.bytes() / 1024)
            .unwrap_or(QUEUE_KIB)
            .saturating_add(1)
            .min(QUEUE_KIB);
        let room = Arc::clone(&self.room)
            .acquire_many_owned(kib)
            .await
            .map_err(|_| CommitError::Closed)?;
        if let Some(reason) = self.read_only() {
            return Err(CommitError::ReadOnly { reason });
        }
        let mut queue = self.lock_queue();
        if queue.closing {
            return Err(CommitError::Closed);
        }
        queue.commands.push_back(Command { task, room });
        let wakes = queue.commands.len() == queue.wanted.max(1);
        drop(queue);
        if wakes {
            self.ready.notify_one();
        }
        Ok(())
    }

    /// How many commands wait.
    pub(crate) fn waiting(&self) -> usize {
        self.lock_queue().commands.len()
    }

    fn lock_queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(
        &self,
        queue: MutexGuard<'a, Queue>,
        time: Option<Duration>,
    ) -> MutexGuard<'a, Queue> {
        match time {
            Some(time) => {
                self.ready
                    .wait_timeout(queue, time)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
            None => self
                .ready
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// Waits for commands, being nudged, closing or the time, then takes commands up to a number of bytes.
    pub(crate) fn take(&self, bytes: usize, wait: Option<Duration>, gather: Gather) -> Taken {
        let mut queue = self.lock_queue();
        if queue.is_quiet() {
            queue = self.wait(queue, wait);
        }
        let end = Instant::now() + gather.time;
        while !queue.commands.is_empty() && queue.commands.len() < gather.count && !queue.closing {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            queue.wanted = gather.count;
            queue = self.wait(queue, Some(left));
        }
        queue.wanted = 1;
        queue.nudged = false;
        if queue.commands.is_empty() && queue.closing {
            return Taken::Closed;
        }
        let mut size = 0usize;
        let fitting = queue.commands.iter().take_while(|command| {
            let fits = size < bytes;
            size = size.saturating_add(command.task.bytes());
            fits
        });
        let count = fitting.count();
        Taken::Batch(queue.commands.drain(..count).collect())
    }

    /// Lets the writer look at the time.
    pub(crate) fn nudge(&self) {
        self.lock_queue().nudged = true;
        self.ready.notify_one();
    }

    /// Takes no more commands; those queued are still done.
    pub(crate) fn close(&self) {
        self.room.close();
        self.lock_queue().closing = true;
        self.ready.notify_one();
    }

    /// Whether closing has begun.
    pub(crate) fn is_closing(&self) -> bool {
        self.lock_queue().closing
    }

    /// Throws away what is queued; whoever waits for it learns that the writer is gone.
    pub(crate) fn abandon(&self) {
        self.close();
        let commands = std::mem::take(&mut self.lock_queue().commands);
        drop(commands);
        self.published.watchers.close();
    }
}
