//! The `clippy.toml` files: the nearest one replaces the root's, so each has to repeat its bans.

use super::{Repository, Violation};

const ROOT: &str = "clippy.toml";

/// Layers with bans of their own (clocks, randomness, threads, files, sockets, unordered maps).
const PURE: &[&str] = &["crates/model", "crates/logic"];

/// Crates that the pure layers do not have, so that bans on their items mean nothing there.
const ABSENT_FROM_PURE: &[&str] = &["tokio"];

/// One entry of a list of bans.
#[derive(Debug, PartialEq, Eq)]
struct Ban<'a> {
    line: usize,
    /// The list it stands in, such as `disallowed-methods`.
    list: &'a str,
    /// What is banned; `None` when the entry is not of the form that says why.
    path: Option<&'a str>,
}

/// Pure layers have their own bans, every nested file repeats the root's, and every ban says why.
pub(super) fn check_bans(repository: &Repository) -> Vec<Violation> {
    let mut violations = Vec::new();
    for folder in PURE {
        let path = format!("{folder}/{ROOT}");
        let inside = |member: &super::Crate| member.folder.starts_with(&format!("{folder}/"));
        if repository.crates.iter().any(inside) && repository.text(&path).is_none() {
            violations.push(Violation::new(
                &path,
                1,
                format!("the pure layer `{folder}` has no bans of its own"),
                "ban clocks, randomness, threads, files, sockets and HashMap there",
            ));
        }
    }
    let demanded = bans(repository.text(ROOT).unwrap_or_default());
    for (path, text) in repository.files_ending(ROOT) {
        let found = bans(text);
        violations.extend(found.iter().filter(|ban| ban.path.is_none()).map(|ban| {
            Violation::new(
                path,
                ban.line,
                "the ban does not say why",
                "write `{ path = \"…\", reason = \"…\" }` on one line",
            )
        }));
        // A file that merely ends like it, such as `my-clippy.toml`, is none of clippy's.
        let Some(folder) = path.strip_suffix(&format!("/{ROOT}")) else {
            continue;
        };
        violations.extend(missing(folder, &demanded, &found).map(|(list, banned)| {
            Violation::new(
                path,
                1,
                format!("the root's ban of `{banned}` is lost here"),
                format!("repeat it under `{list}`: this file replaces the root's"),
            )
        }));
    }
    violations
}

fn missing<'a>(
    folder: &'a str,
    demanded: &'a [Ban<'a>],
    found: &'a [Ban<'a>],
) -> impl Iterator<Item = (&'a str, &'a str)> {
    demanded
        .iter()
        .filter_map(|ban| Some((ban.list, ban.path?)))
        .filter(move |(_, path)| applies(folder, path))
        .filter(|(list, path)| {
            !found
                .iter()
                .any(|ban| ban.list == *list && ban.path == Some(path))
        })
}

fn applies(folder: &str, banned: &str) -> bool {
    let owner = banned.split("::").next().unwrap_or(banned);
    let pure = PURE
        .iter()
        .any(|pure| folder == *pure || folder.starts_with(&format!("{pure}/")));
    !(pure && ABSENT_FROM_PURE.contains(&owner))
}

/// The entries of all `disallowed-…` lists. Our files hold one entry a line, which is all this reads.
fn bans(text: &str) -> Vec<Ban<'_>> {
    let mut bans = Vec::new();
    let mut list = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some(name) = list else {
            list = line
                .split_once('=')
                .filter(|(key, value)| key.starts_with("disallowed-") && value.trim() == "[")
                .map(|(key, _)| key.trim());
            continue;
        };
        if line == "]" {
            list = None;
            continue;
        }
        bans.push(Ban {
            line: index + 1,
            list: name,
            path: banned_path(line),
        });
    }
    bans
}

fn banned_path(entry: &str) -> Option<&str> {
    let (_, rest) = entry.split_once("path = \"")?;
    let (path, rest) = rest.split_once('"')?;
    rest.contains("reason = \"").then_some(path)
}

#[cfg(test)]
mod tests {
    use super::super::report;
    use super::*;

    const DEMANDED: &str = r#"# Why.
allow-unwrap-in-tests = true
disallowed-methods = [
  { path = "tokio::spawn", reason = "orphans" },
  # Sleeping.
  { path = "std::thread::sleep", reason = "blocks" },
]
disallowed-types = [
  { path = "std::sync::Condvar", reason = "blocks" },
]
"#;

    fn check(path: &str, text: &str) -> String {
        let repository = Repository::default()
            .with_file("clippy.toml", DEMANDED)
            .with_file(path, text);
        report(check_bans, &repository)
    }

    #[test]
    fn entries_are_read_with_line_and_list() {
        let found = bans(DEMANDED);
        let found: Vec<_> = found
            .iter()
            .map(|ban| (ban.line, ban.list, ban.path))
            .collect();
        assert_eq!(
            found,
            [
                (4, "disallowed-methods", Some("tokio::spawn")),
                (6, "disallowed-methods", Some("std::thread::sleep")),
                (9, "disallowed-types", Some("std::sync::Condvar")),
            ]
        );
    }

    #[test]
    fn a_lost_ban_is_refused() {
        assert_eq!(
            check("crates/model/clippy.toml", "disallowed-methods = [\n]\n"),
            "crates/model/clippy.toml:1: the root's ban of `std::thread::sleep` is lost here; \
             repeat it under `disallowed-methods`: this file replaces the root's\n\
             crates/model/clippy.toml:1: the root's ban of `std::sync::Condvar` is lost here; \
             repeat it under `disallowed-types`: this file replaces the root's"
        );
    }

    #[test]
    fn only_pure_layers_may_drop_bans_on_crates_they_do_not_have() {
        let without_tokio: String = DEMANDED
            .lines()
            .filter(|line| !line.contains("tokio"))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(check("crates/logic/clippy.toml", &without_tokio), "");
        assert_eq!(check("crates/parts/cli/clippy.toml", DEMANDED), "");
        assert_eq!(
            check("crates/parts/cli/clippy.toml", &without_tokio),
            "crates/parts/cli/clippy.toml:1: the root's ban of `tokio::spawn` is lost here; \
             repeat it under `disallowed-methods`: this file replaces the root's"
        );
    }

    #[test]
    fn a_ban_without_a_reason_is_refused() {
        let text = format!(
            "{DEMANDED}disallowed-macros = [\n  \"std::dbg\",\n  {{ path = \"std::print\" }},\n]\n"
        );
        assert_eq!(
            check("dev/clippy.toml", &text),
            "dev/clippy.toml:12: the ban does not say why; write `{ path = \"…\", reason = \"…\" }` on one line\n\
             dev/clippy.toml:13: the ban does not say why; write `{ path = \"…\", reason = \"…\" }` on one line"
        );
    }

    #[test]
    fn a_pure_layer_without_bans_is_refused() {
        let repository = Repository::default().with_crate("crates/logic/policy", Some("logic"));
        assert_eq!(
            report(check_bans, &repository),
            "crates/logic/clippy.toml:1: the pure layer `crates/logic` has no bans of its own; \
             ban clocks, randomness, threads, files, sockets and HashMap there"
        );
    }
}
