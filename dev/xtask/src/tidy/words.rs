//! Strings that must not be in the repository at all: they tell of one machine, not of the product.

use super::{Repository, Violation};

/// Where absolute paths of somebody's machine begin.
const FOLDERS: &[&str] = &["/work/", "/home/", "/Users/"];

/// Hosts that the package managers know by themselves, and that a mirror replaces.
const HOSTS: &[&str] = &[
    "static.crates.io",
    "index.crates.io",
    "registry.npmjs.org",
    "pypi.org/simple",
    "deb.debian.org",
];

/// The one file that has to name them.
const THIS_FILE: &str = "dev/xtask/src/tidy/words.rs";

/// No path of a developer's machine, no registry host.
pub(super) fn check_words(repository: &Repository) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in repository
        .files
        .iter()
        .filter(|(path, _)| *path != THIS_FILE)
    {
        for (index, line) in text.lines().enumerate() {
            violations.extend(folder_problem(path, index + 1, line));
            violations.extend(host_problem(path, index + 1, line));
        }
    }
    violations
}

fn folder_problem(path: &str, number: usize, line: &str) -> Option<Violation> {
    let folder = FOLDERS.iter().find(|folder| holds_absolute(line, folder))?;
    Some(Violation::new(
        path,
        number,
        format!("a path below `{folder}` exists on one machine only"),
        "write it relative to the repository or take it from the environment",
    ))
}

fn host_problem(path: &str, number: usize, line: &str) -> Option<Violation> {
    let host = HOSTS.iter().find(|host| line.contains(*host))?;
    Some(Violation::new(
        path,
        number,
        format!("`{host}` ties the build to one registry host"),
        "leave the choice of host to the package manager's own settings",
    ))
}

/// Whether a line names something below an absolute folder; the same letters inside a longer path do not count.
fn holds_absolute(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line.get(..at).and_then(|head| head.chars().next_back());
        !before.is_some_and(|character| {
            character.is_alphanumeric() || "_-.~*{}$)>".contains(character)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::report;
    use super::*;

    fn check(text: &str) -> String {
        report(
            check_words,
            &Repository::default().with_file("docs/a.md", text),
        )
    }

    #[test]
    fn paths_of_one_machine_are_refused() {
        assert_eq!(
            check("one\nsee `/home/someone/notes`"),
            "docs/a.md:2: a path below `/home/` exists on one machine only; \
             write it relative to the repository or take it from the environment"
        );
        for text in [
            "/work/main",
            "cd /work/x",
            "\"/Users/me/\"",
            "file:///home/me/a",
            "a:/home/me",
        ] {
            assert_ne!(check(text), "", "{text}");
        }
    }

    #[test]
    fn the_same_letters_inside_another_path_are_allowed() {
        for text in [
            "src/work/plan.rs",
            "../work/a",
            "apis/work/v1",
            "$ROOT/home/x",
            "{root}/work/x",
            "/workspace",
        ] {
            assert_eq!(check(text), "", "{text}");
        }
    }

    #[test]
    fn registry_hosts_are_refused() {
        assert_eq!(
            check("url = \"https://static.crates.io/x\""),
            "docs/a.md:1: `static.crates.io` ties the build to one registry host; \
             leave the choice of host to the package manager's own settings"
        );
        for host in HOSTS {
            assert_ne!(check(&format!("https://{host}/x")), "", "{host}");
        }
        assert_eq!(
            check("registry+https://github.com/rust-lang/crates.io-index"),
            ""
        );
    }
}
