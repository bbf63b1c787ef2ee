//! The shape of source files: how long, how introduced, how named.

use super::source::{Source, words};
use super::{Repository, Violation};

/// One idea a file; beyond this nobody reads it whole.
const MOST_LINES: usize = 800;

/// Fewer lines cannot say purpose, place and entry points.
const LEAST_INTRODUCTION: usize = 3;

/// Names that say where code was put instead of what it is.
const EMPTY_NAMES: &[&str] = &[
    "util", "utils", "common", "helper", "helpers", "misc", "manager",
];

/// Those that say nothing in a compound either. (`field_manager` and `common_name` are terms of the trade.)
const EMPTY_PARTS: &[&str] = &["util", "utils", "helper", "helpers", "misc"];

/// No source file is longer than [`MOST_LINES`], tests and generated code apart.
pub(super) fn check_sizes(repository: &Repository) -> Vec<Violation> {
    repository
        .files_ending(".rs")
        .filter(|(path, text)| !is_test(path) && !is_generated(text))
        .filter_map(|(path, text)| {
            let lines = text.lines().count();
            (lines > MOST_LINES).then(|| {
                Violation::new(
                    path,
                    MOST_LINES + 1,
                    format!("the file has {lines} lines, more than {MOST_LINES}"),
                    "split it by idea into a folder, or move test tables to a sibling `tests.rs`",
                )
            })
        })
        .collect()
}

/// Every crate's first file begins with its page.
pub(super) fn check_introductions(repository: &Repository) -> Vec<Violation> {
    let mut violations = Vec::new();
    for member in &repository.crates {
        for file in ["src/lib.rs", "src/main.rs"] {
            let path = format!("{}/{file}", member.folder);
            let Some(text) = repository.text(&path) else {
                continue;
            };
            let lines = text
                .lines()
                .take_while(|line| line.starts_with("//!"))
                .count();
            if lines < LEAST_INTRODUCTION {
                violations.push(Violation::new(
                    &path,
                    1,
                    format!("the crate's page has {lines} lines"),
                    format!(
                        "begin the file with at least {LEAST_INTRODUCTION} lines of `//!`: purpose, place in the \
                         flow, entry points, invariants, non-goals"
                    ),
                ));
            }
        }
    }
    violations
}

/// No crate, folder, file or module has an empty name.
pub(super) fn check_names(repository: &Repository) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in repository.files_ending(".rs") {
        if let Some(name) = path
            .trim_end_matches(".rs")
            .split('/')
            .find(|name| is_empty_name(name))
        {
            violations.push(empty_name(path, 1, name));
        }
        for (index, line) in Source::parse(text).code.lines().enumerate() {
            if let Some(name) = inline_module(line).filter(|name| is_empty_name(name)) {
                violations.push(empty_name(path, index + 1, name));
            }
        }
    }
    violations
}

/// Whether a file holds nothing but tests or benches.
pub(super) fn is_test(path: &str) -> bool {
    let mut folders = path.split('/');
    let file = folders.next_back();
    file == Some("tests.rs") || folders.any(|folder| folder == "tests" || folder == "benches")
}

fn is_generated(text: &str) -> bool {
    text.lines()
        .next()
        .is_some_and(|line| line.starts_with("// @generated"))
}

fn is_empty_name(name: &str) -> bool {
    EMPTY_NAMES.contains(&name)
        || name
            .split(['_', '-'])
            .any(|part| EMPTY_PARTS.contains(&part))
}

/// The name of a module opened on this line; one in a file of its own is known by the file.
fn inline_module(line: &str) -> Option<&str> {
    let mut words = words(line);
    words.find(|(word, _)| *word == "mod")?;
    let (name, after) = words.next()?;
    after.trim_start().starts_with('{').then_some(name)
}

fn empty_name(path: &str, line: usize, name: &str) -> Violation {
    Violation::new(
        path,
        line,
        format!("`{name}` names no concept"),
        "find what its contents are about and call it that, or move each item to where it is used",
    )
}

#[cfg(test)]
mod tests {
    use super::super::report;
    use super::*;

    fn file(path: &str, text: &str) -> Repository {
        Repository::default().with_file(path, text)
    }

    #[test]
    fn a_long_file_is_refused() {
        assert_eq!(
            report(
                check_sizes,
                &file("crates/model/object/src/lib.rs", &"line\n".repeat(900))
            ),
            "crates/model/object/src/lib.rs:801: the file has 900 lines, more than 800; \
             split it by idea into a folder, or move test tables to a sibling `tests.rs`"
        );
    }

    #[test]
    fn tests_benches_generated_code_and_other_languages_may_be_long() {
        let long = "line\n".repeat(900);
        let generated = format!("// @generated by a tool\n{long}");
        let allowed = [
            ("crates/a/src/lib.rs", "line\n".repeat(800)),
            ("crates/a/src/tests.rs", long.clone()),
            ("crates/a/tests/all.rs", long.clone()),
            ("crates/a/benches/all.rs", long.clone()),
            ("crates/a/src/wire.rs", generated),
            ("docs/list.md", long),
        ];
        for (path, text) in allowed {
            assert_eq!(report(check_sizes, &file(path, &text)), "", "{path}");
        }
    }

    #[test]
    fn a_crate_without_a_page_is_refused() {
        let check = |text: &str| {
            let repository = file("crates/model/object/src/lib.rs", text)
                .with_file("crates/model/object/src/inner.rs", "struct A;\n")
                .with_crate("crates/model/object", Some("model"));
            report(check_introductions, &repository)
        };
        assert_eq!(check("//! One.\n//!\n//! Two.\nmod inner;\n"), "");
        let instead = "begin the file with at least 3 lines of `//!`: purpose, place in the flow, entry points, \
                       invariants, non-goals";
        for (text, lines) in [
            ("//! One.\n//! Two.\n", 2),
            ("mod inner;\n//! a\n//! b\n//! c\n", 0),
            ("", 0),
        ] {
            assert_eq!(
                check(text),
                format!(
                    "crates/model/object/src/lib.rs:1: the crate's page has {lines} lines; {instead}"
                )
            );
        }
    }

    #[test]
    fn an_empty_name_is_refused_wherever_it_stands() {
        let cases = [
            ("crates/model/object/src/util.rs", "", 1),
            ("crates/model/object/src/helpers/mod.rs", "", 1),
            ("crates/model/common/src/lib.rs", "", 1),
            ("crates/model/object/src/string_utils.rs", "", 1),
            (
                "crates/model/object/src/lib.rs",
                "\npub(crate) mod util {\n}\n",
                2,
            ),
            ("crates/model/object/tests/misc.rs", "", 1),
            ("crates/infra/control/src/manager.rs", "", 1),
        ];
        for (path, text, line) in cases {
            let report = report(check_names, &file(path, text));
            assert!(
                report.starts_with(&format!("{path}:{line}: ")),
                "{path} gave: {report}"
            );
            assert!(
                report.contains("names no concept; find what"),
                "{path} gave: {report}"
            );
        }
    }

    #[test]
    fn a_telling_name_is_allowed() {
        let cases = [
            ("crates/infra/serve/src/field_manager.rs", "mod tests {}\n"),
            ("crates/model/object/src/utilisation.rs", "mod commons {}\n"),
            (
                "crates/model/object/src/lib.rs",
                "// mod util { in prose\nconst A: &str = \"mod util {\";\n",
            ),
        ];
        for (path, text) in cases {
            assert_eq!(report(check_names, &file(path, text)), "", "{path}");
        }
    }
}
