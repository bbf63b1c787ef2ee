//! Running lines, and looking for words in what they say.

use std::time::{Duration, Instant};

use crate::running::{Up, both};

/// Nothing here takes longer unless something is wrong.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs a line with an input, and expects its exit code and some words in the order given.
#[track_caller]
pub(crate) fn check(up: &Up, line: &str, input: &str, code: i32, words: &[&str]) -> String {
    let output = up.shell(line, input);
    let said = both(&output);
    assert_eq!(output.status.code(), Some(code), "{line}\n{said}");
    let mut rest = said.as_str();
    for word in words {
        let Some((_, after)) = rest.split_once(word) else {
            panic!("{line}: no {word:?} where it is expected in\n{said}");
        };
        rest = after;
    }
    said
}

/// Runs a line until it ends well and says the words.
#[track_caller]
pub(crate) fn until(up: &Up, line: &str, words: &str) -> String {
    let begun = Instant::now();
    loop {
        let output = up.shell(line, "");
        let said = both(&output);
        if output.status.success() && said.contains(words) {
            return said;
        }
        assert!(
            begun.elapsed() < PATIENCE,
            "{line}: no {words:?} in\n{said}"
        );
    }
}
