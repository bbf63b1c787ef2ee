//! The two files decisions are written down in: lines of JSON, the newer file and the older.
//!
//! `{"names":["m1","m2"],"roster":3}` numbers the clusters that diagnoses with that number after it speak of. Each file
//! has the lists it needs.

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io::{self, BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use object::{ObjectKey, Value};
use serde_json::json;

use super::{Record, record::Packed};

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
    let mut records = Vec::new();
    read_all(directory, |record| {
        if record.binding == name {
            records.push(record);
        }
    })?;
    records.reverse();
    Ok(records)
}

/// Reads all decisions in the files of a directory, the oldest first.
pub(super) fn read_all(directory: &Path, mut take: impl FnMut(Record)) -> Result<(), FileError> {
    for name in [OLDER, NEWER] {
        let path = directory.join(name);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => return Err(FileError { path, source }),
        };
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        let mut rosters: HashMap<u64, Arc<[Arc<str>]>> = HashMap::new();
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
            let Ok(text) = str::from_utf8(&line) else {
                continue;
            };
            let Some(text) = text.strip_suffix('\n').filter(|_| line.len() <= LINE_BYTES) else {
                continue;
            };
            if text.starts_with("{\"names\":") {
                rosters.extend(read_roster(text));
            } else if let Some(record) =
                Record::from_line(text, |roster| rosters.get(&roster).cloned())
            {
                take(record);
            }
        }
    }
    Ok(())
}

/// A list of clusters and its number.
fn read_roster(line: &str) -> Option<(u64, Arc<[Arc<str>]>)> {
    let value: Value = serde_json::from_str(line).ok()?;
    let names = value.get("names")?.as_array()?.iter();
    let names = names.map(|name| name.as_str().unwrap_or_default().into());
    Some((value.get("roster")?.as_u64()?, names.collect()))
}

/// The newer file, open for more.
pub(super) struct Log {
    directory: Option<PathBuf>,
    limit: u64,
    pending: Vec<u8>,
    /// The clusters of the last diagnosis.
    names: Arc<[Arc<str>]>,
    /// The number of that list.
    roster: u64,
    /// Whether the file has it, or will when what is pending is written.
    is_written: bool,
    /// What the first lines pending need and the file has, but not a new one.
    carried: Option<(u64, Arc<[Arc<str>]>)>,
    /// Whether a line pending speaks of clusters by number.
    has_diagnosis: bool,
}

impl Log {
    pub(super) fn new(directory: Option<PathBuf>, limit: u64) -> Self {
        Self {
            directory,
            limit,
            pending: Vec::new(),
            names: Arc::default(),
            roster: 0,
            is_written: false,
            carried: None,
            has_diagnosis: false,
        }
    }

    /// One list for all diagnoses that speak of the same clusters: there is a new one whenever a cluster changes, and
    /// mostly with the same names.
    pub(super) fn names(&mut self, names: &Arc<[Arc<str>]>) -> Arc<[Arc<str>]> {
        if !Arc::ptr_eq(&self.names, names) && self.names != *names {
            self.names = Arc::clone(names);
            self.roster += 1;
            self.is_written = false;
        }
        Arc::clone(&self.names)
    }

    /// Adds a line to what the next flush writes; names are those that [`names`](Self::names) gave last.
    pub(super) fn push(&mut self, record: &Record) {
        if self.directory.is_none() {
            return;
        }
        // Bounded like the file: if it cannot be written for long, the lines that came first go.
        if self.pending.len() as u64 > self.limit {
            self.clear();
            self.is_written = false;
        }
        if matches!(record.diagnosis, Packed::Here { .. }) {
            if !self.is_written {
                let line = roster_line(self.roster, &self.names);
                self.pending.extend_from_slice(line.as_bytes());
                self.is_written = true;
            } else if !self.has_diagnosis {
                self.carried = Some((self.roster, Arc::clone(&self.names)));
            }
            self.has_diagnosis = true;
        }
        let line = record.to_line(self.roster);
        self.pending.extend_from_slice(line.as_bytes());
        self.pending.push(b'\n');
    }

    /// Writes what was added. What cannot be written is kept for the next time.
    pub(super) fn flush(&mut self) -> Result<(), FileError> {
        let Some(directory) = self.directory.clone().filter(|_| !self.pending.is_empty()) else {
            return Ok(());
        };
        let path = directory.join(NEWER);
        let failed = |source| FileError {
            path: path.clone(),
            source,
        };
        fs::create_dir_all(&directory).map_err(failed)?;
        let size = fs::metadata(&path).map_or(0, |file| file.len());
        if size > 0 && size + self.pending.len() as u64 > self.limit {
            fs::rename(&path, directory.join(OLDER)).map_err(failed)?;
            if let Some((roster, names)) = self.carried.take() {
                let mut lines = roster_line(roster, &names).into_bytes();
                lines.append(&mut self.pending);
                self.pending = lines;
            }
        }
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(failed)?;
        file.write_all(&self.pending).map_err(failed)?;
        self.clear();
        Ok(())
    }

    fn clear(&mut self) {
        self.pending.clear();
        self.carried = None;
        self.has_diagnosis = false;
    }
}

/// A list of clusters as a line of the file has it.
fn roster_line(roster: u64, names: &[Arc<str>]) -> String {
    let names: Vec<&str> = names.iter().map(|name| &**name).collect();
    let mut line = json!({"names": names, "roster": roster}).to_string();
    line.push('\n');
    line
}
