//! The one binary: arguments, roles, wiring.
//!
//! What was typed is in `arguments`; each command is a call into a part. Here is what ties them together: the runtime,
//! the log, signals, and what a command's end looks like on the terminal.

mod arguments;
mod server;
mod storage;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::Parser;
use cli::Failure;

use crate::arguments::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error),
    };
    end(run(arguments))
}

fn end(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say(&format!("error: {failure}\n{}\n", failure.hint()));
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        Command::Server(server) => server::run(*server),
        Command::Crds(crds) => print(&cli::crds(crds.name.as_deref(), crds.output.into())?),
        Command::Backup(backup) => {
            let saved = server::block_on(cli::backup(&backup.kubeconfig, &backup.file))??;
            let cli::Saved {
                entries,
                revision,
                bytes,
            } = saved;
            print(&format!(
                "saved {entries} objects at revision {revision} to {} ({bytes} bytes)\n",
                backup.file.display()
            ))
        }
        Command::Restore(restore) => {
            let saved = cli::restore(&restore.file, &restore.data_dir)?;
            let directory = restore.data_dir.display();
            print(&format!(
                "restored {} objects at revision {} to {directory}
start it with: karavel server --data-dir {directory}
",
                saved.entries, saved.revision
            ))
        }
        Command::Version => print(&format!("karavel {}\n", env!("CARGO_PKG_VERSION"))),
    }
}

/// Help and versions go to standard output and are no error; everything else was typed wrongly.
fn usage(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        say(&error.render().to_string());
        return ExitCode::from(1);
    }
    end(print(&error.render().to_string()))
}

/// A reader that has seen enough, such as `head`, is no reason to fail; a full disk is.
fn print(text: &str) -> Result<(), Failure> {
    let mut output = std::io::stdout().lock();
    match output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
    {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let what = format!("cannot write to standard output: {error}");
            Err(Failure::failed(what, "check where the output goes"))
        }
        _ => Ok(()),
    }
}

fn say(text: &str) {
    drop(std::io::stderr().write_all(text.as_bytes()));
}
