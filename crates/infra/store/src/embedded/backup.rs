//! Backups: one file with everything as of one revision, and a store made from it. The format is in `DESIGN.md`.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::embedded::checkpoint::{Meta, RESTORE_NEW, Stored, decode_entry, encode_entry};
use crate::embedded::clock::to_millis;
use crate::embedded::disk::{Directory, Disk};
use crate::embedded::frame::FORMAT;
use crate::embedded::open::{OpenError, create, new_id};
use crate::embedded::record::{Reader, length, put_key};
use crate::embedded::segment::segment_name;
use crate::embedded::state::State;
use crate::key::Revision;

const MAGIC: [u8; 8] = *b"KRVLBKUP";
const HEADER: usize = 48;

/// A chunk is written when it has this many bytes.
const CHUNK_BYTES: usize = 1024 * 1024;

/// No chunk is larger: a full one and the largest entry on top.
const MAX_CHUNK_BYTES: usize = CHUNK_BYTES + crate::MAX_TXN_BYTES + 4096;

/// How far a restored store begins at least above its backup, so that no revision that was handed out after the backup
/// is handed out again: at 10,000 writes a second a day's worth.
const RESTORE_SKIP: u64 = 1_000_000_000;

/// How many revisions above that for each millisecond since [`RESTORE_EPOCH`]: more than any store writes in one, so
/// that of two stores restored from one backup the later begins above all that the earlier has handed out.
const RESTORE_SKIP_PER_MILLI: u64 = 128;

/// The beginning of 2026, in milliseconds since 1970.
const RESTORE_EPOCH: u64 = 1_767_225_600_000;

/// What a backup holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BackupSummary {
    /// The revision of the state that was written.
    pub revision: Revision,
    /// How many entries there are.
    pub entries: u64,
    /// How many bytes the file has.
    pub bytes: u64,
}

/// Why there is no backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The output failed. What it has so far is of no use, and restoring refuses it.
    #[error("cannot write the backup")]
    Write(#[from] io::Error),
}

/// Why nothing was restored. The directory holds no store then.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// Something is there already.
    #[error("the directory {} is not empty: restore into an empty one", path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// The backup ends early or cannot be read.
    #[error("cannot read the backup")]
    Read {
        /// What went wrong.
        source: io::Error,
    },
    /// The directory cannot be used.
    #[error("cannot create the store")]
    Create(#[from] OpenError),
    /// Some other file.
    #[error("this is not a backup of a store")]
    NotABackup,
    /// Written by a later version of this program.
    #[error(
        "the backup has format {found}, but this version understands only {FORMAT}: restore it with the version that wrote it or a later one"
    )]
    Newer {
        /// The format it has.
        found: u32,
    },
    /// Not as it was written.
    #[error("the backup is damaged or incomplete at byte {offset}: use another one")]
    Damaged {
        /// Where the damage begins.
        offset: u64,
    },
}

/// Writes a state to an output.
pub(crate) fn write(state: &State, mut output: impl Write) -> Result<BackupSummary, BackupError> {
    let entries = state.len() as u64;
    let mut header = Vec::with_capacity(HEADER);
    header.extend_from_slice(&MAGIC);
    header.extend_from_slice(&FORMAT.to_le_bytes());
    header.extend_from_slice(&new_id());
    header.extend_from_slice(&state.revision.to_le_bytes());
    header.extend_from_slice(&entries.to_le_bytes());
    header.extend_from_slice(&crc32fast::hash(&header).to_le_bytes());
    output.write_all(&header)?;

    let mut chunks = Chunks {
        output,
        total: crc32fast::Hasher::new(),
        bytes: header.len() as u64,
    };
    let mut chunk = Vec::with_capacity(CHUNK_BYTES);
    let mut record = Vec::new();
    for (entry, expiry) in state.entries() {
        encode_entry(&mut record, &(Arc::clone(entry), expiry));
        put_key(&mut chunk, &entry.key);
        chunk.extend_from_slice(&length(record.len()).to_le_bytes());
        chunk.extend_from_slice(&record);
        if chunk.len() >= CHUNK_BYTES {
            chunks.write(&chunk)?;
            chunk.clear();
        }
    }
    if !chunk.is_empty() {
        chunks.write(&chunk)?;
    }
    let bytes = chunks.finish()?;
    Ok(BackupSummary {
        revision: Revision(state.revision),
        entries,
        bytes,
    })
}

struct Chunks<W> {
    output: W,
    /// Over the checksums of all chunks.
    total: crc32fast::Hasher,
    bytes: u64,
}

impl<W: Write> Chunks<W> {
    fn write(&mut self, chunk: &[u8]) -> io::Result<()> {
        let checksum = crc32fast::hash(chunk).to_le_bytes();
        self.total.update(&checksum);
        self.output.write_all(&length(chunk.len()).to_le_bytes())?;
        self.output.write_all(&checksum)?;
        self.output.write_all(chunk)?;
        self.bytes = self
            .bytes
            .saturating_add(8)
            .saturating_add(chunk.len() as u64);
        Ok(())
    }

    fn finish(mut self) -> io::Result<u64> {
        self.output.write_all(&0u32.to_le_bytes())?;
        self.output
            .write_all(&self.total.finalize().to_le_bytes())?;
        self.output.flush()?;
        Ok(self.bytes.saturating_add(8))
    }
}

/// Makes a store in an empty directory, or one where this was interrupted, from a backup. Open it afterwards like any
/// other.
///
/// # Errors
/// When the directory is not empty or the backup is not whole; there is no store then, and trying again is harmless.
pub fn restore(path: &Path, input: impl Read) -> Result<BackupSummary, RestoreError> {
    let directory = Directory::lock(path).map_err(OpenError::directory)?;
    let Some((directory, _lock)) = directory else {
        return Err(OpenError::Locked {
            path: path.to_owned(),
        }
        .into());
    };
    let names = directory.list().map_err(OpenError::directory)?;
    if is_unfinished(&names) {
        clear(&directory)?;
    } else if !names.is_empty() {
        return Err(RestoreError::NotEmpty {
            path: path.to_owned(),
        });
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    restore_to(
        Arc::new(directory),
        input,
        to_millis(now.unwrap_or_default()),
    )
}

/// Whether these files are just what an interrupted restore leaves.
fn is_unfinished(names: &[String]) -> bool {
    let first = segment_name(1);
    names.iter().any(|name| name == RESTORE_NEW)
        && names
            .iter()
            .all(|name| name == RESTORE_NEW || *name == first)
}

/// Reads a whole backup and says what is in it, without restoring anything.
///
/// # Errors
/// When it could not be restored either.
pub fn inspect(input: impl Read) -> Result<BackupSummary, RestoreError> {
    let mut source = Source::begin(input)?;
    while source.next_entry()?.is_some() {}
    Ok(BackupSummary {
        revision: Revision(source.revision),
        entries: source.expected,
        bytes: source.offset,
    })
}

/// Makes a store on an empty disk from a backup, at a time in milliseconds since 1970.
fn restore_to(
    disk: Arc<dyn Disk>,
    input: impl Read,
    now: u64,
) -> Result<BackupSummary, RestoreError> {
    let mut source = Source::begin(input)?;
    let revision = first_revision(source.revision, now);
    let meta = Meta {
        id: new_id(),
        revision,
        compacted: revision,
        segment: 1,
        sequence: 0,
    };
    // The entries are read while the checkpoint is written, so that a backup need not fit into memory. What is wrong
    // with them is kept aside: to the checkpoint it is just a failure to go on.
    let mut problem = None;
    let entries = std::iter::from_fn(|| match source.next_entry() {
        Ok(stored) => stored.map(Ok),
        Err(error) => {
            problem = Some(error);
            Some(Err(io::Error::other("the backup cannot be read")))
        }
    });
    let created = create(&disk, RESTORE_NEW, meta, entries);
    if let Some(problem) = problem {
        clear(&*disk)?;
        return Err(problem);
    }
    if let Err(error) = created {
        clear(&*disk)?;
        return Err(error.into());
    }
    Ok(BackupSummary {
        revision: Revision(source.revision),
        entries: source.expected,
        bytes: source.offset,
    })
}

/// Where a store begins that is restored from a backup with a revision at a time.
fn first_revision(backup: u64, now: u64) -> u64 {
    let passed = now.saturating_sub(RESTORE_EPOCH);
    backup
        .saturating_add(RESTORE_SKIP)
        .saturating_add(passed.saturating_mul(RESTORE_SKIP_PER_MILLI))
}

/// Removes what a restore that failed has made. The mark goes last: what is left in between is still known for what
/// it is.
fn clear(disk: &dyn Disk) -> Result<(), OpenError> {
    let mut names = disk.list().map_err(OpenError::directory)?;
    names.sort_by_key(|name| name == RESTORE_NEW);
    for name in names {
        disk.remove(&name)
            .map_err(|source| OpenError::file(&name, source))?;
    }
    disk.sync().map_err(OpenError::directory)
}

/// A backup being read.
struct Source<R> {
    input: R,
    revision: u64,
    /// How many entries there should be.
    expected: u64,
    found: u64,
    offset: u64,
    total: crc32fast::Hasher,
    chunk: Vec<u8>,
    /// How much of the chunk has been read.
    read: usize,
    ended: bool,
}

impl<R: Read> Source<R> {
    fn begin(mut input: R) -> Result<Self, RestoreError> {
        let mut header = [0; HEADER];
        input
            .read_exact(&mut header)
            .map_err(|source| match source.kind() {
                io::ErrorKind::UnexpectedEof => RestoreError::NotABackup,
                _ => RestoreError::Read { source },
            })?;
        let mut reader = Reader::new(&header);
        if reader.array() != Some(MAGIC) {
            return Err(RestoreError::NotABackup);
        }
        let damaged = || RestoreError::Damaged { offset: 0 };
        let found = reader.u32().ok_or_else(damaged)?;
        if found != FORMAT {
            return Err(RestoreError::Newer { found });
        }
        reader.take(16).ok_or_else(damaged)?;
        let revision = reader.u64().ok_or_else(damaged)?;
        let expected = reader.u64().ok_or_else(damaged)?;
        let checked = header.get(..HEADER - 4).ok_or_else(damaged)?;
        if reader.u32() != Some(crc32fast::hash(checked)) {
            return Err(damaged());
        }
        Ok(Self {
            input,
            revision,
            expected,
            found: 0,
            offset: HEADER as u64,
            total: crc32fast::Hasher::new(),
            chunk: Vec::new(),
            read: 0,
            ended: false,
        })
    }

    fn next_entry(&mut self) -> Result<Option<Stored>, RestoreError> {
        if self.ended {
            return Ok(None);
        }
        if self.read == self.chunk.len() && !self.next_chunk()? {
            self.ended = true;
            return self.check_end();
        }
        let rest = self.chunk.get(self.read..).unwrap_or_default();
        let mut reader = Reader::new(rest);
        let mut parse = || {
            let key = reader.key()?;
            let len = usize::try_from(reader.u32()?).ok()?;
            decode_entry(key.as_ref(), reader.take(len)?)
        };
        let stored = parse().ok_or(RestoreError::Damaged {
            offset: self.offset,
        })?;
        self.read = self.read.saturating_add(reader.offset());
        self.found = self.found.saturating_add(1);
        Ok(Some(stored))
    }

    fn next_chunk(&mut self) -> Result<bool, RestoreError> {
        let mut head = [0; 8];
        self.fill(|input, source| {
            input.read_exact(&mut head)?;
            *source = source.saturating_add(8);
            Ok(())
        })?;
        let mut reader = Reader::new(&head);
        let damaged = RestoreError::Damaged {
            offset: self.offset,
        };
        let (Some(len), Some(checksum)) = (reader.u32(), reader.array::<4>()) else {
            return Err(damaged);
        };
        if len == 0 {
            let total = self.total.clone().finalize();
            return if checksum == total.to_le_bytes() {
                Ok(false)
            } else {
                Err(damaged)
            };
        }
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        if len > MAX_CHUNK_BYTES {
            return Err(damaged);
        }
        let mut chunk = std::mem::take(&mut self.chunk);
        chunk.resize(len, 0);
        self.fill(|input, offset| {
            input.read_exact(&mut chunk)?;
            *offset = offset.saturating_add(len as u64);
            Ok(())
        })?;
        if crc32fast::hash(&chunk).to_le_bytes() != checksum {
            return Err(damaged);
        }
        self.total.update(&checksum);
        self.chunk = chunk;
        self.read = 0;
        Ok(true)
    }

    /// Reads, telling an input that ends from one that fails.
    fn fill(
        &mut self,
        read: impl FnOnce(&mut R, &mut u64) -> io::Result<()>,
    ) -> Result<(), RestoreError> {
        read(&mut self.input, &mut self.offset).map_err(|source| match source.kind() {
            io::ErrorKind::UnexpectedEof => RestoreError::Damaged {
                offset: self.offset,
            },
            _ => RestoreError::Read { source },
        })
    }

    fn check_end(&mut self) -> Result<Option<Stored>, RestoreError> {
        let mut beyond = [0; 1];
        let read = self
            .input
            .read(&mut beyond)
            .map_err(|source| RestoreError::Read { source })?;
        if read > 0 || self.found != self.expected {
            return Err(RestoreError::Damaged {
                offset: self.offset,
            });
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
