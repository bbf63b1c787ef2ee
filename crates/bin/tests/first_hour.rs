//! The first hour of a newcomer, typed into a terminal of 80 columns: the screens are what they were.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const KARAVEL: &str = env!("CARGO_BIN_EXE_karavel");
const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn screens(directory: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect()
}

#[test]
fn the_screens_of_the_first_hour_are_what_they_were() {
    let directory = tempfile::tempdir().unwrap();
    let kept = Path::new(HERE).join("first-hour");
    let is_writing = std::env::var_os("KARAVEL_WRITE").is_some();
    let output = if is_writing {
        kept.as_path()
    } else {
        directory.path()
    };
    let typed = Command::new("python3")
        .arg(Path::new(HERE).join("first_hour.py"))
        .args([KARAVEL, ROOT])
        .arg(output)
        .status()
        .expect("python3 must be installed to run this test");
    assert!(typed.success());
    let (seen, expected) = (screens(output), screens(&kept));
    for (name, screen) in &seen {
        for line in screen.lines() {
            let is_typed = line.starts_with("$ ");
            assert!(
                is_typed || line.chars().count() <= 132,
                "{name}: too wide: {line}"
            );
        }
        let known = expected.get(name).map(String::as_str).unwrap_or_default();
        assert!(
            known == screen,
            "{name} differs; write it with KARAVEL_WRITE=1 if that is right\nexpected:\n{known}\nseen:\n{screen}"
        );
    }
    assert_eq!(seen.len(), expected.len());
}
