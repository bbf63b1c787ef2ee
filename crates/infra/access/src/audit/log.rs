//! Where lines go: a file that is put aside when it is full.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use listen::private_directory;
use object::Value;
use tokio::sync::{mpsc, oneshot};

/// Where the log is and how much of it is kept.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// The file that is written to; `-` for standard output, of which nothing is put aside.
    pub path: PathBuf,
    /// A larger file is put aside and a new one begun.
    pub largest: u64,
    /// How many files put aside are kept; `None` keeps all.
    pub kept: Option<NonZeroUsize>,
    /// Files put aside longer ago than this are removed; `None` keeps them.
    pub oldest: Option<Duration>,
}

/// Lines on their way to the file. When the disk is slow, requests wait: what happened is not forgotten.
#[derive(Clone)]
pub struct AuditLog {
    lines: mpsc::Sender<Piece>,
    late: Arc<Late>,
}

/// Lines of those who cannot wait: one for each stream that has ended and is not written about yet.
#[derive(Default)]
struct Late {
    lines: Mutex<Vec<Vec<u8>>>,
    /// There was no room to tell the writer of one of them.
    untold: AtomicBool,
}

/// What the writer is sent.
enum Piece {
    Line(Vec<u8>),
    /// There are late lines.
    Late,
    /// Everything before this is written when it is answered.
    Flush(oneshot::Sender<()>),
}

/// How many lines may be on their way.
const LINES: usize = 1024;

impl AuditLog {
    /// A log, and what writes it: run that on a thread that may block.
    pub fn open(options: LogOptions) -> io::Result<(Self, impl FnOnce() + Send + 'static)> {
        let (lines, mut coming) = mpsc::channel::<Piece>(LINES);
        let mut file = Sink::open(options)?;
        let late = Arc::new(Late::default());
        let coming_late = Arc::clone(&late);
        let writer = move || {
            let mut write = |line: &[u8]| {
                if let Err(error) = file.write(line) {
                    tracing::error!(%error, "audit line not written");
                }
            };
            while let Some(piece) = coming.blocking_recv() {
                let untold = coming_late.untold.swap(false, Ordering::AcqRel);
                if untold || !matches!(piece, Piece::Line(_)) {
                    coming_late.take().iter().for_each(|line| write(line));
                }
                match piece {
                    Piece::Line(line) => write(&line),
                    Piece::Late => {}
                    Piece::Flush(done) => done.send(()).unwrap_or_default(),
                }
            }
            coming_late.take().iter().for_each(|line| write(line));
        };
        Ok((Self { lines, late }, writer))
    }

    /// Writes one line.
    pub async fn write(&self, event: &Value) {
        // The writer ends only with the process.
        drop(self.lines.send(Piece::Line(line_of(event))).await);
    }

    /// Writes one line for somebody who cannot wait.
    pub fn write_late(&self, event: &Value) {
        self.late.lock().push(line_of(event));
        if self.lines.try_send(Piece::Late).is_err() {
            // There is no room, so the writer has something else to wake up for.
            self.late.untold.store(true, Ordering::Release);
        }
    }

    /// Waits until everything so far is in the file.
    pub async fn flush(&self) {
        let (done, written) = oneshot::channel();
        if self.lines.send(Piece::Flush(done)).await.is_ok() {
            drop(written.await);
        }
    }
}

impl Late {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Vec<u8>>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut *self.lock())
    }
}

fn line_of(event: &Value) -> Vec<u8> {
    let mut line = event.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// Where lines end up.
enum Sink {
    File(RotatingFile),
    Output(io::Stdout),
}

impl Sink {
    fn open(options: LogOptions) -> io::Result<Self> {
        if options.path.as_os_str() == "-" {
            return Ok(Self::Output(io::stdout()));
        }
        RotatingFile::open(options).map(Self::File)
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        match self {
            Self::File(file) => file.write(line),
            Self::Output(output) => {
                output.write_all(line)?;
                output.flush()
            }
        }
    }
}

struct RotatingFile {
    options: LogOptions,
    file: File,
    length: u64,
}

impl RotatingFile {
    fn open(options: LogOptions) -> io::Result<Self> {
        let directory = options.path.parent();
        // One that is there is its owner's to open or to close.
        if let Some(missing) =
            directory.filter(|path| !path.as_os_str().is_empty() && !path.exists())
        {
            private_directory(missing)?;
        }
        let file = append_to(&options.path)?;
        let length = file.metadata()?.len();
        Ok(Self {
            options,
            file,
            length,
        })
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.length > 0 && self.length + line.len() as u64 > self.options.largest {
            self.put_aside()?;
        }
        self.file.write_all(line)?;
        self.length += line.len() as u64;
        Ok(())
    }

    /// `audit.log` becomes `audit.log.1`, that `audit.log.2`, and the oldest goes if there are too many.
    fn put_aside(&mut self) -> io::Result<()> {
        let aside = |number: usize| {
            let mut name = self.options.path.clone().into_os_string();
            name.push(format!(".{number}"));
            PathBuf::from(name)
        };
        let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        let last = match self.options.kept {
            Some(kept) => kept.get(),
            // The first that is free, so that nothing is written over.
            None => (1..usize::MAX)
                .find(|number| !aside(*number).exists())
                .unwrap_or(usize::MAX),
        };
        for number in (1..last).rev() {
            match fs::rename(aside(number), aside(number + 1)) {
                Err(error) if !is_missing(&error) => return Err(error),
                _ => {}
            }
        }
        fs::rename(&self.options.path, aside(1))?;
        self.file = append_to(&self.options.path)?;
        self.length = 0;
        self.forget(SystemTime::now(), (1..=last).map(aside))
    }

    /// Removes files that were put aside too long ago.
    fn forget(&self, now: SystemTime, aside: impl Iterator<Item = PathBuf>) -> io::Result<()> {
        let Some(oldest) = self.options.oldest else {
            return Ok(());
        };
        for path in aside {
            let Ok(written) = fs::metadata(&path).and_then(|about| about.modified()) else {
                continue; // There are fewer than may be.
            };
            if now.duration_since(written).unwrap_or_default() > oldest {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_full_file_is_put_aside_and_the_oldest_goes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.log");
        let options = LogOptions {
            path: path.clone(),
            largest: 8,
            kept: NonZeroUsize::new(2),
            oldest: None,
        };
        let mut file = RotatingFile::open(options).unwrap();
        for line in [
            "one\n",
            "two\n",
            "three\n",
            "four\n",
            "a long line\n",
            "six\n",
        ] {
            file.write(line.as_bytes()).unwrap();
        }
        let shown =
            |name: &str| fs::read_to_string(directory.path().join(name)).unwrap_or_default();
        assert_eq!(
            [
                shown("audit.log"),
                shown("audit.log.1"),
                shown("audit.log.2"),
                shown("audit.log.3")
            ],
            ["six\n", "a long line\n", "four\n", ""]
        );
        file.options.oldest = Some(Duration::from_secs(3600));
        let aside = || [path.with_extension("log.1"), path.with_extension("log.2")].into_iter();
        let now = SystemTime::now();
        file.forget(now, aside()).unwrap();
        assert!(aside().all(|path| path.exists()));
        let later = now + Duration::from_secs(7200);
        file.forget(later, aside()).unwrap();
        assert!(!aside().any(|path| path.exists()));
    }

    #[test]
    fn without_a_limit_every_file_is_kept_until_it_is_too_old() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.log");
        let options = LogOptions {
            path: path.clone(),
            largest: 8,
            kept: None,
            oldest: None,
        };
        let mut file = RotatingFile::open(options).unwrap();
        let names = || {
            let found = fs::read_dir(directory.path()).unwrap();
            let mut names: Vec<String> = found
                .map(|entry| entry.unwrap())
                .map(|entry| {
                    let text = fs::read_to_string(entry.path()).unwrap();
                    format!("{} {text}", entry.file_name().display())
                })
                .collect();
            names.sort();
            names.join(" ")
        };
        for number in 0..4 {
            file.write(format!("line {number}").as_bytes()).unwrap();
        }
        assert_eq!(
            names(),
            "audit.log line 3 audit.log.1 line 2 audit.log.2 line 1 audit.log.3 line 0"
        );
        // Somebody took one away: nothing older has to move.
        fs::remove_file(path.with_extension("log.2")).unwrap();
        file.write(b"line 4").unwrap();
        assert_eq!(
            names(),
            "audit.log line 4 audit.log.1 line 3 audit.log.2 line 2 audit.log.3 line 0"
        );
        file.options.oldest = Some(Duration::ZERO);
        file.write(b"line 5").unwrap();
        assert_eq!(names(), "audit.log line 5");
    }

    #[test]
    fn a_dash_is_standard_output_and_no_file() {
        for (path, is_output) in [("-", true), ("/dev/null", false)] {
            let options = LogOptions {
                path: path.into(),
                largest: 8,
                kept: None,
                oldest: None,
            };
            let mut sink = Sink::open(options).unwrap();
            assert_eq!(matches!(sink, Sink::Output(_)), is_output, "{path}");
            // Nothing is put aside, however much there is.
            if is_output {
                for _ in 0..3 {
                    sink.write(b"{\"a\": \"line\"}\n").unwrap();
                }
            }
        }
        assert!(!Path::new("-").exists());
    }

    #[test]
    fn a_directory_that_is_missing_is_made_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("var/log");
        let options = LogOptions {
            path: directory.join("audit.log"),
            largest: 8,
            kept: NonZeroUsize::new(2),
            oldest: None,
        };
        RotatingFile::open(options).unwrap();
        for path in [&root.path().join("var"), &directory] {
            let mode = fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{}", path.display());
        }
    }

    #[test]
    fn late_lines_are_written_also_when_nobody_has_room_for_them() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.log");
        let (log, writer) = AuditLog::open(LogOptions {
            path: path.clone(),
            largest: 1 << 20,
            kept: None,
            oldest: None,
        })
        .unwrap();
        for number in 0..2 * LINES {
            log.write_late(&json!(number));
        }
        drop(log);
        writer();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 2 * LINES);
        assert!(text.starts_with("0\n1\n"));
    }
}
