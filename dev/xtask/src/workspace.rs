//! Where the workspace lies, and cargo as a child process in it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// The folder of the root manifest.
pub(crate) fn root() -> &'static Path {
    // Invariant: this crate lies two folders below the root; the layer check of tidy holds it there.
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap_or(Path::new("."))
}

/// The folder for tools that `setup` brings in; kept with the build products, so that caching one caches both.
pub(crate) fn tools() -> PathBuf {
    root().join("target/tools")
}

/// A command that runs in the root and finds our own tools before the machine's.
pub(crate) fn command(program: &str) -> Result<Command> {
    let mut command = Command::new(program);
    command.current_dir(root()).env("PATH", path_with_tools()?);
    Ok(command)
}

/// Cargo, the same one that started us.
pub(crate) fn cargo(arguments: &[&str]) -> Result<Command> {
    let program = env::var("CARGO").unwrap_or_else(|_| String::from("cargo"));
    let mut command = command(&program)?;
    command.args(arguments);
    Ok(command)
}

/// Looks a program up in our tools and then in `PATH`.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = path_with_tools().ok()?;
    env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
}

fn path_with_tools() -> Result<OsString> {
    let inherited = env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(tools().join("bin")).chain(env::split_paths(&inherited));
    env::join_paths(folders).context("cannot put the tools' folder on PATH")
}
