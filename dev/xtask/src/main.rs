//! The repository's own commands: what a contributor types and what CI runs.
//!
//! `cargo xtask tidy` checks the house rules that no compiler checks, `cargo xtask setup` brings in the tools that
//! the machine lacks, and `cargo xtask ci` runs everything a change must pass, in one go. The slow suites of
//! `dev/outside` are started from here too.
//!
//! Entry points: [`tidy::run`], [`setup::run`], [`ci::run`], [`outside::run`].
//! Keeps: the checks of `tidy` are pure functions over a [`tidy::Repository`] held in memory, so their tests plant
//! violations as data.
//! Does not: know anything of the product's crates beyond their names and layers.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command for the terminal talks through it"
)]

mod ci;
mod outside;
mod setup;
mod tidy;
mod workspace;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

  tidy                          check the house rules; one line for each violation
  setup                         install the tools that are missing into target/tools
  ci [--advisories] [STEP]...   run every check that a change must pass, or only the steps named

slow suites, with programs fetched or built once into a cache outside the clone:

  kubernetes                    build real API servers from Debian's packages
  clients [WHICH]...            kubectl 1.28 to 1.36, helm 3 and 4, Python, Node, kopf
  oracle [--seed N] [--count N] the same random requests to our server and to real ones
  crash [--times N] [STORE]     kill the server under a write load, again and again
  idle-members [--count N]      what a thousand members cost that have joined and do nothing
  real-members [WHICH]...       a real cluster as a member, through what a simulated one goes through
  rollout [--times N]           kill the server while templates change, again and again
  versus [SIZE]                 the same requests to a real API server on etcd and to ours, for release builds
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["tidy"] => tidy::run(),
        ["setup"] => setup::run().map(|()| true),
        ["ci", options @ ..] => match ci::Options::parse(options) {
            Ok(options) => ci::run(&options),
            Err(problem) => return refuse(&problem),
        },
        [suite, options @ ..] if outside::SUITES.contains(suite) => outside::run(suite, options),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        [] => return refuse("no command given"),
        [command, ..] => return refuse(&format!("cannot run `{}`", command)),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(problem) => {
            eprintln!("xtask: {problem:#}");
            ExitCode::from(2)
        }
    }
}

fn refuse(problem: &str) -> ExitCode {
    eprint!("xtask: {problem}\n\n{USAGE}");
    ExitCode::from(1)
}
