//! Counting, and judging what was counted.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::counts::{self, Counts};
use crate::paths::{self, Path};
use crate::say;

/// How much a count may differ from what was recorded: compilers and libraries move a little on their own.
pub(crate) const BOUND: f64 = 0.15;

/// Where valgrind keeps its tools, for one that was unpacked and not installed.
const TOOLS: &str = "VALGRIND_LIB";

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Same,
    Dearer,
    Cheaper,
    New,
}

/// Counts all paths; false if one became dearer than the bound.
pub(crate) fn check() -> Result<bool> {
    let recorded = counts::read()?;
    let mut good = true;
    for path in paths::ALL {
        let now = count(path)?;
        let before = recorded.get(path.name).copied();
        let verdict = judge(before, now);
        let change = before.map_or(0.0, |before| percent(before, now));
        let word = match verdict {
            Verdict::Same => "ok",
            Verdict::Dearer => "DEARER",
            Verdict::Cheaper => "cheaper: record it with `cargo run -p karavel-guard -- record`",
            Verdict::New => "NOT RECORDED",
        };
        say(&format!(
            "{:<10} {now:>10} instructions {change:>+7.1} %  {word}",
            path.name
        ));
        good &= matches!(verdict, Verdict::Same | Verdict::Cheaper);
    }
    Ok(good)
}

/// Counts all paths and writes down what they took.
pub(crate) fn record() -> Result<bool> {
    let mut counts = Counts::new();
    for path in paths::ALL {
        let count = count(path)?;
        say(&format!("{:<10} {count:>10} instructions", path.name));
        counts.insert(path.name.to_owned(), count);
    }
    counts::write(&counts)?;
    Ok(true)
}

fn judge(before: Option<u64>, now: u64) -> Verdict {
    let Some(before) = before else {
        return Verdict::New;
    };
    let change = percent(before, now) / 100.0;
    match change {
        change if change > BOUND => Verdict::Dearer,
        change if change < -BOUND => Verdict::Cheaper,
        _ => Verdict::Same,
    }
}

fn percent(before: u64, now: u64) -> f64 {
    (now as f64 / before as f64 - 1.0) * 100.0
}

/// What one round takes: the difference between a few and many, so that starting does not count.
fn count(path: &Path) -> Result<u64> {
    let few = instructions(path, path.rounds)?;
    let many = instructions(path, path.rounds * 3)?;
    Ok((many - few) / (u64::from(path.rounds) * 2))
}

fn instructions(path: &Path, rounds: u32) -> Result<u64> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new("valgrind");
    if let Some(tools) = unpacked_tools() {
        command.env(TOOLS, tools);
    }
    let output = command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["run", path.name, &rounds.to_string()])
        .output()
        .context("cannot run valgrind: `cargo xtask setup` gets it")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} failed: {said}", path.name);
    collected(&said).with_context(|| format!("valgrind counted nothing: {said}"))
}

/// A valgrind in `x/bin` that was unpacked has its tools in `x/valgrind`.
fn unpacked_tools() -> Option<PathBuf> {
    if std::env::var_os(TOOLS).is_some() {
        return None;
    }
    let path = std::env::var_os("PATH")?;
    let program = std::env::split_paths(&path)
        .map(|folder| folder.join("valgrind"))
        .find(|program| program.exists())?;
    let tools = program.parent()?.parent()?.join("valgrind");
    tools
        .join("callgrind-amd64-linux")
        .exists()
        .then_some(tools)
}

fn collected(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.split_once("Collected :"));
    line?.1.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_judged_by_the_one_before() {
        let cases = [
            (Some(1000), 1100, Verdict::Same),
            (Some(1000), 900, Verdict::Same),
            (Some(1000), 1200, Verdict::Dearer),
            (Some(1000), 800, Verdict::Cheaper),
            (None, 800, Verdict::New),
        ];
        for (before, now, expected) in cases {
            assert_eq!(judge(before, now), expected, "{before:?} {now}");
        }
    }

    #[test]
    fn the_count_is_read_from_what_valgrind_says() {
        let said = "==7== Events    : Ir\n==7== Collected : 140878\n==7== \n";
        assert_eq!(collected(said), Some(140_878));
        assert_eq!(collected("==7== Killed"), None);
    }
}
