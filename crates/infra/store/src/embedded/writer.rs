//! The one thread that writes: takes what is queued, makes it durable with one sync, publishes, answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::embedded::checkpoint::Meta;
use crate::embedded::checkpointer::{CheckpointError, Checkpointer, Job, Pending};
use crate::embedded::clock::Ticker;
use crate::embedded::frame::FRAME_HEADER;
use crate::embedded::history::Retention;
use crate::embedded::journal::Journal;
use crate::embedded::ledger::Ledger;
use crate::embedded::record::Record;
use crate::embedded::shared::{Command, Gather, Shared, Taken, Task};
use crate::error::{Cause, CommitError, CompactError, RenewError};
use crate::key::{Key, Revision};
use crate::txn::Committed;

/// A batch ends when it has this many bytes, so that one burst does not delay everyone by its whole length.
const BATCH_BYTES: usize = 8 * 1024 * 1024;

/// A batch waits for company at most this fraction of the time its predecessor took to write.
const GATHER_FRACTION: u32 = 2;

/// How much may be pending while a step is under way before the writer waits for it.
const PENDING_BYTES: usize = 64 * 1024 * 1024;

/// Age alone is looked at no more often than this; a promise of minutes needs no precision of milliseconds.
const AGE_CHECK_MILLIS: u64 = 1000;

/// Everything the writing thread owns.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) shared: Arc<Shared>,
    /// Ahead of the published state while a batch is being written.
    pub(crate) ledger: Ledger,
    pub(crate) journal: Journal,
    pub(crate) checkpointer: Checkpointer,
    pub(crate) meta: Meta,
    pub(crate) pending: Pending,
    /// Up to where the history has gone into `pending`.
    pub(crate) absorbed: u64,
    /// The journal's size when the last checkpoint step was begun.
    pub(crate) checkpointed: u64,
    pub(crate) checkpoint_bytes: u64,
    pub(crate) retention: Retention,
    pub(crate) ticker: Ticker,
    /// How long the next batch waits for company.
    pub(crate) gather: Gather,
    /// The frame being built; kept for its allocation.
    pub(crate) frame: Vec<u8>,
}

/// An answer that waits for the sync.
enum Answer {
    Commit(
        oneshot::Sender<Result<Committed, CommitError>>,
        Result<Committed, CommitError>,
    ),
    Renew(
        oneshot::Sender<Result<(), RenewError>>,
        Result<(), RenewError>,
    ),
    Compact(
        oneshot::Sender<Result<(), CompactError>>,
        Result<(), CompactError>,
    ),
}

impl Answer {
    /// Tells the caller, who may have gone.
    fn send(self) {
        match self {
            Self::Commit(to, answer) => drop(to.send(answer)),
            Self::Renew(to, answer) => drop(to.send(answer)),
            Self::Compact(to, answer) => drop(to.send(answer)),
        }
    }

    fn fail(self, error: CommitError) {
        match self {
            Self::Commit(to, _) => drop(to.send(Err(error))),
            Self::Renew(to, _) => drop(to.send(Err(error.into()))),
            Self::Compact(to, _) => drop(to.send(Err(error.into()))),
        }
    }
}

impl Writer {
    /// Works until the store is closed, or drops everything it was given once writing has failed.
    pub(crate) fn run(mut self) {
        loop {
            let commands = match self.shared.take(BATCH_BYTES, self.wait(), self.gather) {
                Taken::Batch(commands) => commands,
                Taken::Closed => {
                    self.mark_end();
                    return;
                }
            };
            if let Some(reason) = self.shared.read_only() {
                refuse(commands, &reason);
                continue;
            }
            if let Err(error) = self.watch_checkpoint() {
                self.poison(&error, "the checkpoint could not be written");
                refuse(commands, &self.shared.read_only().unwrap_or_default());
                continue;
            }
            self.batch(commands);
        }
    }

    /// Brings compaction back to where it was, before anyone reads.
    pub(crate) fn resume(&mut self, compacted: u64) {
        let excess = self
            .ledger
            .state
            .history
            .excess(&self.retention, self.ticker.now());
        self.compact(compacted.max(excess));
        self.ledger.state.history.trim();
        self.shared
            .published
            .publish(Arc::new(self.ledger.state.clone()));
    }

    /// How long there is nothing to do if nobody asks.
    fn wait(&self) -> Option<Duration> {
        if self.shared.read_only().is_some() {
            return None;
        }
        let expiry = self.ledger.next_expiry();
        let age = self.ledger.state.history.next_excess(&self.retention);
        let age = age.map(|at| at.max(self.ticker.now().saturating_add(AGE_CHECK_MILLIS)));
        let at = [expiry, age].into_iter().flatten().min()?;
        self.ticker.wait_until(at)
    }

    fn batch(&mut self, commands: Vec<Command>) {
        let now = self.ticker.now();
        let before = self.ledger.state.revision;
        // First of all, because everything in the history has been marked to its watchers by now.
        let excess = self.ledger.state.history.excess(&self.retention, now);
        self.compact(excess);
        self.ledger.state.history.trim();
        self.frame.clear();
        self.frame.resize(FRAME_HEADER, 0);

        let mut rooms = Vec::with_capacity(commands.len());
        let mut answers = Vec::with_capacity(commands.len());
        for command in commands {
            let (task, room) = command.into_parts();
            answers.push(self.perform(task, now));
            rooms.push(room);
        }
        let frame = &mut self.frame;
        self.ledger.expire(now, |record| record.encode(frame));

        if self.frame.len() > FRAME_HEADER {
            let begun = Instant::now();
            if let Err(error) = self.journal.append(&mut self.frame) {
                self.fail(error, answers);
                return;
            }
            // Callers who are answered together mostly come back together, and those who came meanwhile are here already.
            // Waiting for all of them a fraction of what a sync takes saves the first of them a sync of its own, which
            // would keep the others waiting, and on a busy machine makes one sync of two.
            self.gather = Gather {
                count: answers.len().saturating_add(self.shared.waiting()),
                time: begun.elapsed() / GATHER_FRACTION,
            };
        }
        self.shared
            .published
            .publish(Arc::new(self.ledger.state.clone()));
        if self.ledger.state.revision > before {
            self.shared
                .published
                .watchers
                .mark(&self.ledger.state, before);
        }
        for answer in answers {
            answer.send();
        }
        drop(rooms);
        self.keep_house();
    }

    /// What may wait until callers have been answered.
    fn keep_house(&mut self) {
        if let Err(error) = self
            .journal
            .rotate_at(self.checkpoint_bytes, self.ledger.state.revision)
        {
            self.poison(&error, "a new journal segment could not be begun");
            return;
        }
        if let Err(error) = self.advance_checkpoint() {
            self.poison(&error, "the checkpoint could not be written");
        }
    }

    fn perform(&mut self, task: Task, now: u64) -> Answer {
        match task {
            Task::Commit(txn, to) => {
                let frame = &mut self.frame;
                let outcome = self.ledger.commit(txn, now, |record| record.encode(frame));
                Answer::Commit(to, outcome)
            }
            Task::Renew(key, to) => Answer::Renew(to, self.renew(key, now)),
            Task::Compact(revision, to) => Answer::Compact(to, self.compact_on_request(revision)),
        }
    }

    fn renew(&mut self, key: Key, now: u64) -> Result<(), RenewError> {
        let frame = &mut self.frame;
        self.ledger
            .renew(key.clone(), now, |record| record.encode(frame))?;
        self.pending.renew(key);
        Ok(())
    }

    fn compact_on_request(&mut self, requested: Revision) -> Result<(), CompactError> {
        if requested.0 > self.ledger.state.revision {
            return Err(CompactError::Future {
                requested,
                current: Revision(self.ledger.state.revision),
            });
        }
        if requested.0 > self.ledger.state.history.compacted() {
            Record::Compact {
                revision: requested.0,
            }
            .encode(&mut self.frame);
            self.compact(requested.0);
        }
        Ok(())
    }

    /// Stops promising history, after noting it for the checkpoint. It is let go with the next batch, when watchers
    /// have been marked for this one.
    pub(crate) fn compact(&mut self, revision: u64) {
        for moment in self.ledger.state.history.moments_after(self.absorbed) {
            if moment.changes.revision.0 > revision {
                break;
            }
            self.pending.absorb(moment, &self.ledger.state);
            self.absorbed = moment.changes.revision.0;
        }
        self.ledger.state.history.compact(revision);
    }

    /// Begins the next step of the checkpoint when it is time and the last one is done.
    fn advance_checkpoint(&mut self) -> Result<(), CheckpointError> {
        if self.journal.written().saturating_sub(self.checkpointed) < self.checkpoint_bytes
            || self.pending.is_empty()
        {
            return Ok(());
        }
        if self.pending.bytes() > PENDING_BYTES {
            self.checkpointer.wait()?;
        } else if !self.checkpointer.is_idle()? {
            return Ok(());
        }
        self.checkpointed = self.journal.written();
        let changes = self.pending.take(self.absorbed, &self.ledger.state);
        let retired = self.journal.retire(self.absorbed);
        self.meta.revision = self.absorbed;
        self.meta.compacted = self.ledger.state.history.compacted();
        self.meta.segment = self.journal.oldest();
        self.meta.sequence = self.journal.sequence();
        self.checkpointer.begin(Job {
            meta: self.meta,
            changes,
            retired,
        })
    }

    /// Notes in the checkpoint how far the journal goes, so that one that is shortened while nobody runs is refused.
    fn mark_end(&mut self) {
        if self.shared.read_only().is_none()
            && let Err(error) = self.journal.cut()
        {
            // The next start cuts it.
            tracing::debug!(%error, "the journal keeps its unused room");
        }
        if self.shared.read_only().is_some() || self.meta.sequence == self.journal.sequence() {
            return;
        }
        self.meta.sequence = self.journal.sequence();
        let marked = self.checkpointer.wait().and_then(|()| {
            self.checkpointer.begin(Job {
                meta: self.meta,
                changes: BTreeMap::new(),
                retired: Vec::new(),
            })?;
            self.checkpointer.wait()
        });
        if let Err(error) = marked {
            // Everything acknowledged is in the journal; only the mark is missing, as after a crash.
            tracing::warn!(error = %explain(&error), "the store was closed without a mark");
        }
    }

    fn watch_checkpoint(&mut self) -> Result<(), CheckpointError> {
        self.checkpointer.is_idle().map(drop)
    }

    /// Answers a batch that may or may not be on disk and takes no more.
    fn fail(&mut self, error: std::io::Error, answers: Vec<Answer>) {
        self.poison(&error, "the journal could not be written or synced");
        let source: Cause = Arc::new(error);
        for answer in answers {
            answer.fail(CommitError::Unknown {
                source: Arc::clone(&source),
            });
        }
    }

    fn poison(&self, error: &dyn std::error::Error, what: &str) {
        let reason = format!(
            "{what}: {}; free or repair the disk and start again: what was acknowledged is safe",
            explain(error)
        );
        self.shared.poison(reason.into());
    }
}

/// An error with all that lies under it.
fn explain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

fn refuse(commands: Vec<Command>, reason: &Arc<str>) {
    for command in commands {
        let error = CommitError::ReadOnly {
            reason: Arc::clone(reason),
        };
        match command.into_parts().0 {
            Task::Commit(_, to) => drop(to.send(Err(error))),
            Task::Renew(_, to) => drop(to.send(Err(error.into()))),
            Task::Compact(_, to) => drop(to.send(Err(error.into()))),
        }
    }
}
