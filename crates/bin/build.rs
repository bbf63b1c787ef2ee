//! Tells release builds which commit they are made of. Other builds are not told: they would be linked anew after every
//! commit.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("PROFILE").as_deref() != Ok("release") {
        return;
    }
    // Every commit and checkout adds a line there.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
    for (name, arguments) in [
        (
            "KARAVEL_COMMIT",
            &["describe", "--always", "--dirty", "--abbrev=12"][..],
        ),
        ("KARAVEL_REVISION", &["rev-parse", "HEAD"]),
        // The date of what is built, so that the same sources make the same binary whenever they are built.
        (
            "KARAVEL_DATE",
            &[
                "show",
                "-s",
                "--format=%cd",
                "--date=format-local:%Y-%m-%dT%H:%M:%SZ",
            ],
        ),
    ] {
        if let Some(said) = git(arguments) {
            println!("cargo::rustc-env={name}={said}");
        }
    }
}

/// What git says, if there is a git and a repository: releases are also built from archives.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(arguments)
        .env("TZ", "UTC")
        .output()
        .ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| said.trim().to_owned())
}
