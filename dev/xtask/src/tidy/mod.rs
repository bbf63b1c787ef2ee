//! The house rules that no compiler checks.
//!
//! A check is a pure function from the [`Repository`] to [`Violation`]s. [`CHECKS`] lists them all; each file here
//! holds the checks about one subject, its rules as data at the top, and tests that plant violations.

mod bans;
mod documents;
mod files;
mod layers;
mod lockfile;
mod marks;
mod repository;
mod source;
mod words;

use std::fmt;

use anyhow::Result;

pub(crate) use repository::{Crate, Dependency, DependencyKind, Repository};

/// One broken rule: where, what, and what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    /// Relative to the root, with forward slashes.
    path: String,
    /// Counted from one.
    line: usize,
    wrong: String,
    instead: String,
}

impl Violation {
    fn new(path: &str, line: usize, wrong: impl Into<String>, instead: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            wrong: wrong.into(),
            instead: instead.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            line,
            wrong,
            instead,
        } = self;
        write!(f, "{path}:{line}: {wrong}; {instead}")
    }
}

type Check = fn(&Repository) -> Vec<Violation>;

const CHECKS: &[Check] = &[
    layers::check_layers,
    layers::check_arrows,
    files::check_sizes,
    files::check_introductions,
    files::check_names,
    marks::check_marks,
    marks::check_plans,
    words::check_words,
    documents::check_adrs,
    documents::check_architecture,
    documents::check_links,
    bans::check_bans,
    lockfile::check_lockfile,
];

/// Checks the repository and prints what is wrong; true when nothing is.
pub(crate) fn run() -> Result<bool> {
    let repository = Repository::load(crate::workspace::root())?;
    let violations = violations(&repository);
    for violation in &violations {
        println!("{violation}");
    }
    match violations.len() {
        0 => println!(
            "tidy: {} files and {} crates are in order",
            repository.files.len(),
            repository.crates.len()
        ),
        1 => println!("tidy: 1 violation"),
        count => println!("tidy: {count} violations"),
    }
    Ok(violations.is_empty())
}

fn violations(repository: &Repository) -> Vec<Violation> {
    let mut violations: Vec<Violation> =
        CHECKS.iter().flat_map(|check| check(repository)).collect();
    violations.sort();
    violations
}

/// Runs one check and prints its findings, a line each.
#[cfg(test)]
fn report(check: Check, repository: &Repository) -> String {
    let lines: Vec<String> = check(repository).iter().map(Violation::to_string).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_checks_run_and_their_findings_come_sorted_by_place() {
        let repository = Repository::default()
            .with_file("crates/model/object/src/util.rs", "// fine\n")
            .with_file("crates/model/object/src/lib.rs", "fn main() {}\n")
            .with_crate("crates/model/object", Some("model"));
        let places: Vec<String> = violations(&repository)
            .iter()
            .map(|violation| format!("{}:{}", violation.path, violation.line))
            .collect();
        assert_eq!(
            places,
            [
                "crates/model/clippy.toml:1",
                "crates/model/object/src/lib.rs:1",
                "crates/model/object/src/util.rs:1"
            ]
        );
    }
}
