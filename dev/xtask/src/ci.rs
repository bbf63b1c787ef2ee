//! Everything that a change must pass, in one command.
//!
//! Steps go from cheap to dear. A failed step does not stop the ones after it: one run tells all that is wrong.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::{setup, tidy, workspace};

/// What to run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Also ask the advisory database, which needs the network and git.
    advisories: bool,
    /// Only these steps; all when empty.
    only: Vec<String>,
}

enum Action {
    Setup,
    Tidy,
    /// Cargo with these arguments and environment.
    Cargo(
        &'static [&'static str],
        &'static [(&'static str, &'static str)],
    ),
}

struct Step {
    name: &'static str,
    action: Action,
}

const STEPS: &[Step] = &[
    Step {
        name: "setup",
        action: Action::Setup,
    },
    Step {
        name: "fmt",
        action: Action::Cargo(&["fmt", "--all", "--check"], &[]),
    },
    Step {
        name: "tidy",
        action: Action::Tidy,
    },
    Step {
        name: "deny",
        action: Action::Cargo(
            &["deny", "--locked", "check", "licenses", "bans", "sources"],
            &[],
        ),
    },
    Step {
        name: ADVISORIES,
        action: Action::Cargo(&["deny", "--locked", "check", "advisories"], &[]),
    },
    Step {
        name: "clippy",
        action: Action::Cargo(
            &[
                "clippy",
                "--locked",
                "--workspace",
                "--all-targets",
                "--",
                "-D",
                "warnings",
            ],
            &[],
        ),
    },
    Step {
        name: TESTS,
        action: Action::Cargo(
            &[
                "nextest",
                "run",
                "--locked",
                "--workspace",
                "--profile",
                "ci",
            ],
            &[],
        ),
    },
    Step {
        name: "doctest",
        action: Action::Cargo(&["test", "--locked", "--workspace", "--doc"], &[]),
    },
    Step {
        name: "doc",
        action: Action::Cargo(
            &["doc", "--locked", "--workspace", "--no-deps"],
            &[("RUSTDOCFLAGS", "-D warnings")],
        ),
    },
    Step {
        name: "bench",
        // Each bench once, to show that it works. As a test it shares the build of the steps above; `cargo bench`
        // would build everything again, optimised.
        action: Action::Cargo(
            &[
                "test",
                "--locked",
                "--workspace",
                "--bench",
                "*",
                "--",
                "--test",
            ],
            &[],
        ),
    },
    Step {
        name: "guard",
        // Instructions of the hot paths against what was recorded; in the build that is there already.
        action: Action::Cargo(
            &["run", "--locked", "-p", "karavel-guard", "--", "check"],
            &[],
        ),
    },
];

const ADVISORIES: &str = "advisories";
const TESTS: &str = "nextest";

impl Options {
    /// Understands the arguments after `ci`.
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        for argument in arguments {
            if *argument == "--advisories" {
                options.advisories = true;
            } else if STEPS.iter().any(|step| step.name == *argument) {
                options.only.push((*argument).to_owned());
            } else {
                let names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
                return Err(format!(
                    "there is no step `{argument}`; steps are {}",
                    names.join(", ")
                ));
            }
        }
        Ok(options)
    }

    fn wants(&self, step: &Step) -> bool {
        if self.only.is_empty() {
            return step.name != ADVISORIES || self.advisories;
        }
        self.only.iter().any(|name| name == step.name)
    }
}

struct Outcome {
    name: &'static str,
    passed: bool,
    took: Duration,
}

/// Runs the steps and prints a summary; true when all passed.
pub(crate) fn run(options: &Options) -> Result<bool> {
    // Totals of an earlier run must not pass for this one's.
    forget_totals()?;
    let mut outcomes = Vec::new();
    for step in STEPS.iter().filter(|step| options.wants(step)) {
        println!("\n==> {}", headline(step));
        let started = Instant::now();
        let passed = perform(step).unwrap_or_else(|problem| {
            println!("{}: {problem:#}", step.name);
            false
        });
        let outcome = Outcome {
            name: step.name,
            passed,
            took: started.elapsed(),
        };
        println!("<== {}", describe(&outcome));
        outcomes.push(outcome);
    }
    if !options.advisories && options.only.is_empty() {
        println!(
            "\nadvisories were not checked: they need the network; `cargo xtask ci --advisories` does"
        );
    }
    let totals = fs::read_to_string(totals_file()).ok();
    print!("\n{}", summary(&outcomes, totals.as_deref()));
    Ok(outcomes.iter().all(|outcome| outcome.passed))
}

fn headline(step: &Step) -> String {
    match &step.action {
        Action::Setup | Action::Tidy => format!("cargo xtask {}", step.name),
        Action::Cargo(arguments, environment) => {
            let environment: String = environment
                .iter()
                .map(|(name, value)| format!("{name}='{value}' "))
                .collect();
            let arguments: String = arguments
                .iter()
                .map(|argument| format!(" {}", quote(argument)))
                .collect();
            format!("{}: {environment}cargo{arguments}", step.name)
        }
    }
}

/// An argument as a shell needs it.
fn quote(argument: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_=./".contains(character);
    match argument.chars().all(plain) {
        true => argument.to_owned(),
        false => format!("'{argument}'"),
    }
}

fn perform(step: &Step) -> Result<bool> {
    match &step.action {
        Action::Setup => setup::run().map(|()| true),
        Action::Tidy => tidy::run(),
        Action::Cargo(arguments, environment) => {
            let status = workspace::cargo(arguments)?
                .envs(environment.iter().copied())
                .stdin(std::process::Stdio::null())
                .status()
                .context("cannot run cargo")?;
            Ok(status.success())
        }
    }
}

fn describe(outcome: &Outcome) -> String {
    let verdict = if outcome.passed { "ok" } else { "FAILED" };
    format!(
        "{:<10} {verdict:<6} {:>7.1} s",
        outcome.name,
        outcome.took.as_secs_f64()
    )
}

/// The table of steps and the totals; the last line counts the tests.
fn summary(outcomes: &[Outcome], report: Option<&str>) -> String {
    let mut text = String::new();
    for outcome in outcomes {
        text += &format!("{}\n", describe(outcome));
    }
    let took: Duration = outcomes.iter().map(|outcome| outcome.took).sum();
    let passed = outcomes.iter().filter(|outcome| outcome.passed).count();
    let failed = outcomes.len() - passed;
    text += &format!(
        "steps: {passed} passed, {failed} failed, {:.1} s\n",
        took.as_secs_f64()
    );
    if outcomes.iter().any(|outcome| outcome.name == TESTS) {
        for name in report.map(repeated).unwrap_or_default() {
            text += &format!("passed only when repeated, look into it: {name}\n");
        }
        text += &match report.and_then(Totals::parse) {
            Some(Totals { passed, failed }) => format!("tests: {passed} passed, {failed} failed\n"),
            None => String::from("tests: none ran\n"),
        };
    }
    text
}

/// How the tests went.
#[derive(Debug, PartialEq, Eq)]
struct Totals {
    passed: u64,
    failed: u64,
}

impl Totals {
    /// Reads the attributes of the outermost element of a JUnit report.
    fn parse(report: &str) -> Option<Self> {
        let (_, rest) = report.split_once("<testsuites ")?;
        let (attributes, _) = rest.split_once('>')?;
        let count = |name: &str| -> Option<u64> {
            let (_, rest) = attributes.split_once(&format!("{name}=\""))?;
            rest.split('"').next()?.parse().ok()
        };
        let failed = count("failures")?.checked_add(count("errors")?)?;
        Some(Self {
            passed: count("tests")?.checked_sub(failed)?,
            failed,
        })
    }
}

/// The tests of a JUnit report that failed at first and passed when they were run again.
fn repeated(report: &str) -> Vec<&str> {
    report
        .split("<testcase ")
        .skip(1)
        .filter(|case| case.contains("<flakyFailure"))
        .filter_map(|case| case.split_once("name=\"")?.1.split('"').next())
        .collect()
}

/// Where nextest writes its report, by the profile in `.config/nextest.toml`.
fn totals_file() -> PathBuf {
    workspace::root().join("target/nextest/ci/junit.xml")
}

fn forget_totals() -> Result<()> {
    match fs::remove_file(totals_file()) {
        Err(problem) if problem.kind() != ErrorKind::NotFound => {
            Err(problem).context("cannot remove the report of an earlier run")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(arguments: &[&str]) -> Vec<&'static str> {
        let options = Options::parse(arguments).unwrap();
        STEPS
            .iter()
            .filter(|step| options.wants(step))
            .map(|step| step.name)
            .collect()
    }

    #[test]
    fn steps_are_chosen_by_name_and_advisories_only_on_request() {
        let all = wanted(&[]);
        assert_eq!(
            all,
            [
                "setup", "fmt", "tidy", "deny", "clippy", "nextest", "doctest", "doc", "bench",
                "guard"
            ]
        );
        assert_eq!(wanted(&["--advisories"]).len(), all.len() + 1);
        assert_eq!(wanted(&["tidy", "fmt"]), ["fmt", "tidy"]);
        assert_eq!(wanted(&["advisories"]), ["advisories"]);
        let refused = Options::parse(&["fmt", "tests"]).unwrap_err();
        assert!(
            refused.starts_with("there is no step `tests`; steps are setup, fmt"),
            "{refused}"
        );
    }

    #[test]
    fn headlines_can_be_copied_into_a_shell() {
        let shown = |name| {
            STEPS
                .iter()
                .find(|step| step.name == name)
                .map(headline)
                .unwrap()
        };
        assert_eq!(
            shown("doc"),
            "doc: RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace --no-deps"
        );
        assert_eq!(
            shown("bench"),
            "bench: cargo test --locked --workspace --bench '*' -- --test"
        );
        assert_eq!(shown("tidy"), "cargo xtask tidy");
    }

    #[test]
    fn the_summary_ends_with_the_count_of_tests() {
        let outcome = |name, passed| Outcome {
            name,
            passed,
            took: Duration::from_millis(1500),
        };
        let report =
            "<?xml?>\n<testsuites name=\"run\" tests=\"12\" failures=\"1\" errors=\"1\">\n";
        assert_eq!(
            summary(&[outcome("fmt", true), outcome(TESTS, false)], Some(report)),
            "fmt        ok         1.5 s\n\
             nextest    FAILED     1.5 s\n\
             steps: 1 passed, 1 failed, 3.0 s\n\
             tests: 10 passed, 2 failed\n"
        );
        assert!(summary(&[outcome(TESTS, false)], None).ends_with("tests: none ran\n"));
        assert!(
            summary(&[outcome("fmt", true)], None).ends_with("steps: 1 passed, 0 failed, 1.5 s\n")
        );
    }

    #[test]
    fn what_passed_only_when_repeated_is_named() {
        let report = "<testsuites tests=\"3\" failures=\"0\" errors=\"0\">\
             <testcase name=\"calm\" classname=\"a\"></testcase>\
             <testcase name=\"nervous\" classname=\"a\"><flakyFailure message=\"\"/></testcase>\
             <testcase name=\"last\" classname=\"b\"/></testsuites>";
        let outcome = Outcome {
            name: TESTS,
            passed: true,
            took: Duration::ZERO,
        };
        assert!(summary(&[outcome], Some(report)).ends_with(
            "passed only when repeated, look into it: nervous\ntests: 3 passed, 0 failed\n"
        ));
    }

    #[test]
    fn a_report_of_another_shape_gives_no_totals() {
        for report in [
            "",
            "<testsuites tests=\"x\" failures=\"0\" errors=\"0\">",
            "<testsuites tests=\"1\">",
        ] {
            assert_eq!(Totals::parse(report), None, "{report}");
        }
    }
}
