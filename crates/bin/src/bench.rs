//! `karavel bench`: workloads, progress on the terminal, reports.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use bench::{BenchError, Given, Own, Progress, Report, Settings, Size};
use cli::Failure;
use client::KubeconfigSource;

use crate::arguments::{Bench, BenchCommand, BenchSize};
use crate::{print, running, say};

/// Between two pictures of a bar.
const FRAME: Duration = Duration::from_millis(100);
/// How wide a bar is.
const WIDTH: usize = 24;

/// Runs what was asked for.
pub(crate) fn run(typed: Bench) -> Result<(), Failure> {
    if let Some(BenchCommand::Compare { first, second }) = &typed.further {
        let load = |path: &Path| Report::load(path).map_err(|error| refuse(&error));
        return print(&bench::compare(&load(first)?, &load(second)?).to_string());
    }
    let workloads = bench::workloads(&typed.workloads).map_err(|error| refuse(&error))?;
    if typed.list {
        let lines = workloads
            .iter()
            .map(|workload| format!("{:<10} {}\n", workload.name, workload.about));
        return print(&lines.collect::<String>());
    }
    let settings = settings(&typed)?;
    let report = running::block_on(bench::run(&workloads, &settings, &Bar::default()))?
        .map_err(|error| refuse(&error))?;
    for path in &typed.reports {
        report.save(path).map_err(|error| refuse(&error))?;
    }
    print(&format!("\n{report}"))
}

fn settings(typed: &Bench) -> Result<Settings, Failure> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::failed(
            format!("cannot find this program: {error}"),
            "call it by its full path",
        )
    })?;
    Ok(Settings {
        given: match &typed.control {
            None => None,
            Some(control) => Some(given(control, typed)?),
        },
        own: Own {
            program,
            arguments: typed.server_flags.clone(),
        },
        size: match typed.size {
            BenchSize::Trial => Size::Trial,
            BenchSize::Small => Size::Small,
            BenchSize::Usual => Size::Usual,
            BenchSize::Large => Size::Large,
        },
        version: match option_env!("KARAVEL_COMMIT") {
            Some(commit) => format!("{} ({commit})", env!("CARGO_PKG_VERSION")),
            None => env!("CARGO_PKG_VERSION").to_owned(),
        },
    })
}

fn given(control: &str, typed: &Bench) -> Result<Given, Failure> {
    let mut members = Vec::new();
    for text in &typed.members {
        let Some((name, file)) = text.split_once('=') else {
            return Err(Failure::refused(
                format!("--members {text:?} does not name a member"),
                "write --members NAME=FILE, or --members NAME=FILE,CONTEXT",
            ));
        };
        members.push((name.to_owned(), source(file)));
    }
    Ok(Given {
        control: source(control),
        members,
        processes: typed.pids.clone(),
    })
}

/// A file, perhaps with a context behind a comma.
fn source(text: &str) -> KubeconfigSource {
    let (path, context) = match text.split_once(',') {
        Some((path, context)) => (path, Some(context.to_owned())),
        None => (text, None),
    };
    KubeconfigSource::File {
        path: PathBuf::from(path),
        context,
    }
}

fn refuse(error: &BenchError) -> Failure {
    let what = telemetry::chain(error).to_string();
    match error {
        // What is to be read was named by whoever typed it.
        BenchError::Unknown { .. }
        | BenchError::Unfit { .. }
        | BenchError::Report { .. }
        | BenchError::File { doing: "read", .. } => Failure::refused(what, error.hint()),
        _ => Failure::failed(what, error.hint()),
    }
}

/// What is under way, on standard error: a bar on a terminal, a line for each step elsewhere.
#[derive(Default)]
struct Bar {
    now: Mutex<Option<Now>>,
}

struct Now {
    what: String,
    begun: Instant,
    drawn: Option<Instant>,
}

impl Progress for Bar {
    fn begin(&self, what: &str) {
        let now = Now {
            what: what.to_owned(),
            begun: Instant::now(),
            drawn: None,
        };
        *self.lock() = Some(now);
        self.advance(0, 1);
    }

    fn advance(&self, done: usize, of: usize) {
        if !std::io::stderr().is_terminal() {
            return;
        }
        let mut now = self.lock();
        let Some(now) = now.as_mut() else { return };
        if now.drawn.is_some_and(|drawn| drawn.elapsed() < FRAME) {
            return;
        }
        now.drawn = Some(Instant::now());
        let full = (WIDTH * done)
            .checked_div(of)
            .unwrap_or_default()
            .min(WIDTH);
        let bar = format!("{}{}", "█".repeat(full), "░".repeat(WIDTH - full));
        say(&format!("\r\x1b[K{bar} {} ({done}/{of})", now.what));
        drop(std::io::stderr().flush());
    }

    fn end(&self, outcome: &str) {
        let Some(now) = self.lock().take() else {
            return;
        };
        let clear = if std::io::stderr().is_terminal() {
            "\r\x1b[K"
        } else {
            ""
        };
        let took = now.begun.elapsed().as_secs_f64();
        say(&format!("{clear}[{took:6.1} s] {}: {outcome}\n", now.what));
    }
}

impl Bar {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Now>> {
        self.now
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_that_is_not_there_is_refused_and_told_once() {
        let missing = Report::load(Path::new("/nowhere/at/all")).unwrap_err();
        let failure = refuse(&missing);
        assert_eq!(failure.exit_code(), 1);
        let said = failure.to_string();
        assert_eq!(said.matches("No such file").count(), 1, "{said}");
    }
}
