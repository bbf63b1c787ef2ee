//! The slow suites of `dev/outside`, built together with the server they judge.

use anyhow::{Context, Result};

use crate::workspace;

/// What can be run.
pub(crate) const SUITES: &[&str] = &[
    "kubernetes",
    "clients",
    "oracle",
    "crash",
    "idle-members",
    "real-members",
    "rollout",
    "versus",
];

/// Builds the server and the suites, unless a server is given, and runs one; true when nothing is wrong.
pub(crate) fn run(suite: &str, options: &[&str]) -> Result<bool> {
    let mut packages = vec!["build", "--locked", "--package", "karavel-outside"];
    if suite != "kubernetes" && !options.contains(&"--karavel") {
        packages.extend(["--package", "karavel"]);
    }
    let built = workspace::cargo(&packages)?
        .status()
        .context("cannot run cargo")?;
    if !built.success() {
        return Ok(false);
    }
    let mut arguments = vec![
        "run",
        "--quiet",
        "--locked",
        "--package",
        "karavel-outside",
        "--",
        suite,
    ];
    arguments.extend(options);
    let status = workspace::cargo(&arguments)?
        .status()
        .context("cannot run the suite")?;
    Ok(status.success())
}
