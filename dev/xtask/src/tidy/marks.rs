//! Marks in source that do not land: unfinished work, silenced tests, silenced lints, and impure plans.

use super::source::{Source, words};
use super::{Repository, Violation};

/// Attributes that hide a fact from the reader, by how they begin.
const ATTRIBUTES: &[(&str, &str)] = &[
    (
        "#[ignore",
        "delete the test or make it pass; one that needs something absent says so and returns",
    ),
    (
        "#[should_panic",
        "assert on the returned error; only broken invariants panic",
    ),
    (
        "#[allow(",
        "use `#[expect(lint, reason = \"…\")]`, which tells when it is no longer needed",
    ),
    (
        "#![allow(",
        "use `#![expect(lint, reason = \"…\")]`, which tells when it is no longer needed",
    ),
];

/// Macros for code that is not there.
const UNFINISHED_MACROS: &[&str] = &["todo", "unimplemented"];

/// Comments about work that was not done.
const UNFINISHED_WORDS: &[&str] = &["TODO", "FIXME"];

/// Files besides Rust's that hold code or settings, by how their names end.
const OTHER_CODE: &[&str] = &[".toml", ".sh", ".yaml", ".yml", ".ci/run"];

/// Words that make a decision depend on more than its inputs, and what each is.
const IMPURE: &[(&str, &str)] = &[
    ("async", "is asynchronous"),
    ("await", "is asynchronous"),
    ("tokio", "knows the runtime"),
    ("Instant", "reads a clock"),
    ("SystemTime", "reads a clock"),
    ("Clock", "reads a clock"),
    ("Client", "knows a client"),
    ("client", "knows a client"),
    ("kube", "knows a client"),
    ("hyper", "knows a client"),
];

/// Nothing unfinished, ignored or silenced.
pub(super) fn check_marks(repository: &Repository) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in repository.files_ending(".rs") {
        let source = Source::parse(text);
        for (index, (code, comment)) in source.code.lines().zip(source.comments.lines()).enumerate()
        {
            let line = index + 1;
            violations.extend(attribute_problem(path, line, code));
            violations.extend(macro_problem(path, line, code));
            violations.extend(word_problem(path, line, comment));
        }
    }
    for (path, text) in &repository.files {
        if !OTHER_CODE.iter().any(|suffix| path.ends_with(suffix)) {
            continue;
        }
        for (index, line) in text.lines().enumerate() {
            violations.extend(word_problem(path, index + 1, line));
        }
    }
    violations
}

/// A `plan.rs`, or a folder `plan`, is pure: no async, no clock, no client.
pub(super) fn check_plans(repository: &Repository) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in repository
        .files_ending(".rs")
        .filter(|(path, _)| is_plan(path))
    {
        for (index, line) in Source::parse(text).code.lines().enumerate() {
            let Some((word, fault)) = impurity(line) else {
                continue;
            };
            violations.push(Violation::new(
                path,
                index + 1,
                format!("the plan {fault} (`{word}`)"),
                "gather it in the shell and pass it to `plan` as a value",
            ));
        }
    }
    violations
}

fn attribute_problem(path: &str, line: usize, code: &str) -> Option<Violation> {
    let (attribute, instead) = ATTRIBUTES
        .iter()
        .find(|(attribute, _)| code.contains(attribute))?;
    let shown = attribute.trim_end_matches('(');
    Some(Violation::new(
        path,
        line,
        format!("`{shown}…]` hides a fact"),
        *instead,
    ))
}

fn macro_problem(path: &str, line: usize, code: &str) -> Option<Violation> {
    let (name, _) = words(code)
        .find(|(word, after)| UNFINISHED_MACROS.contains(word) && after.starts_with('!'))?;
    let wrong = format!("`{name}!` is unfinished code");
    Some(Violation::new(
        path,
        line,
        wrong,
        "finish it, or leave the whole capability out",
    ))
}

fn word_problem(path: &str, line: usize, text: &str) -> Option<Violation> {
    let (word, _) = words(text).find(|(word, _)| UNFINISHED_WORDS.contains(word))?;
    let wrong = format!("a plain {word} does not land");
    Some(Violation::new(
        path,
        line,
        wrong,
        "do it now, or write down why it is right as it stands",
    ))
}

fn is_plan(path: &str) -> bool {
    let mut parts = path.split('/').rev();
    match parts.next() {
        Some("plan.rs") => true,
        Some("tests.rs") => false,
        _ => parts.any(|folder| folder == "plan"),
    }
}

/// The first impure word of a line of code. A field or variable called `now` is an input; a call of `now` is not.
fn impurity(line: &str) -> Option<(&str, &str)> {
    words(line).find_map(|(word, after)| {
        if word == "now" && after.starts_with('(') {
            return Some((word, "reads a clock"));
        }
        IMPURE
            .iter()
            .find(|(impure, _)| *impure == word)
            .map(|(_, fault)| (word, *fault))
    })
}

#[cfg(test)]
mod tests {
    use super::super::report;
    use super::*;

    fn file(path: &str, text: &str) -> Repository {
        Repository::default().with_file(path, text)
    }

    #[test]
    fn unfinished_and_silenced_code_is_refused() {
        let cases = [
            (
                "#[test]\n#[ignore]\nfn a() {}",
                2,
                "`#[ignore…]` hides a fact",
            ),
            ("#[ignore = \"slow\"]", 1, "`#[ignore…]` hides a fact"),
            (
                "#[should_panic(expected = \"x\")]",
                1,
                "`#[should_panic…]` hides a fact",
            ),
            ("#[allow(dead_code)]", 1, "`#[allow…]` hides a fact"),
            (
                "//! Page.\n#![allow(missing_docs)]",
                2,
                "`#![allow…]` hides a fact",
            ),
            ("fn a() { todo!() }", 1, "`todo!` is unfinished code"),
            (
                "fn a() { unimplemented!(\"x\") }",
                1,
                "`unimplemented!` is unfinished code",
            ),
            ("a(); // TODO: b", 1, "a plain TODO does not land"),
            ("/* a\n * FIXME\n */", 2, "a plain FIXME does not land"),
        ];
        for (text, line, wrong) in cases {
            let report = report(check_marks, &file("crates/a/src/lib.rs", text));
            let expected = format!("crates/a/src/lib.rs:{line}: {wrong}; ");
            assert!(report.starts_with(&expected), "{text} gave: {report}");
        }
    }

    #[test]
    fn unfinished_settings_and_scripts_are_refused() {
        for path in ["Cargo.toml", "dev/build.sh", ".ci/run"] {
            let report = report(check_marks, &file(path, "a\n# TODO b\n"));
            assert!(
                report.starts_with(&format!("{path}:2: a plain TODO")),
                "{path} gave: {report}"
            );
        }
    }

    #[test]
    fn what_only_looks_like_a_mark_is_allowed() {
        let cases = [
            "#[expect(dead_code, reason = \"shown by the test below\")]",
            "const WORDS: &[&str] = &[\"TODO\", \"todo!\", \"#[allow(\"];",
            "/// Never `todo!()` here.",
            "let todo = 1; if todo != 2 {}",
            "// The TODOS table.",
            "#[allowed(x)]",
        ];
        for text in cases {
            assert_eq!(
                report(check_marks, &file("crates/a/src/lib.rs", text)),
                "",
                "{text}"
            );
        }
    }

    #[test]
    fn an_impure_plan_is_refused() {
        let cases = [
            ("pub async fn plan() {}", "is asynchronous (`async`)"),
            ("facts.await;", "is asynchronous (`await`)"),
            ("let now = Timestamp::now();", "reads a clock (`now`)"),
            ("use std::time::Instant;", "reads a clock (`Instant`)"),
            ("fn plan(clock: &Clock) {}", "reads a clock (`Clock`)"),
            ("use kube::Api;", "knows a client (`kube`)"),
            ("use client::Cache;", "knows a client (`client`)"),
        ];
        for (text, fault) in cases {
            for path in [
                "crates/parts/a/src/b/plan.rs",
                "crates/parts/a/src/b/plan/orphans.rs",
            ] {
                assert_eq!(
                    report(check_plans, &file(path, text)),
                    format!(
                        "{path}:1: the plan {fault}; gather it in the shell and pass it to `plan` as a value"
                    )
                );
            }
        }
    }

    #[test]
    fn a_pure_plan_and_an_impure_shell_are_allowed() {
        let cases = [
            (
                "crates/parts/a/src/plan.rs",
                "/// What the client sees; no async.\npub fn plan(now: Timestamp) { inputs.now; }",
            ),
            ("crates/parts/a/src/plan/tests.rs", "async fn a() {}"),
            ("crates/parts/a/src/mod.rs", "async fn a(client: Client) {}"),
            ("crates/parts/a/src/planner.rs", "async fn a() {}"),
        ];
        for (path, text) in cases {
            assert_eq!(report(check_plans, &file(path, text)), "", "{path}");
        }
    }
}
