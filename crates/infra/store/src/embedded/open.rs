//! Opening a directory: creating a store, or bringing back the one that is there.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::embedded::checkpoint::{
    CHECKPOINT, CHECKPOINT_NEW, Checkpoint, Meta, RESTORE_NEW, Stored,
};
use crate::embedded::disk::Disk;
use crate::embedded::frame::StoreId;
use crate::embedded::journal::Journal;
use crate::embedded::record::{self, Record, RecordOp};
use crate::embedded::segment::{segment_name, segment_numbers};
use crate::embedded::state::State;
use crate::key::Key;

/// Why a directory cannot be used as a store.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Two processes must not write to one store.
    #[error("the store in {} is in use by another process; stop that one first", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// The directory itself cannot be used.
    #[error("cannot use the store's directory")]
    Directory {
        /// What went wrong.
        source: io::Error,
    },
    /// A file of the store cannot be read or written.
    #[error("cannot use file {file} of the store")]
    File {
        /// Its name in the directory.
        file: String,
        /// What went wrong.
        source: io::Error,
    },
    /// Written by a later version of this program.
    #[error(
        "file {file} has format {found}, but this version understands only {known}: \
         run the version that wrote it or a later one, or restore a backup into an empty directory"
    )]
    Newer {
        /// Its name in the directory.
        file: String,
        /// The format it has.
        found: u32,
        /// The format this code understands.
        known: u32,
    },
    /// The file was whole once and is not any more; starting would forget acknowledged writes.
    #[error(
        "file {file} is damaged at byte {offset}, and not by an interrupted write: \
         put an intact copy of the directory back, or restore the newest backup into an empty directory"
    )]
    Damaged {
        /// Its name in the directory.
        file: String,
        /// Where the damage begins.
        offset: u64,
    },
    /// An entry is not what was written.
    #[error(
        "file {file} is damaged at key {key}: \
         put an intact copy of the directory back, or restore the newest backup into an empty directory"
    )]
    DamagedEntry {
        /// Its name in the directory.
        file: String,
        /// The key whose entry is damaged.
        key: String,
    },
    /// The checkpoint is no database, or a damaged one.
    #[error(
        "the database checkpoint.redb cannot be opened: \
         put an intact copy of the directory back, or restore the newest backup into an empty directory"
    )]
    Checkpoint {
        /// What the database says.
        source: Box<redb::Error>,
    },
    /// A journal without the checkpoint it continues.
    #[error(
        "the directory has a journal but no checkpoint.redb: put the missing file back, or restore a backup into an empty directory"
    )]
    NoCheckpoint,
    /// Starting would begin an empty store where somebody expects the backup's content.
    #[error(
        "a restore into this directory was interrupted: restore the backup into it once more, or into an empty directory"
    )]
    UnfinishedRestore,
    /// A checkpoint without the journal that continues it.
    #[error(
        "the directory has a checkpoint but no journal: put the missing files back, or restore a backup into an empty directory"
    )]
    NoJournal,
    /// A segment is not there although its neighbours need it.
    #[error(
        "file {file} is missing: put it back, or restore the newest backup into an empty directory"
    )]
    MissingSegment {
        /// Its name in the directory.
        file: String,
    },
    /// Revisions are not there although later ones are.
    #[error(
        "file {file} continues at revision {found}, but {expected} is missing: \
         put an intact copy of the directory back, or restore the newest backup into an empty directory"
    )]
    Gap {
        /// Its name in the directory.
        file: String,
        /// The revision that should come next.
        expected: u64,
        /// The revision that does.
        found: u64,
    },
    /// The journal ends before a frame that was durable.
    #[error(
        "the journal ends with frame {found} in file {file}, but it had {expected}: \
         put an intact copy of the directory back, or restore the newest backup into an empty directory"
    )]
    Shortened {
        /// The last file of the journal.
        file: String,
        /// The sequence of the frame that was durable.
        expected: u64,
        /// The sequence of the last frame there is.
        found: u64,
    },
    /// A segment of another store.
    #[error(
        "file {file} belongs to another store: remove it from this directory if it was copied here by mistake"
    )]
    Foreign {
        /// Its name in the directory.
        file: String,
    },
}

impl OpenError {
    pub(crate) fn directory(source: io::Error) -> Self {
        Self::Directory { source }
    }

    pub(crate) fn file(file: &str, source: io::Error) -> Self {
        Self::File {
            file: file.to_owned(),
            source,
        }
    }

    pub(crate) fn damaged(file: &str, offset: u64) -> Self {
        Self::Damaged {
            file: file.to_owned(),
            offset,
        }
    }

    pub(crate) fn checkpoint(source: impl Into<redb::Error>) -> Self {
        Self::Checkpoint {
            source: Box::new(source.into()),
        }
    }
}

/// A store brought back, before its threads are started.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) meta: Meta,
    pub(crate) state: State,
    /// Up to where history is to be compacted before anyone sees it.
    pub(crate) compacted: u64,
    pub(crate) journal: Journal,
    pub(crate) checkpoint: Checkpoint,
    /// Keys renewed in the journal; the checkpoint may not know.
    pub(crate) renewed: Vec<Key>,
}

/// Opens the store on a disk, creating it if there is none.
pub(crate) fn recover(disk: &Arc<dyn Disk>) -> Result<Recovered, OpenError> {
    let names = disk.list().map_err(OpenError::directory)?;
    if names.iter().any(|name| name == CHECKPOINT) {
        return reopen(disk);
    }
    if names.iter().any(|name| name == RESTORE_NEW) {
        return Err(OpenError::UnfinishedRestore);
    }
    clear_leftovers(&**disk, &names)?;
    let meta = Meta {
        id: new_id(),
        revision: 0,
        compacted: 0,
        segment: 1,
        sequence: 0,
    };
    create(disk, CHECKPOINT_NEW, meta, std::iter::empty())
}

/// Makes a new store that holds some entries. Until the last step there is no store, only a file with the name that
/// the checkpoint has while it is unfinished.
pub(crate) fn create(
    disk: &Arc<dyn Disk>,
    unfinished: &str,
    meta: Meta,
    entries: impl Iterator<Item = Result<Stored, io::Error>>,
) -> Result<Recovered, OpenError> {
    let file = disk.create(unfinished).map_err(OpenError::directory)?;
    // The name is there before the content, which may take a while: it says what is going on.
    disk.sync().map_err(OpenError::directory)?;
    let checkpoint = Checkpoint::create(file, &meta, entries).map_err(|source| match source {
        redb::Error::Io(source) => OpenError::file(unfinished, source),
        other => OpenError::checkpoint(other),
    })?;
    let journal = Journal::create(Arc::clone(disk), meta.id, meta.revision)
        .map_err(|source| OpenError::file(&segment_name(1), source))?;
    disk.rename(unfinished, CHECKPOINT)
        .and_then(|()| disk.sync())
        .map_err(OpenError::directory)?;
    let state = State::at(meta.revision, []);
    Ok(Recovered {
        meta,
        state,
        compacted: meta.compacted,
        journal,
        checkpoint,
        renewed: Vec::new(),
    })
}

/// Case 1: what an interrupted creation left. A segment with a frame is more than that.
fn clear_leftovers(disk: &dyn Disk, names: &[String]) -> Result<(), OpenError> {
    let segments = segment_numbers(names);
    let unfinished = names.iter().any(|name| name == CHECKPOINT_NEW);
    for number in &segments {
        let name = segment_name(*number);
        let len = disk
            .open(&name)
            .and_then(|file| file.len())
            .map_err(|source| OpenError::file(&name, source))?;
        if !unfinished || len > crate::embedded::frame::SEGMENT_HEADER as u64 {
            return Err(OpenError::NoCheckpoint);
        }
    }
    let leftovers = segments
        .into_iter()
        .map(segment_name)
        .chain(unfinished.then(|| CHECKPOINT_NEW.to_owned()));
    for name in leftovers {
        disk.remove(&name)
            .map_err(|source| OpenError::file(&name, source))?;
    }
    disk.sync().map_err(OpenError::directory)
}

fn reopen(disk: &Arc<dyn Disk>) -> Result<Recovered, OpenError> {
    let (checkpoint, meta, entries) = Checkpoint::open(&**disk)?;
    let mut replay = Replay {
        state: State::at(meta.revision, entries),
        base: meta.revision,
        newest: 0,
        compacted: meta.compacted,
        renewed: Vec::new(),
    };
    let journal = Journal::read(Arc::clone(disk), meta.id, meta.segment, |name, frame| {
        replay.frame(name, frame)
    })?;
    if journal.sequence() < meta.sequence {
        return Err(OpenError::Shortened {
            file: journal.newest(),
            expected: meta.sequence,
            found: journal.sequence(),
        });
    }
    let Replay {
        state,
        newest,
        compacted,
        renewed,
        ..
    } = replay;
    // Only what the journal had made durable is ever compacted or goes into the checkpoint.
    let newest = newest.max(journal.begun_at);
    let promised = compacted.max(meta.revision);
    if newest < promised {
        return Err(OpenError::Gap {
            file: journal.newest(),
            expected: newest.saturating_add(1),
            found: promised,
        });
    }
    let journal = journal.settle(state.revision)?;
    Ok(Recovered {
        meta,
        state,
        compacted,
        journal,
        checkpoint,
        renewed,
    })
}

/// The journal on its way back into memory.
struct Replay {
    state: State,
    /// The revision of the checkpoint.
    base: u64,
    /// The newest revision the journal has, in the checkpoint already or not.
    newest: u64,
    compacted: u64,
    renewed: Vec<Key>,
}

impl Replay {
    fn frame(&mut self, name: &str, frame: &[u8]) -> Result<(), OpenError> {
        // The checksum was right, so this is what was written: not understanding it is as good as damage.
        let records =
            record::decode(frame).map_err(|bad| OpenError::damaged(name, bad.offset as u64))?;
        for record in records {
            if let Record::Txn { revision, .. } = &record {
                self.newest = self.newest.max(*revision);
            }
            match record {
                Record::Txn { revision, .. } if revision <= self.base => {}
                Record::Txn {
                    revision,
                    time,
                    ops,
                } => self.txn(name, revision, time, ops)?,
                Record::Compact { revision } => self.compacted = self.compacted.max(revision),
                Record::Renew {
                    key,
                    modified,
                    deadline,
                } => self.renew(key, modified, deadline),
            }
        }
        Ok(())
    }

    fn txn(
        &mut self,
        name: &str,
        revision: u64,
        time: u64,
        ops: Vec<RecordOp>,
    ) -> Result<(), OpenError> {
        let expected = self.state.revision.saturating_add(1);
        if revision != expected {
            return Err(OpenError::Gap {
                file: name.to_owned(),
                expected,
                found: revision,
            });
        }
        self.state.apply(time, ops);
        Ok(())
    }

    fn renew(&mut self, key: Key, modified: u64, deadline: u64) {
        if self.state.renew(&key, modified, deadline) {
            self.renewed.push(key);
        }
    }
}

/// Sixteen bytes nobody else has. Not a secret: it only tells stores apart.
pub(crate) fn new_id() -> StoreId {
    let mut id = [0; 16];
    for (index, chunk) in id.chunks_exact_mut(8).enumerate() {
        // The standard library seeds each state from the operating system's randomness.
        chunk.copy_from_slice(&RandomState::new().hash_one(index).to_le_bytes());
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::fault::FaultyDisk;

    #[test]
    fn a_journal_that_does_not_reach_the_checkpoint_is_refused() {
        let check = |begun: u64, expected: Option<&str>| {
            let disk: Arc<dyn Disk> = Arc::new(FaultyDisk::default());
            let meta = Meta {
                id: [3; 16],
                revision: 50,
                compacted: 50,
                segment: 1,
                sequence: 0,
            };
            let file = disk.create(CHECKPOINT).unwrap();
            drop(Checkpoint::create(file, &meta, []).unwrap());
            drop(Journal::create(Arc::clone(&disk), meta.id, begun).unwrap());
            let said = recover(&disk).err().map(|error| error.to_string());
            let said = said.as_deref().map(|said| said.split(": ").next().unwrap());
            assert_eq!(said, expected, "begun at {begun}");
        };
        check(50, None);
        check(
            40,
            Some(
                "file journal-00000000000000000001.log continues at revision 50, but 41 is missing",
            ),
        );
    }
}
