//! The few things the engine asks of a file system, so that tests can take it away at any moment.

use std::fmt::Debug;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One flat directory of files.
pub(crate) trait Disk: Debug + Send + Sync {
    /// The names of all files, in no order.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Opens a file that exists.
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;
    /// Makes an empty file where there is none.
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;
    /// Gives a file another name; files already open stay open.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes creations, renames and removals so far permanent.
    fn sync(&self) -> io::Result<()>;
}

/// One open file.
pub(crate) trait DiskFile: Debug + Send + Sync {
    /// How many bytes there are.
    fn len(&self) -> io::Result<u64>;
    /// Fills the buffer from an offset, or fails.
    fn read_at(&self, out: &mut [u8], offset: u64) -> io::Result<()>;
    /// Writes all bytes at an offset, growing the file if need be.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Cuts the file or grows it with zeros.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Makes everything written so far permanent, and the length with it.
    fn sync(&self) -> io::Result<()>;
}

/// Reads a whole file.
pub(crate) fn read_all(file: &dyn DiskFile) -> io::Result<Vec<u8>> {
    let len = usize::try_from(file.len()?).map_err(io::Error::other)?;
    let mut content = vec![0; len];
    file.read_at(&mut content, 0)?;
    Ok(content)
}

/// A real directory.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    /// For syncing; on Unix a directory is synced through an open handle.
    handle: File,
}

/// Keeps other processes out of a directory for as long as it lives.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// The name of the file whose lock says that a process has the store open.
pub(crate) const LOCK_FILE: &str = "LOCK";

/// What is stored is nobody else's business: secrets are in it.
const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

impl Directory {
    /// Creates the directory if need be and takes the lock; `None` when another process has it.
    pub(crate) fn lock(path: &Path) -> io::Result<Option<(Self, Lock)>> {
        DirBuilder::new()
            .recursive(true)
            .mode(DIRECTORY_MODE)
            .create(path)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(FILE_MODE)
            .open(path.join(LOCK_FILE))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let handle = File::open(path)?;
        // The directory itself is new at times: its name must outlive a power cut like its content.
        if let Some(parent) = path.canonicalize()?.parent() {
            File::open(parent)?.sync_all()?;
        }
        let directory = Self {
            path: path.to_owned(),
            handle,
        };
        Ok(Some((directory, Lock { _file: lock })))
    }
}

impl Disk for Directory {
    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for item in fs::read_dir(&self.path)? {
            let name = item?.file_name();
            if name != LOCK_FILE {
                names.push(name.to_string_lossy().into_owned());
            }
        }
        Ok(names)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(self.path.join(name))?;
        Ok(Arc::new(file))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(FILE_MODE)
            .open(self.path.join(name))?;
        Ok(Arc::new(file))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync(&self) -> io::Result<()> {
        self.handle.sync_all()
    }
}

impl DiskFile for File {
    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(out, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        File::set_len(self, len)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}
