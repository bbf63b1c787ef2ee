//! The one binary: arguments, roles, wiring.
//!
//! What was typed is in `arguments`; each command is a call into a part. Here is what ties them together: the runtime,
//! the log, signals, and what a command's end looks like on the terminal.

mod arguments;
mod clusters;
mod plane;
mod reading;
mod running;
mod server;
mod sim;
mod storage;
mod up;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::Parser;
use cli::{Cordon, Failure, Reach};

use crate::arguments::{Arguments, Backup, Command, Restore};

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
    let reach = arguments.reach.into();
    match arguments.command {
        Command::Up(up) => up::run(up),
        Command::Server(server) => server::run(*server),
        Command::Sim(sim) => sim::run(sim),
        Command::Join(join) => clusters::join(&reach, &join),
        Command::Unjoin(unjoin) => clusters::unjoin(&reach, &unjoin),
        Command::Clusters => clusters::clusters(&reach),
        Command::Cordon(cordon) => clusters::cordon(&reach, &cordon, Cordon::Closed),
        Command::Uncordon(cordon) => clusters::cordon(&reach, &cordon, Cordon::Open),
        Command::Taint(taint) => clusters::taint(&reach, &taint),
        Command::Get(get) => reading::get(&reach, *get),
        Command::Explain(explain) => reading::explain(&reach, &explain),
        Command::Crds(crds) => print(&cli::crds(crds.name.as_deref(), crds.output.into())?),
        Command::Backup(backup) => save(&reach, &backup),
        Command::Restore(restore) => begin_anew(&restore),
        Command::Version => print(&format!("karavel {}\n", env!("CARGO_PKG_VERSION"))),
    }
}

fn save(reach: &Reach, typed: &Backup) -> Result<(), Failure> {
    let saved = running::block_on(async {
        let control = reach.connect().await?;
        cli::backup(&control, &typed.file).await
    })??;
    let cli::Saved {
        entries,
        revision,
        bytes,
    } = saved;
    let file = typed.file.display();
    print(&format!(
        "saved {entries} objects at revision {revision} to {file} ({bytes} bytes)\n"
    ))
}

fn begin_anew(typed: &Restore) -> Result<(), Failure> {
    let saved = cli::restore(&typed.file, &typed.data_dir)?;
    let directory = typed.data_dir.display();
    print(&format!(
        "restored {} objects at revision {} to {directory}
start it with: karavel server --data-dir {directory}
",
        saved.entries, saved.revision
    ))
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
pub(crate) fn print(text: &str) -> Result<(), Failure> {
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

pub(crate) fn say(text: &str) {
    drop(std::io::stderr().write_all(text.as_bytes()));
}
