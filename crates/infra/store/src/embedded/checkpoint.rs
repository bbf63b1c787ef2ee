//! The checkpoint: every live entry as of one revision, in a redb database. `DESIGN.md` has its place in the whole.

use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use redb::{
    Builder, Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, StorageBackend,
    TableDefinition,
};

use crate::embedded::disk::{Disk, DiskFile};
use crate::embedded::frame::{FORMAT, StoreId};
use crate::embedded::open::OpenError;
use crate::embedded::record::Reader;
use crate::embedded::state::Expiry;
use crate::entry::Entry;
use crate::key::{Key, Revision};

/// The name of the checkpoint.
pub(crate) const CHECKPOINT: &str = "checkpoint.redb";
/// The name of a checkpoint that is being created.
pub(crate) const CHECKPOINT_NEW: &str = "checkpoint.new";
/// The name of one that is being created from a backup: until it is done the directory must not be taken for empty.
pub(crate) const RESTORE_NEW: &str = "restore.new";

const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
const ENTRIES: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("entries");

/// Everything is in our memory already; redb only needs the pages it is changing.
const CACHE_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of a record before its value.
const RECORD_HEADER: usize = 40;

/// An open checkpoint.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    /// Always there until it is dropped.
    db: Option<Database>,
}

impl Drop for Checkpoint {
    fn drop(&mut self) {
        // redb writes when it is closed and may panic on a damaged file. Our last commit is durable already.
        let db = self.db.take();
        if catch_unwind(AssertUnwindSafe(|| drop(db))).is_err() {
            tracing::warn!(
                file = CHECKPOINT,
                "the database could not be closed in order"
            );
        }
    }
}

/// What a checkpoint says about itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Meta {
    pub(crate) id: StoreId,
    /// The revision of the state it holds.
    pub(crate) revision: u64,
    /// The compacted revision when it was written; at least `revision`.
    pub(crate) compacted: u64,
    /// The oldest journal segment that must exist.
    pub(crate) segment: u64,
    /// A frame of the journal that was durable when this was written: a journal that ends before it was shortened.
    pub(crate) sequence: u64,
}

impl Meta {
    /// Over all fields and the format. redb checks its own pages only when it repairs.
    fn checksum(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&FORMAT.to_le_bytes());
        hasher.update(&self.id);
        for number in [self.revision, self.compacted, self.segment, self.sequence] {
            hasher.update(&number.to_le_bytes());
        }
        hasher.finalize()
    }
}

/// An entry as a checkpoint or a backup holds it.
pub(crate) type Stored = (Arc<Entry>, Option<Expiry>);

impl Checkpoint {
    /// Makes a new one in an empty file, durably.
    pub(crate) fn create(
        file: Arc<dyn DiskFile>,
        meta: &Meta,
        entries: impl IntoIterator<Item = Result<Stored, io::Error>>,
    ) -> Result<Self, redb::Error> {
        let db = builder().create_with_backend(Backend(file))?;
        let checkpoint = Self { db: Some(db) };
        checkpoint.write(
            meta,
            entries.into_iter().map(|stored| {
                stored.map(|(entry, expiry)| (entry.key.clone(), Some((entry, expiry))))
            }),
        )?;
        Ok(checkpoint)
    }

    /// Opens an existing one and reads all of it.
    pub(crate) fn open(disk: &dyn Disk) -> Result<(Self, Meta, Vec<Stored>), OpenError> {
        // On a damaged file redb may panic. Nothing that the closure leaves half done is used afterwards.
        catch_unwind(AssertUnwindSafe(|| Self::open_and_load(disk))).unwrap_or_else(|_| {
            let source = redb::Error::Corrupted("the database cannot be walked through".to_owned());
            Err(OpenError::checkpoint(source))
        })
    }

    fn open_and_load(disk: &dyn Disk) -> Result<(Self, Meta, Vec<Stored>), OpenError> {
        let file = disk
            .open(CHECKPOINT)
            .map_err(|source| OpenError::file(CHECKPOINT, source))?;
        // redb would take an empty file for a database to be made.
        if file
            .len()
            .map_err(|source| OpenError::file(CHECKPOINT, source))?
            == 0
        {
            return Err(OpenError::damaged(CHECKPOINT, 0));
        }
        let db = builder()
            .create_with_backend(Backend(file))
            .map_err(OpenError::checkpoint)?;
        let checkpoint = Self { db: Some(db) };
        let meta = checkpoint.meta()?;
        let entries = checkpoint.load(meta.revision)?;
        Ok((checkpoint, meta, entries))
    }

    fn db(&self) -> &Database {
        self.db
            .as_ref()
            .expect("invariant: the database is taken only when the checkpoint is dropped")
    }

    /// Brings it to a later revision, durably and atomically.
    pub(crate) fn advance(
        &self,
        meta: &Meta,
        changes: BTreeMap<Key, Option<Stored>>,
    ) -> Result<(), redb::Error> {
        self.write(meta, changes.into_iter().map(Ok))
    }

    fn write(
        &self,
        meta: &Meta,
        changes: impl Iterator<Item = Result<(Key, Option<Stored>), io::Error>>,
    ) -> Result<(), redb::Error> {
        let mut txn = self.db().begin_write()?;
        // Two-phase commit and a saved allocator state: opening after a crash neither trusts checksums alone nor
        // walks the whole file. Checkpoints are rare enough not to notice the second sync.
        txn.set_two_phase_commit(true);
        txn.set_quick_repair(true);
        {
            let mut table = txn.open_table(ENTRIES)?;
            let mut record = Vec::new();
            for change in changes {
                let (key, stored) = change.map_err(redb::Error::Io)?;
                match stored {
                    Some(stored) => {
                        encode_entry(&mut record, &stored);
                        table.insert(key.as_ref(), record.as_slice())?;
                    }
                    None => {
                        table.remove(key.as_ref())?;
                    }
                }
            }
            let mut table = txn.open_table(META)?;
            table.insert("format", FORMAT.to_le_bytes().as_slice())?;
            table.insert("id", meta.id.as_slice())?;
            table.insert("revision", meta.revision.to_le_bytes().as_slice())?;
            table.insert("compacted", meta.compacted.to_le_bytes().as_slice())?;
            table.insert("segment", meta.segment.to_le_bytes().as_slice())?;
            table.insert("sequence", meta.sequence.to_le_bytes().as_slice())?;
            table.insert("checksum", meta.checksum().to_le_bytes().as_slice())?;
        }
        txn.commit()?;
        Ok(())
    }

    fn meta(&self) -> Result<Meta, OpenError> {
        let txn = self.db().begin_read().map_err(OpenError::checkpoint)?;
        let table = txn.open_table(META).map_err(OpenError::checkpoint)?;
        let field = |name: &str| -> Result<Vec<u8>, OpenError> {
            let value = table.get(name).map_err(OpenError::checkpoint)?;
            Ok(value
                .map(|value| value.value().to_vec())
                .unwrap_or_default())
        };
        let bad = || OpenError::damaged(CHECKPOINT, 0);
        let format = Reader::new(&field("format")?).u32().ok_or_else(bad)?;
        if format != FORMAT {
            return Err(OpenError::Newer {
                file: CHECKPOINT.to_owned(),
                found: format,
                known: FORMAT,
            });
        }
        let number = |name: &str| Reader::new(&field(name)?).u64().ok_or_else(bad);
        let meta = Meta {
            id: Reader::new(&field("id")?).array().ok_or_else(bad)?,
            revision: number("revision")?,
            compacted: number("compacted")?,
            segment: number("segment")?,
            sequence: number("sequence")?,
        };
        let checksum = Reader::new(&field("checksum")?).u32().ok_or_else(bad)?;
        if checksum != meta.checksum() || meta.revision > meta.compacted {
            return Err(bad());
        }
        Ok(meta)
    }

    /// Reads every entry of a checkpoint that is at a revision.
    fn load(&self, revision: u64) -> Result<Vec<Stored>, OpenError> {
        let txn = self.db().begin_read().map_err(OpenError::checkpoint)?;
        let table = txn.open_table(ENTRIES).map_err(OpenError::checkpoint)?;
        let count = table.len().map_err(OpenError::checkpoint)?;
        let damaged = |key: &[u8]| OpenError::DamagedEntry {
            file: CHECKPOINT.to_owned(),
            key: key.escape_ascii().to_string(),
        };
        // The number is as little to be trusted as the rest: memory is taken as entries come.
        let mut entries: Vec<Stored> = Vec::new();
        for row in table.iter().map_err(OpenError::checkpoint)? {
            let (key, record) = row.map_err(OpenError::checkpoint)?;
            let key = key.value();
            let stored = decode_entry(key, record.value()).ok_or_else(|| damaged(key))?;
            let ascends = entries
                .last()
                .is_none_or(|(before, _)| before.key.as_bytes() < key);
            if !ascends || stored.0.modified.0 > revision {
                return Err(damaged(key));
            }
            entries.push(stored);
        }
        if entries.len() as u64 != count {
            let last = entries.last().map(|(entry, _)| entry.key.as_ref());
            return Err(damaged(last.unwrap_or_default()));
        }
        Ok(entries)
    }
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

/// Writes an entry's record into an emptied buffer.
pub(crate) fn encode_entry(record: &mut Vec<u8>, (entry, expiry): &Stored) {
    record.clear();
    record.reserve(
        RECORD_HEADER
            .saturating_add(entry.value.len())
            .saturating_add(4),
    );
    let (ttl, deadline) = expiry.map_or((0, 0), |expiry| (expiry.ttl, expiry.deadline));
    for number in [
        entry.created.0,
        entry.modified.0,
        entry.version,
        ttl,
        deadline,
    ] {
        record.extend_from_slice(&number.to_le_bytes());
    }
    record.extend_from_slice(&entry.value);
    record.extend_from_slice(&entry_checksum(entry.key.as_ref(), record).to_le_bytes());
}

/// Reads an entry's record; `None` when it is not as it was written.
pub(crate) fn decode_entry(key: &[u8], record: &[u8]) -> Option<Stored> {
    let (content, checksum) = record.split_last_chunk::<4>()?;
    if entry_checksum(key, content) != u32::from_le_bytes(*checksum) {
        return None;
    }
    let mut reader = Reader::new(content);
    let created = Revision(reader.u64()?);
    let modified = Revision(reader.u64()?);
    let version = reader.u64()?;
    let ttl = reader.u64()?;
    let deadline = reader.u64()?;
    let value = Bytes::copy_from_slice(content.get(RECORD_HEADER..)?);
    let key = Key::new(Bytes::copy_from_slice(key)).ok()?;
    let expiry = (ttl > 0).then_some(Expiry {
        ttl,
        deadline,
        modified: modified.0,
    });
    Some((
        Arc::new(Entry {
            key,
            value,
            created,
            modified,
            version,
        }),
        expiry,
    ))
}

/// Over the key's length as well, so that no byte can move between key and content unnoticed.
fn entry_checksum(key: &[u8], content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&(key.len() as u64).to_le_bytes());
    hasher.update(key);
    hasher.update(content);
    hasher.finalize()
}

/// redb on one of our files.
#[derive(Debug)]
struct Backend(Arc<dyn DiskFile>);

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read_at(out, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write_at(data, offset)
    }
}

#[cfg(test)]
mod tests;
