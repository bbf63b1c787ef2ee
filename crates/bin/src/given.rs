//! The objects that files hold which were named on the command line.

use std::path::Path;
use std::process::Command;

use cli::{Failure, Manifest};

use crate::arguments::Files;

/// The objects of all files.
pub(crate) fn read(files: &Files) -> Result<Vec<Manifest>, Failure> {
    if files.is_empty() {
        return Err(Failure::refused(
            "must specify one of -f and -k",
            "name a file with -f, or - for standard input",
        ));
    }
    match &files.kustomize {
        Some(directory) => build(directory),
        None => Manifest::read_all(&files.files, files.recursive),
    }
}

/// The same for what is found by its name: objects without one are refused before anybody is asked.
pub(crate) fn read_named(files: &Files) -> Result<Vec<Manifest>, Failure> {
    let all = read(files)?;
    Manifest::check_names(&all)?;
    Ok(all)
}

/// What is in a file, as it is; `-` is standard input.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let read = match path.as_os_str() == "-" {
        true => cli::bytes_of(std::io::stdin()),
        false => cli::read_bytes(path),
    };
    read.map_err(|why| why.of("", &path.display().to_string()))
}

/// The one object that words or a file name, and its namespace: the one that the file names, or that was asked for.
pub(crate) fn named(
    words: Vec<String>,
    files: &Files,
    namespace: Option<&str>,
) -> Result<(Vec<String>, Option<String>), Failure> {
    if files.is_empty() {
        return Ok((words, namespace.map(str::to_owned)));
    }
    if !words.is_empty() {
        return Err(Failure::refused(
            "files and names cannot be given at once",
            "leave -f or the names out",
        ));
    }
    match read_named(files)?.as_slice() {
        [manifest] => Ok((vec![manifest.word()], manifest.namespace(namespace)?)),
        all => Err(Failure::refused(
            format!("{} objects are given, and one is expected", all.len()),
            "give a file with one object",
        )),
    }
}

/// What kustomize makes of a directory. It comes with kubectl, which whoever has such directories has too.
fn build(directory: &Path) -> Result<Vec<Manifest>, Failure> {
    let line = format!("kubectl kustomize {}", directory.display());
    let built = Command::new("kubectl")
        .arg("kustomize")
        .arg(directory)
        .output();
    let built = built.map_err(|error| {
        Failure::refused(
            format!("cannot run `{line}`: {error}"),
            "install kubectl, or build it elsewhere and give the file with -f",
        )
    })?;
    if !built.status.success() {
        let said = String::from_utf8_lossy(&built.stderr);
        let said = said.trim().trim_start_matches("error: ");
        return Err(Failure::refused(
            format!("`{line}`: {said}"),
            "correct the directory",
        ));
    }
    let name = directory.display().to_string();
    let text = String::from_utf8_lossy(&built.stdout);
    Manifest::parse(&name, &text)
}
