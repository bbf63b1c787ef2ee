//! The slow suites from the command line; `cargo xtask` runs them.
//!
//! A suite is named first, then what it should do. The exit code tells whether the server behaved (0), did not (1), or
//! could not be judged at all (2).
#![expect(
    clippy::print_stderr,
    reason = "a command for the terminal talks through it"
)]

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use outside::cache::Cache;
use outside::{clients, crash, idle, kubernetes, members, oracle, rollout, versus};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(problem) => {
            eprintln!("outside: {problem:#}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<bool> {
    let cache = Cache::open()?;
    let (suite, options) = arguments.split_first().context("name a suite")?;
    let options = Options::parse(options)?;
    match suite.as_str() {
        "kubernetes" => kubernetes::ensure_built(&cache).map(|()| true),
        "clients" => clients::run(
            &cache,
            &clients::Choice {
                karavel: options.karavel()?,
                only: options.words,
                minutes: options.minutes.unwrap_or(3),
            },
        ),
        "oracle" => oracle::run(
            &cache,
            &oracle::Choice {
                karavel: options.karavel()?,
                seed: options.seed,
                definitions: options.count.unwrap_or(50),
                sequences: 10,
                length: 6,
                only: options.words,
            },
        ),
        "crash" => crash::run(&crash::Choice {
            karavel: options.karavel()?,
            times: options.count.unwrap_or(100),
            seed: options.seed,
            only: options.words,
        }),
        "rollout" => rollout::run(&rollout::Choice {
            karavel: options.karavel()?,
            times: options.count.unwrap_or(100),
            objects: 500,
            seed: options.seed,
        }),
        "idle-members" => idle::run(&idle::Choice {
            karavel: options.karavel()?,
            members: usize::try_from(options.count.unwrap_or(1_000)).context("too many members")?,
        }),
        "real-members" => members::run(
            &cache,
            &members::Choice {
                karavel: options.karavel()?,
                only: options.words,
            },
        ),
        "versus" => versus::run(
            &cache,
            &versus::Choice {
                karavel: options.karavel()?,
                size: options
                    .words
                    .first()
                    .map_or("usual", String::as_str)
                    .to_owned(),
            },
        ),
        other => bail!("there is no suite `{other}`"),
    }
}

/// What may follow a suite's name.
#[derive(Default)]
struct Options {
    karavel: Option<PathBuf>,
    minutes: Option<u64>,
    seed: u64,
    count: Option<u64>,
    words: Vec<String>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut value = || {
                rest.next()
                    .with_context(|| format!("{argument} needs a value"))
            };
            match argument.as_str() {
                "--karavel" => options.karavel = Some(PathBuf::from(value()?)),
                "--minutes" => {
                    options.minutes = Some(value()?.parse().context("--minutes wants a number")?)
                }
                "--seed" => options.seed = value()?.parse().context("--seed wants a number")?,
                "--count" | "--times" => {
                    options.count = Some(value()?.parse().context("a count is a number")?)
                }
                other if other.starts_with('-') => bail!("there is no option {other}"),
                other => options.words.push(other.to_owned()),
            }
        }
        Ok(options)
    }

    /// The server under test: the one given, or the one beside this program.
    fn karavel(&self) -> Result<PathBuf> {
        let program = match &self.karavel {
            Some(program) => program.clone(),
            None => std::env::current_exe()
                .context("cannot find this program")?
                .with_file_name("karavel"),
        };
        if !program.is_file() {
            bail!(
                "{} is not there: build it with `cargo build -p karavel`",
                program.display()
            );
        }
        Ok(program)
    }
}
