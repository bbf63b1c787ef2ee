//! Brings in the tools that the checks need and the machine lacks.
//!
//! Everything lands in `target/tools`: nothing is installed system-wide, no service is started, no root is needed.
//! A tool that the machine has already, in a release of the pinned series, is used as it is.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::workspace;

/// A cargo subcommand from the registry.
struct CargoTool {
    /// `nextest` for `cargo nextest` and the package `cargo-nextest`.
    name: &'static str,
    /// What is installed; any release of the same series (the version up to its last dot) will do.
    version: &'static str,
    /// What else cargo is told, to build less.
    options: &'static [&'static str],
    /// Measured on two cores, so that nobody wonders.
    minutes: &'static str,
}

const CARGO_TOOLS: &[CargoTool] = &[
    CargoTool {
        name: "nextest",
        version: "0.9.143",
        // By default it brings a TLS stack along, to update itself.
        options: &["--no-default-features"],
        minutes: "two minutes",
    },
    CargoTool {
        name: "deny",
        version: "0.20.2",
        options: &[],
        minutes: "one minute",
    },
];

/// A program out of one of Debian's packages.
struct DebianTool {
    program: &'static str,
    package: &'static str,
    /// Which files of the package are kept: where they are in it, and where they go below `target/tools`.
    files: &'static [(&'static str, &'static str)],
    /// What will do instead, if it is on `PATH`.
    instead: &'static str,
}

const DEBIAN_TOOLS: &[DebianTool] = &[
    // The store's tests run against a real one.
    DebianTool {
        program: "etcd",
        package: "etcd-server",
        files: &[("usr/bin/etcd", "bin/etcd")],
        instead: "etcd 3.4 or later",
    },
    // The guard counts instructions with it, and finds its parts beside `bin`.
    DebianTool {
        program: "valgrind",
        package: "valgrind",
        files: &[
            ("usr/bin/valgrind", "bin/valgrind"),
            ("usr/libexec/valgrind", "valgrind"),
        ],
        instead: "valgrind 3.19 or later",
    },
];

/// Makes sure that every tool is there; quick when it is.
pub(crate) fn run() -> Result<()> {
    for tool in CARGO_TOOLS {
        ensure_cargo_tool(tool)?;
    }
    for tool in DEBIAN_TOOLS {
        ensure_debian_tool(tool)?;
    }
    Ok(())
}

fn ensure_cargo_tool(tool: &CargoTool) -> Result<()> {
    let CargoTool {
        name,
        version,
        options,
        minutes,
    } = tool;
    let found = installed_version(name)?;
    if let Some(found) = found
        .as_deref()
        .filter(|found| is_same_series(found, version))
    {
        println!("setup: cargo-{name} {found} is there");
        return Ok(());
    }
    let instead = found.map_or(String::from("is missing"), |found| {
        format!("is there as {found}")
    });
    println!(
        "setup: cargo-{name} {version} {instead}; building it into target/tools, about {minutes}"
    );
    let started = Instant::now();
    let tools = workspace::tools();
    // Kept until the end, so that an interrupted build goes on where it was.
    let build = tools.join("build");
    let status = workspace::cargo(&["install", "--locked", "--profile", "dev"])?
        .args(["--version", version])
        .args(*options)
        .arg("--root")
        .arg(&tools)
        .arg("--target-dir")
        .arg(&build)
        .arg(format!("cargo-{name}"))
        // The release profiles of both tools ask for link-time optimisation, which costs more than it saves here.
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .status()
        .context("cannot run cargo install")?;
    ensure!(status.success(), "cannot build cargo-{name} {version}");
    fs::remove_dir_all(&build).with_context(|| format!("cannot remove {}", build.display()))?;
    println!(
        "setup: built cargo-{name} {version} in {} s",
        started.elapsed().as_secs()
    );
    Ok(())
}

/// The version of a cargo subcommand, if there is one.
fn installed_version(name: &str) -> Result<Option<String>> {
    let output = workspace::cargo(&[name, "--version"])?
        .output()
        .context("cannot run cargo")?;
    if !output.status.success() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(parse_version(&text).map(str::to_owned))
}

/// Programs print their name, then the version.
fn parse_version(text: &str) -> Option<&str> {
    text.split_whitespace().nth(1)
}

fn is_same_series(found: &str, wanted: &str) -> bool {
    let series = |version: &str| {
        version
            .rsplit_once('.')
            .map(|(series, _)| series.to_owned())
    };
    series(found).is_some() && series(found) == series(wanted)
}

/// Unpacks Debian's package instead of installing it: no root, and no service that starts by itself.
fn ensure_debian_tool(tool: &DebianTool) -> Result<()> {
    let DebianTool {
        program,
        package,
        files,
        instead,
    } = tool;
    if let Some(found) = workspace::find(program) {
        println!("setup: {program} is there: {}", found.display());
        return Ok(());
    }
    println!("setup: {program} is missing; unpacking Debian's {package} into target/tools");
    ensure!(
        workspace::find("apt-get").is_some() && workspace::find("dpkg-deb").is_some(),
        "cannot get {program} without Debian's package manager: install {instead} so that it is on PATH"
    );
    let tools = workspace::tools();
    let folder = tools.join(format!("{package}.unpacked"));
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    download(tool, &folder)?;
    unpack(&folder)?;
    let programs = tools.join("bin");
    fs::create_dir_all(&programs)
        .with_context(|| format!("cannot create {}", programs.display()))?;
    // The program last: once it is there, everything is.
    for (from, to) in files.iter().rev() {
        fs::rename(folder.join(from), tools.join(to))
            .with_context(|| format!("Debian's {package} holds no {from}"))?;
    }
    fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    println!("setup: unpacked {}", programs.join(program).display());
    Ok(())
}

fn download(tool: &DebianTool, folder: &Path) -> Result<()> {
    let DebianTool {
        package, instead, ..
    } = tool;
    let attempt = || -> Result<bool> {
        let status = Command::new("apt-get")
            .args(["download", "--quiet", package])
            // Root's downloads go to a user who may not write into our folder; without this apt-get warns of it.
            .args(["-o", "APT::Sandbox::User=root"])
            .current_dir(folder)
            .status()
            .context("cannot run apt-get")?;
        Ok(status.success())
    };
    if attempt()? {
        return Ok(());
    }
    // A fresh machine has no package lists yet, or stale ones. Only root may fetch them; let apt-get say so.
    println!("setup: fetching Debian's package lists");
    let status = Command::new("apt-get")
        .args(["update", "--quiet"])
        .status()
        .context("cannot run apt-get")?;
    if !status.success() || !attempt()? {
        bail!("cannot download {package}: run `apt-get update` as root, or put {instead} on PATH");
    }
    Ok(())
}

fn unpack(folder: &Path) -> Result<()> {
    let mut packages = fs::read_dir(folder)
        .with_context(|| format!("cannot list {}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "deb"));
    let package = packages.next().context("apt-get downloaded nothing")?;
    let status = Command::new("dpkg-deb")
        .arg("--extract")
        .arg(&package)
        .arg(folder)
        .status()
        .context("cannot run dpkg-deb")?;
    ensure!(status.success(), "cannot unpack {}", package.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_programs_print() {
        assert_eq!(parse_version("cargo-deny 0.20.2\n"), Some("0.20.2"));
        assert_eq!(
            parse_version("cargo-nextest 0.9.143 (60fa45f63 2026-08-04)\nrelease: 0.9.143\n"),
            Some("0.9.143")
        );
        assert_eq!(parse_version(""), None);
    }

    #[test]
    fn any_release_of_the_pinned_series_will_do() {
        assert!(is_same_series("0.9.151", "0.9.143"));
        assert!(!is_same_series("0.20.2", "0.2.2"));
        assert!(!is_same_series("0.19.0", "0.20.2"));
        assert!(!is_same_series("nightly", "nightly"));
    }
}
