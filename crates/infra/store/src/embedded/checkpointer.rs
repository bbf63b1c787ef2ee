//! The thread that carries compacted changes into the checkpoint, away from the writer.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvError, SyncSender, TryRecvError, sync_channel};
use std::thread::{Builder, JoinHandle};

use crate::embedded::checkpoint::{Checkpoint, Meta, Stored};
use crate::embedded::disk::Disk;
use crate::embedded::history::Moment;
use crate::embedded::state::State;
use crate::key::Key;

/// What the checkpoint is behind by: the newest of each key, `None` for one that is gone.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    changes: BTreeMap<Key, Option<Stored>>,
    renewed: BTreeSet<Key>,
    bytes: usize,
}

impl Pending {
    /// Takes in a compacted moment.
    pub(crate) fn absorb(&mut self, moment: &Moment, state: &State) {
        for event in moment.changes.events.iter() {
            let stored = event.current.as_ref().map(|entry| {
                // A later entry's expiry comes with that entry, from the journal.
                let expiry = state
                    .expiries
                    .get(&entry.key)
                    .filter(|expiry| expiry.modified == entry.modified.0);
                (Arc::clone(entry), expiry.copied())
            });
            let size = event.current.as_ref().map_or(0, |entry| entry.value.len());
            self.bytes = self
                .bytes
                .saturating_add(size)
                .saturating_add(event.key.as_bytes().len());
            self.changes.insert(event.key.clone(), stored);
        }
    }

    /// Notes that a key's deadline moved.
    pub(crate) fn renew(&mut self, key: Key) {
        self.renewed.insert(key);
    }

    /// Roughly how much there is to write.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.renewed.is_empty()
    }

    /// Hands over everything that brings a checkpoint to a revision.
    pub(crate) fn take(&mut self, revision: u64, state: &State) -> BTreeMap<Key, Option<Stored>> {
        self.bytes = 0;
        let mut changes = std::mem::take(&mut self.changes);
        // A renewed entry that the checkpoint has, or gets now, is written with its new deadline. One that is newer
        // than the checkpoint stays noted: its put and its renewal are both in segments that are kept.
        for key in std::mem::take(&mut self.renewed) {
            let Some(entry) = state.entry(key.as_ref()) else {
                continue;
            };
            let Some(expiry) = state.expiries.get(&key) else {
                continue;
            };
            if entry.modified.0 <= revision {
                changes.insert(key, Some((Arc::clone(entry), Some(*expiry))));
            } else {
                self.renewed.insert(key);
            }
        }
        changes
    }
}

/// One step of the checkpoint.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) meta: Meta,
    pub(crate) changes: BTreeMap<Key, Option<Stored>>,
    /// Segments that hold nothing the checkpoint then lacks.
    pub(crate) retired: Vec<String>,
}

/// Why a step failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CheckpointError {
    #[error("the checkpoint could not be written")]
    Write(#[from] redb::Error),
    #[error("a journal segment that is no longer needed could not be removed")]
    Remove(#[from] io::Error),
    #[error("the checkpoint thread has stopped")]
    Stopped,
}

/// The thread and the way to it. At most one job is under way.
#[derive(Debug)]
pub(crate) struct Checkpointer {
    jobs: Option<SyncSender<Job>>,
    results: Receiver<Result<(), CheckpointError>>,
    busy: bool,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    pub(crate) fn start(disk: Arc<dyn Disk>, checkpoint: Checkpoint) -> io::Result<Self> {
        // One job and one result at a time: neither side ever waits for room.
        let (jobs, inbox) = sync_channel::<Job>(1);
        let (outbox, results) = sync_channel(1);
        let thread = Builder::new()
            .name("store-checkpoint".to_owned())
            .spawn(move || {
                for job in inbox {
                    let failed = outbox.send(carry_out(&*disk, &checkpoint, job));
                    if failed.is_err() {
                        return;
                    }
                }
            })?;
        Ok(Self {
            jobs: Some(jobs),
            results,
            busy: false,
            thread: Some(thread),
        })
    }

    /// Whether a job can be handed over; an error when the last one failed.
    pub(crate) fn is_idle(&mut self) -> Result<bool, CheckpointError> {
        if !self.busy {
            return Ok(true);
        }
        match self.results.try_recv() {
            Ok(result) => {
                self.busy = false;
                result.map(|()| true)
            }
            Err(TryRecvError::Empty) => Ok(false),
            Err(TryRecvError::Disconnected) => Err(CheckpointError::Stopped),
        }
    }

    /// Waits until a job can be handed over.
    pub(crate) fn wait(&mut self) -> Result<(), CheckpointError> {
        if !self.busy {
            return Ok(());
        }
        self.busy = false;
        self.results
            .recv()
            .map_err(|RecvError| CheckpointError::Stopped)?
    }

    /// Hands over a job; only when idle.
    pub(crate) fn begin(&mut self, job: Job) -> Result<(), CheckpointError> {
        let jobs = self.jobs.as_ref().ok_or(CheckpointError::Stopped)?;
        jobs.send(job).map_err(|_| CheckpointError::Stopped)?;
        self.busy = true;
        Ok(())
    }
}

impl Drop for Checkpointer {
    /// Lets a job that is under way finish and waits for the thread.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic has been seen as `Stopped` or happens to nobody's harm: the journal has everything.
            let _ = thread.join();
        }
    }
}

fn carry_out(disk: &dyn Disk, checkpoint: &Checkpoint, job: Job) -> Result<(), CheckpointError> {
    checkpoint.advance(&job.meta, job.changes)?;
    // Case 8: only now, and oldest first.
    for name in &job.retired {
        disk.remove(name)?;
    }
    Ok(())
}
