//! Documents that stay true: numbered decisions, an architecture page that names every crate, links that lead somewhere.

use super::{Repository, Violation};

const ADRS: &str = "docs/adr/";
const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// The page is read in one sitting.
const MOST_ARCHITECTURE_LINES: usize = 400;

/// Decisions are numbered from 0001 without gaps or doubles.
pub(super) fn check_adrs(repository: &Repository) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut last = 0;
    // Invariant: files come sorted by path, hence by number.
    for path in repository
        .files
        .keys()
        .filter(|path| path.starts_with(ADRS))
    {
        let name = path.trim_start_matches(ADRS);
        let Some(number) = adr_number(name) else {
            violations.push(Violation::new(
                path,
                1,
                format!("`{name}` is not the name of a decision"),
                "call it `NNNN-title.md`, in small letters and hyphens",
            ));
            continue;
        };
        if number == last {
            violations.push(Violation::new(
                path,
                1,
                format!("the number {number:04} is taken"),
                "give the younger decision the next free number",
            ));
        } else if number != last + 1 {
            violations.push(Violation::new(
                path,
                1,
                format!("the number {:04} is missing before {number:04}", last + 1),
                "number decisions without gaps; a superseded one stays",
            ));
        }
        last = number;
    }
    violations
}

/// ARCHITECTURE.md is short and names every crate.
pub(super) fn check_architecture(repository: &Repository) -> Vec<Violation> {
    let Some(text) = repository.text(ARCHITECTURE) else {
        return Vec::new();
    };
    let mut violations = Vec::new();
    let lines = text.lines().count();
    if lines >= MOST_ARCHITECTURE_LINES {
        violations.push(Violation::new(
            ARCHITECTURE,
            MOST_ARCHITECTURE_LINES,
            format!("the page has {lines} lines; it stays under {MOST_ARCHITECTURE_LINES}"),
            "move detail to the crate's own page",
        ));
    }
    for member in &repository.crates {
        if !names_in_code(text, member.name()) {
            violations.push(Violation::new(
                ARCHITECTURE,
                1,
                format!(
                    "the crate `{}` ({}) is not named",
                    member.name(),
                    member.folder
                ),
                "add it to the code map, as code, with what it must not know",
            ));
        }
    }
    violations
}

/// Links between files of the repository lead to something.
pub(super) fn check_links(repository: &Repository) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in repository.files_ending(".md") {
        for (line, target) in links(text) {
            let Some(wanted) = resolve(path, target) else {
                continue;
            };
            if exists(repository, &wanted) {
                continue;
            }
            violations.push(Violation::new(
                path,
                line,
                format!("the link `{target}` leads nowhere"),
                format!("there is no `{wanted}`: correct the path or remove the link"),
            ));
        }
    }
    violations
}

fn adr_number(name: &str) -> Option<u32> {
    let (number, title) = name.strip_suffix(".md")?.split_once('-')?;
    let well_named = !title.is_empty()
        && title.chars().all(|character| {
            character.is_ascii_lowercase() || character.is_ascii_digit() || character == '-'
        });
    if !well_named || number.len() != 4 {
        return None;
    }
    number.parse().ok().filter(|number| *number > 0)
}

/// Whether a name stands in the text as code: in a fenced block or between backticks.
fn names_in_code(text: &str, name: &str) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    code(text).any(|code| {
        code.split(|character| !is_word(character))
            .any(|word| word == name)
    })
}

/// Every stretch of code in a markdown text.
fn code(text: &str) -> impl Iterator<Item = &str> {
    lines(text).flat_map(|(_, line, fenced)| {
        // Between backticks: every second piece.
        let (skip, step) = if fenced { (0, 1) } else { (1, 2) };
        line.split('`').skip(skip).step_by(step)
    })
}

/// The lines of a markdown text, numbered from one, and whether each is inside a fenced block.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str, bool)> {
    let mut fenced = false;
    text.lines().enumerate().map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        if fence {
            fenced = !fenced;
        }
        (index + 1, line, fenced || fence)
    })
}

/// The targets of all links, inline and by reference, outside code.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (number, line, fenced) in lines(text) {
        if fenced {
            continue;
        }
        for (at, _) in line.match_indices("](") {
            let (before, rest) = line.split_at(at + 2);
            let in_code = before.matches('`').count() % 2 == 1;
            if let Some((target, _)) = rest.split_once(')')
                && !in_code
            {
                found.push((number, bare(target)));
            }
        }
        if line.starts_with('[')
            && let Some((_, target)) = line.split_once("]: ")
        {
            found.push((number, bare(target)));
        }
    }
    found
}

/// A link's target without its title and angle brackets.
fn bare(target: &str) -> &str {
    let target = target.split_whitespace().next().unwrap_or_default();
    target.trim_start_matches('<').trim_end_matches('>')
}

/// The path a link means, relative to the root; `None` when it leaves the repository or stays on the page.
fn resolve(page: &str, target: &str) -> Option<String> {
    let target = target.split('#').next().unwrap_or_default();
    let has_scheme = target
        .split('/')
        .next()
        .is_some_and(|head| head.contains(':'));
    if target.is_empty() || has_scheme {
        return None;
    }
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let joined = match target.strip_prefix('/') {
        Some(from_root) => from_root.to_owned(),
        None => format!("{folder}/{target}"),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn exists(repository: &Repository, path: &str) -> bool {
    let folder = format!("{path}/");
    path.is_empty()
        || repository.files.contains_key(path)
        || repository
            .files
            .range(folder.clone()..)
            .next()
            .is_some_and(|(file, _)| file.starts_with(&folder))
}

#[cfg(test)]
mod tests {
    use super::super::report;
    use super::*;

    fn files(paths: &[&str]) -> Repository {
        paths
            .iter()
            .fold(Repository::default(), |repository, path| {
                repository.with_file(path, "text\n")
            })
    }

    #[test]
    fn decisions_are_numbered_without_gaps_and_doubles() {
        let check = |names: &[&str]| {
            let paths: Vec<String> = names
                .iter()
                .map(|name| format!("docs/adr/{name}"))
                .collect();
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            report(check_adrs, &files(&paths))
        };
        assert_eq!(check(&[]), "");
        assert_eq!(check(&["0001-layers.md", "0002-how-2-count.md"]), "");
        assert_eq!(
            check(&["0001-a.md", "0001-b.md"]),
            "docs/adr/0001-b.md:1: the number 0001 is taken; give the younger decision the next free number"
        );
        assert_eq!(
            check(&["0001-a.md", "0003-b.md", "0004-c.md"]),
            "docs/adr/0003-b.md:1: the number 0002 is missing before 0003; \
             number decisions without gaps; a superseded one stays"
        );
        for name in [
            "layers.md",
            "1-a.md",
            "0000-a.md",
            "0001.md",
            "0001-A.md",
            "0001-a.txt",
        ] {
            assert!(
                check(&[name]).contains("is not the name of a decision"),
                "{name}"
            );
        }
    }

    #[test]
    fn the_architecture_page_names_every_crate_as_code() {
        let check = |text: &str| {
            let repository = Repository::default()
                .with_file(ARCHITECTURE, text)
                .with_crate("crates/model/object", Some("model"));
            report(check_architecture, &repository)
        };
        for text in [
            "the `object` crate",
            "```\nmodel/\n  object   values\n```",
            "`crates/model/object`",
        ] {
            assert_eq!(check(text), "", "{text}");
        }
        for text in [
            "an object of prose",
            "`a` object `b`",
            "`objects`",
            "```\na\n```\nobject",
        ] {
            assert_eq!(
                check(text),
                "ARCHITECTURE.md:1: the crate `object` (crates/model/object) is not named; \
                 add it to the code map, as code, with what it must not know",
                "{text}"
            );
        }
    }

    #[test]
    fn the_architecture_page_stays_short() {
        let check = |lines: usize| {
            let page = Repository::default().with_file(ARCHITECTURE, &"line\n".repeat(lines));
            report(check_architecture, &page)
        };
        assert_eq!(check(399), "");
        assert_eq!(
            check(400),
            "ARCHITECTURE.md:400: the page has 400 lines; it stays under 400; move detail to the crate's own page"
        );
    }

    #[test]
    fn links_lead_to_files_or_folders() {
        let check = |text: &str| {
            let repository =
                files(&["README.md", "docs/adr/0001-layers.md"]).with_file("docs/guide.md", text);
            report(check_links, &repository)
        };
        let good = [
            "[a](../README.md)",
            "[a](adr/0001-layers.md#context \"title\")",
            "[a](adr) and [b](adr/) and [c](./guide.md)",
            "[a](/docs/guide.md)",
            "[a](https://example.org/x) [b](mailto:a@example.org) [c](#part)",
            "`[a](gone.md)`",
            "```\n[a](gone.md)\n```",
            "[a]: ../README.md",
        ];
        for text in good {
            assert_eq!(check(text), "", "{text}");
        }
        assert_eq!(
            check("text\n[a](../README.md) [b](gone.md)"),
            "docs/guide.md:2: the link `gone.md` leads nowhere; \
             there is no `docs/gone.md`: correct the path or remove the link"
        );
        for text in [
            "[a](../../README.md)",
            "[a]: gone.md",
            "[a](ad)",
            "![a](<gone.png>)",
        ] {
            assert_ne!(check(text), "", "{text}");
        }
    }
}
