//! What Cargo.lock may hold: one crypto stack, and one version of each crate whose types meet ours.
//!
//! `cargo deny` says the same more slowly; here it is part of the check that everyone runs.

use super::{Repository, Violation};

const LOCKFILE: &str = "Cargo.lock";

/// Crates that must not come in by any way, and what to use.
pub(super) const ABSENT: &[(&str, &str)] = &[
    (
        "ring",
        "choose `aws-lc-rs` in the features of whoever needs it",
    ),
    (
        "openssl-sys",
        "choose rustls with `aws-lc-rs` in the features of whoever needs it",
    ),
];

/// Crates of which two versions would split types or double the build.
const SINGLE: &[&str] = &[
    "axum",
    "hyper",
    "kube",
    "prost",
    "rustls",
    "tonic",
    "tungstenite",
];

/// A `[[package]]` of the lock file.
#[derive(Debug, Default)]
struct Package<'a> {
    line: usize,
    name: &'a str,
    version: &'a str,
    /// Names, with a version after a blank where the name alone is ambiguous.
    dependencies: Vec<&'a str>,
}

/// Nothing forbidden, nothing twice that must be there once.
pub(super) fn check_lockfile(repository: &Repository) -> Vec<Violation> {
    let packages = parse(repository.text(LOCKFILE).unwrap_or_default());
    let mut violations = Vec::new();
    for (name, instead) in ABSENT {
        let Some(users) = repository.built.get(*name) else {
            continue;
        };
        let line = packages.iter().find(|package| package.name == *name);
        violations.push(Violation::new(
            LOCKFILE,
            line.map_or(1, |package| package.line),
            format!("`{name}` is in the build, needed by {}", users.join(", ")),
            *instead,
        ));
    }
    for name in SINGLE {
        let versions: Vec<&Package<'_>> = packages
            .iter()
            .filter(|package| package.name == *name)
            .collect();
        let [_, others @ ..] = versions.as_slice() else {
            continue;
        };
        let Some(place) = others.first() else {
            continue;
        };
        let shown: Vec<String> = versions
            .iter()
            .map(|package| {
                format!(
                    "{} (needed by {})",
                    package.version,
                    users(&packages, package)
                )
            })
            .collect();
        violations.push(Violation::new(
            LOCKFILE,
            place.line,
            format!(
                "`{name}` is there in {} versions: {}",
                versions.len(),
                shown.join(", ")
            ),
            "bring its users to versions that agree, or turn off the feature that pulls it in",
        ));
    }
    violations
}

/// Cargo writes this file one value a line, which is all this reads.
fn parse(text: &str) -> Vec<Package<'_>> {
    let mut packages: Vec<Package<'_>> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line == "[[package]]" {
            packages.push(Package::default());
        }
        let Some(package) = packages.last_mut() else {
            continue;
        };
        if let Some(name) = quoted(line, "name = ") {
            package.name = name;
            package.line = index + 1;
        } else if let Some(version) = quoted(line, "version = ") {
            package.version = version;
        } else if let Some(dependency) = quoted(line.trim_end_matches(','), " ") {
            package.dependencies.push(dependency);
        }
    }
    packages
}

fn quoted<'a>(line: &'a str, before: &str) -> Option<&'a str> {
    line.strip_prefix(before)?
        .strip_prefix('"')?
        .strip_suffix('"')
}

fn users(packages: &[Package<'_>], used: &Package<'_>) -> String {
    let exact = format!("{} {}", used.name, used.version);
    let users: Vec<&str> = packages
        .iter()
        .filter(|package| {
            package
                .dependencies
                .iter()
                .any(|name| *name == used.name || *name == exact)
        })
        .map(|package| package.name)
        .collect();
    match users.is_empty() {
        true => String::from("nobody"),
        false => users.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::super::report;
    use super::*;

    fn check(packages: &[(&str, &str, &[&str])]) -> String {
        let mut text = String::from("version = 4\n");
        for (name, version, dependencies) in packages {
            text += &format!("\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n");
            let lines: String = dependencies
                .iter()
                .map(|name| format!(" \"{name}\",\n"))
                .collect();
            text += &format!("dependencies = [\n{lines}]\n");
        }
        report(
            check_lockfile,
            &Repository::default().with_file(LOCKFILE, &text),
        )
    }

    #[test]
    fn one_version_of_each_is_allowed() {
        assert_eq!(
            check(&[("kube", "5.0.0", &["hyper"]), ("hyper", "1.12.0", &[])]),
            ""
        );
        assert_eq!(check(&[("syn", "1.0.0", &[]), ("syn", "2.0.0", &[])]), "");
        assert_eq!(check(&[]), "");
    }

    #[test]
    fn a_second_version_is_refused_with_its_users() {
        assert_eq!(
            check(&[
                ("axum", "0.8.9", &["tungstenite 0.29.0"]),
                ("kube", "5.0.0", &["tungstenite 0.30.0"]),
                ("tungstenite", "0.29.0", &[]),
                ("tungstenite", "0.30.0", &[]),
            ]),
            "Cargo.lock:24: `tungstenite` is there in 2 versions: 0.29.0 (needed by axum), 0.30.0 (needed by kube); \
             bring its users to versions that agree, or turn off the feature that pulls it in"
        );
    }

    #[test]
    fn a_forbidden_crate_is_refused_with_its_users() {
        let text = "[[package]]\nname = \"ring\"\nversion = \"0.17.0\"\n";
        let listed = Repository::default().with_file(LOCKFILE, text);
        assert_eq!(report(check_lockfile, &listed), "", "listed, but not built");
        assert_eq!(
            report(
                check_lockfile,
                &listed.with_built("ring", &["rcgen", "webpki"])
            ),
            "Cargo.lock:2: `ring` is in the build, needed by rcgen, webpki; \
             choose `aws-lc-rs` in the features of whoever needs it"
        );
    }
}
