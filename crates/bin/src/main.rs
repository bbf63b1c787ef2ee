//! The one binary: arguments, roles, wiring.
//!
//! What was typed is in `arguments`; each command is a call into a part. Here is what ties them together: the runtime,
//! the log, signals, and what a command's end looks like on the terminal.

mod apart;
mod arguments;
mod bench;
mod care;
mod clusters;
mod completion;
mod configuration;
mod demo;
mod directory;
mod estimator;
mod fault;
mod given;
mod instead;
mod memory;
mod overview;
mod pods;
mod preflight;
mod program;
mod reading;
mod reference;
mod running;
mod scheduling;
mod security;
mod server;
mod sim;
mod slips;
mod storage;
mod switches;
mod terminal;
mod tokens;
mod up;
mod writing;

use std::io::Write;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use cli::{Cordon, Failure, Marks, Reach};

use crate::arguments::{Arguments, Backup, Command, Restore};
use crate::directory::{Beside, Purpose};
use crate::instead::Otherwise;
use crate::program::Program;

/// Objects are many small values that live shortly; the system allocator took a third of a write.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let program = Program::of_process();
    match program.parse(std::env::args_os()) {
        Ok(arguments) => {
            let reach: Reach = arguments.reach.clone().into();
            let ended = run(&program, arguments);
            end(ended.map_err(|failure| reach.explain(failure, clusters::now())))
        }
        Err(program::Unusable::Usage(error)) => usage(program, &error),
        Err(program::Unusable::Apart(failure) | program::Unusable::Configuration(failure)) => {
            end(Err(failure))
        }
    }
}

fn end(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            match failure {
                Failure::Ended { .. } => say(&format!("{failure}\n")),
                _ => say(&format!("{}\n{}\n", headed(&failure), failure.hint())),
            }
            ExitCode::from(failure.exit_code())
        }
    }
}

/// What went wrong, line by line. What a server says begins as kubectl has it: scripts look for that.
fn headed(failure: &Failure) -> String {
    let said = failure.to_string();
    let lines = said.split("\nerror: ").map(|line| {
        if line.starts_with("from server") {
            return format!("{} {line}", terminal::alarm("Error"));
        }
        format!("{} {line}", terminal::alarm("error:"))
    });
    lines.collect::<Vec<String>>().join("\n")
}

fn run(program: &Program, arguments: Arguments) -> Result<(), Failure> {
    let reach = arguments.reach.into();
    match arguments.command {
        Command::Up(up) => up::run(*up),
        Command::Server(server) => server::run(*server),
        Command::Sim(sim) => sim::run(&reach, *sim),
        Command::Estimator(estimator) => estimator::run(&reach, *estimator),
        Command::Join(join) => clusters::join(&reach, &join),
        Command::Unjoin(unjoin) => clusters::unjoin(&reach, &unjoin),
        Command::Clusters(clusters) => clusters::clusters(&reach, clusters),
        Command::Cordon(cordon) => clusters::cordon(&reach, &cordon, Cordon::Closed),
        Command::Uncordon(cordon) => clusters::cordon(&reach, &cordon, Cordon::Open),
        Command::Taint(taint) => clusters::taint(&reach, &taint),
        Command::Get(get) => reading::get(&reach, *get),
        Command::Describe(describe) => reading::describe(&reach, *describe),
        Command::Logs(logs) => pods::logs(&reach, *logs),
        Command::Exec(exec) => pods::exec(&reach, *exec),
        Command::Attach(attach) => pods::attach(&reach, *attach),
        Command::PortForward(forward) => pods::port_forward(&reach, *forward),
        Command::Top(top) => reading::top(&reach, *top),
        Command::Events(events) => reading::events(&reach, *events),
        Command::Explain(explain) => reading::explain(&reach, explain),
        Command::Simulate(simulate) => writing::simulate(&reach, *simulate),
        Command::Apply(apply) => writing::apply(&reach, *apply),
        Command::Create(create) => writing::create(&reach, *create),
        Command::Delete(delete) => writing::delete(&reach, *delete),
        Command::Edit(edit) => writing::edit(&reach, *edit),
        Command::Patch(patch) => writing::patch(&reach, *patch),
        Command::Label(mark) => writing::mark(&reach, *mark, Marks::Labels),
        Command::Annotate(mark) => writing::mark(&reach, *mark, Marks::Annotations),
        Command::Promote(promote) => writing::promote(&reach, *promote),
        Command::Interpret(interpret) => writing::try_rules(*interpret),
        Command::ApiResources(typed) => reading::api_resources(&reach, typed),
        Command::ApiVersions(typed) => reading::api_versions(&reach, typed),
        Command::Token(token) => tokens::token(&reach, *token),
        Command::Init(_) => Err(instead::refuse(Otherwise::Init)),
        Command::Deinit(_) => Err(instead::refuse(Otherwise::Deinit)),
        Command::Addons(_) => Err(instead::refuse(Otherwise::Addons)),
        Command::Register(_) => Err(instead::refuse(Otherwise::Register)),
        Command::Unregister(_) => Err(instead::refuse(Otherwise::Unregister)),
        Command::Crds(crds) => print(&cli::crds(crds.name.as_deref(), crds.output.into())?),
        Command::Bench(bench) => bench::run(*bench),
        Command::Backup(backup) => save(&reach, &backup),
        Command::Restore(restore) => begin_anew(&restore),
        Command::Version { .. } => print(&program.version()),
        Command::Options => print(&program.options()),
        Command::Completion { shells } => completion::script(program, &shells),
        Command::Reference => print(&reference::page(*program)),
        Command::Complete { words } => completion::complete(program, &reach, &words),
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
    directory::check(&typed.data_dir, Purpose::ControlPlane, Beside::Keys)?;
    let saved = cli::restore(&typed.file, &typed.data_dir)?;
    let directory = terminal::word(&typed.data_dir);
    print(&format!(
        "restored {} objects at revision {} to {directory}
bring pki/encryption.key from the data directory that was saved to {directory}/pki: it is not in a backup
then start it with: karavel server --data-dir {directory}
",
        saved.entries, saved.revision
    ))
}

/// Help and versions go to standard output and are no error; everything else was typed wrongly.
fn usage(program: Program, error: &clap::Error) -> ExitCode {
    let kind = error.kind();
    if let (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word))) =
        (kind, error.get(ContextKind::InvalidSubcommand))
    {
        let typed = std::env::args_os().skip(1);
        let typed = typed.map(|typed| typed.to_string_lossy().into_owned());
        let before: Vec<String> = typed.take_while(|typed| typed != word).collect();
        return end(Err(instead::unknown(program, word, &before)));
    }
    // Upstream: a command that lacks its next word tells its words, which is no mistake.
    if !error.use_stderr() || kind == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return end(print(&error.render().to_string()));
    }
    let said = slips::told(error);
    say(&said.replacen("error:", &terminal::alarm("error:"), 1));
    let is_command = std::env::args_os().any(|word| word == "exec");
    if kind == ErrorKind::UnknownArgument && is_command {
        say("the command stands behind two dashes: karavel exec POD -C NAME -- date\n");
    }
    ExitCode::from(1)
}

/// A reader that has seen enough, such as `head`, is no reason to fail; a full disk is.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    offer(text).map(drop)
}

/// Prints, and says whether anybody still reads.
pub(crate) fn offer(text: &str) -> Result<bool, Failure> {
    let mut output = std::io::stdout().lock();
    match output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
    {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => {
            let what = format!("cannot write to standard output: {error}");
            Err(Failure::failed(what, "check where the output goes"))
        }
    }
}

pub(crate) fn say(text: &str) {
    drop(std::io::stderr().write_all(text.as_bytes()));
}
