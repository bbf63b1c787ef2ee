//! The two files decisions are written down in: lines of JSON, the newer file and the older.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
};

use object::ObjectKey;

use super::Record;

const NEWER: &str = "decisions.jsonl";
const OLDER: &str = "decisions.old.jsonl";

/// How much of one line is read; a longer one is passed over.
const LINE_BYTES: usize = 16 << 20;

/// Why decisions cannot be written down or read.
#[derive(Debug, thiserror::Error)]
#[error("cannot use {}", path.display())]
pub struct FileError {
    /// Which file or directory.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

/// The decisions about a binding in the files of a directory, the newest first: for whoever asks while no scheduler runs.
pub fn read(directory: &Path, binding: &ObjectKey) -> Result<Vec<Record>, FileError> {
    let name = binding.to_string();
    let mut records = read_all(directory)?;
    records.retain(|record| record.binding == name);
    records.reverse();
    Ok(records)
}

/// All decisions in the files of a directory, the oldest first.
pub(super) fn read_all(directory: &Path) -> Result<Vec<Record>, FileError> {
    let mut records = Vec::new();
    for name in [OLDER, NEWER] {
        let path = directory.join(name);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => return Err(FileError { path, source }),
        };
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = reader.read_until(b'\n', &mut line);
            if read.map_err(|source| FileError {
                path: path.clone(),
                source,
            })? == 0
            {
                break;
            }
            // A line that is not whole or not ours says nothing; the others still do.
            if line.len() <= LINE_BYTES
                && let Some(record) = serde_json::from_slice(&line)
                    .ok()
                    .and_then(Record::from_value)
            {
                records.push(record);
            }
        }
    }
    Ok(records)
}

/// The newer file, open for more.
pub(super) struct Log {
    directory: Option<PathBuf>,
    limit: u64,
    pending: Vec<u8>,
}

impl Log {
    pub(super) fn new(directory: Option<PathBuf>, limit: u64) -> Self {
        Self {
            directory,
            limit,
            pending: Vec::new(),
        }
    }

    /// Adds a line to what the next flush writes.
    pub(super) fn push(&mut self, record: &Record) {
        if self.directory.is_none() {
            return;
        }
        // Bounded like the file: if it cannot be written for long, the lines that came first go.
        if self.pending.len() as u64 > self.limit {
            self.pending.clear();
        }
        if serde_json::to_writer(&mut self.pending, &record.to_value()).is_ok() {
            self.pending.push(b'\n');
        }
    }

    /// Writes what was added. What cannot be written is kept for the next time.
    pub(super) fn flush(&mut self) -> Result<(), FileError> {
        let Some(directory) = self
            .directory
            .as_deref()
            .filter(|_| !self.pending.is_empty())
        else {
            return Ok(());
        };
        let path = directory.join(NEWER);
        let failed = |source| FileError {
            path: path.clone(),
            source,
        };
        fs::create_dir_all(directory).map_err(failed)?;
        let size = fs::metadata(&path).map_or(0, |file| file.len());
        if size > 0 && size + self.pending.len() as u64 > self.limit {
            fs::rename(&path, directory.join(OLDER)).map_err(failed)?;
        }
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(failed)?;
        file.write_all(&self.pending).map_err(failed)?;
        self.pending.clear();
        Ok(())
    }
}
