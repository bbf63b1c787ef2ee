//! Counts the instructions of the hot paths and holds them against what they were.
//!
//! Time is different on every machine and in every minute; the number of instructions is not. Each path is run a few
//! times and many times under valgrind's callgrind; what the further rounds took is what one round costs, without
//! starting and setting up. `counts.txt` has what each took when it was last recorded. More than [`check::BOUND`] above it
//! fails; as much below it asks to be recorded, so that what was won is kept.
//!
//! The paths are counted in the build of the tests, so that a check costs no build of its own. The counts are therefore
//! higher than those of a release, and say only whether a path became dearer.
//!
//! `guard check`, `guard record`, `guard run PATH ROUNDS`, `guard list`.

mod check;
mod counts;
mod paths;

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            say(&format!("guard: {problem:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Result<bool> {
    match words {
        ["check"] => check::check(),
        ["record"] => check::record(),
        ["list"] => {
            for path in paths::ALL {
                say(&format!("{:<10} {}", path.name, path.about));
            }
            Ok(true)
        }
        ["run", name, rounds] => {
            let path = paths::find(name).with_context(|| format!("there is no path {name:?}"))?;
            let rounds = rounds.parse().context("rounds are a number")?;
            (path.run)(rounds)?;
            Ok(true)
        }
        _ => bail!("say `check`, `record`, `list` or `run PATH ROUNDS`"),
    }
}

#[expect(clippy::print_stdout, reason = "what it found is its output")]
fn say(text: &str) {
    println!("{text}");
}
