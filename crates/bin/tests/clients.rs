//! `kubectl` through the script of everything people do with it: the one at hand, and the oldest and the newest if
//! `cargo xtask clients` has fetched them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::path::{Path, PathBuf};
use std::process::Command;

use outside::cache::Cache;
use outside::clients::{run_kubectl, setting};
use outside::install::MINORS;
use outside::process::Karavel;

const KARAVEL: &str = env!("CARGO_BIN_EXE_karavel");

/// The folder of the `kubectl` on PATH, and its minor version.
fn at_hand() -> (PathBuf, u32) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folder = std::env::split_paths(&path)
        .find(|folder| folder.join("kubectl").is_file())
        .expect("kubectl must be installed to run this test");
    let mut command = Command::new(folder.join("kubectl"));
    let told = command.args(["version", "--client", "-o", "json"]).output();
    let told: serde_json::Value = serde_json::from_slice(&told.unwrap().stdout).unwrap();
    let minor = told["clientVersion"]["minor"].as_str().unwrap();
    let digits: String = minor.chars().take_while(char::is_ascii_digit).collect();
    (folder, digits.parse().unwrap())
}

/// The folder of a fetched `kubectl`.
fn fetched(minor: u32) -> Option<(PathBuf, u32)> {
    let folder = Cache::open()
        .ok()?
        .path(&format!("clients/{minor}/kubectl"));
    folder.join("kubectl").is_file().then_some((folder, minor))
}

fn check(programs: &Path, minor: u32) {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("server");
    let server = Karavel::start(Path::new(KARAVEL), &data, &[]).unwrap();
    let kubeconfig = server.kubeconfig();
    let setting = setting(directory.path(), "kubectl", &kubeconfig, programs, minor).unwrap();
    let (steps, problems) = run_kubectl(&setting).unwrap();
    assert!(steps > 70, "the script has {steps} steps");
    let told = problems.join("\n---\n");
    assert!(problems.is_empty(), "kubectl 1.{minor}:\n{told}");
}

#[test]
fn the_kubectl_at_hand_finds_what_it_knows() {
    let (folder, minor) = at_hand();
    check(&folder, minor);
}

#[test]
fn the_oldest_kubectl_finds_what_it_knows() {
    if let Some((folder, minor)) = MINORS.first().and_then(|minor| fetched(*minor)) {
        check(&folder, minor);
    }
}

#[test]
fn the_newest_kubectl_finds_what_it_knows() {
    if let Some((folder, minor)) = MINORS.last().and_then(|minor| fetched(*minor)) {
        check(&folder, minor);
    }
}
