//! What each path took when it was last recorded.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

/// Instructions of one round, by path.
pub(crate) type Counts = BTreeMap<String, u64>;

pub(crate) fn read() -> Result<Counts> {
    let text = fs::read_to_string(file()).context("cannot read counts.txt")?;
    parse(&text)
}

pub(crate) fn write(counts: &Counts) -> Result<()> {
    let mut text = String::from(
        "# Instructions of one round of each path, by `cargo run -p karavel-guard -- record`.\n",
    );
    for (name, count) in counts {
        writeln!(text, "{name} {count}")?;
    }
    fs::write(file(), text).context("cannot write counts.txt")
}

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("counts.txt")
}

fn parse(text: &str) -> Result<Counts> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, count) = line
                .split_once(' ')
                .context("a line is a name and a count")?;
            let count = count.trim().parse().with_context(|| format!("{line:?}"))?;
            Ok((name.to_owned(), count))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths;

    #[test]
    fn every_path_is_recorded_and_nothing_else() {
        let recorded: Vec<String> = read().unwrap().into_keys().collect();
        let mut known: Vec<&str> = paths::ALL.iter().map(|path| path.name).collect();
        known.sort_unstable();
        assert_eq!(recorded, known);
    }

    #[test]
    fn a_line_that_says_nothing_is_refused() {
        assert!(parse("decide").is_err());
        assert!(parse("decide many").is_err());
        assert_eq!(parse("# note\ndecide 7\n").unwrap()["decide"], 7);
    }
}
