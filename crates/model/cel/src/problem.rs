//! What is wrong with an expression, shown with the place it is at.

use std::fmt;

/// One thing wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    /// How many characters stand before it.
    pub at: u32,
    pub text: String,
}

/// Why a text is no program: everything wrong with it, each with the line it is in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CompileError(String);

impl Problem {
    pub(crate) fn new(at: u32, text: impl Into<String>) -> Self {
        Self {
            at,
            text: text.into(),
        }
    }
}

impl CompileError {
    /// All problems of `source`, in the order of their places.
    pub(crate) fn new(source: &str, mut problems: Vec<Problem>) -> Self {
        problems.sort();
        problems.dedup();
        let texts: Vec<String> = problems
            .iter()
            .map(|problem| Shown { source, problem }.to_string())
            .collect();
        Self(texts.join("\n"))
    }
}

struct Shown<'a> {
    source: &'a str,
    problem: &'a Problem,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = self.problem.at as usize;
        let mut shown = (1, "", before);
        for (number, line) in self.source.split('\n').enumerate() {
            let length = line.chars().count();
            shown = (number + 1, line, before);
            if before <= length {
                break;
            }
            before -= length + 1;
        }
        let (number, line, column) = shown;
        write!(
            f,
            "ERROR: <input>:{number}:{}: {}\n | {}\n | {}^",
            column + 1,
            self.problem.text,
            line.replace('\t', " "),
            ".".repeat(column.min(line.chars().count()))
        )
    }
}
