//! Running lines, and looking for words in what they say.

use crate::running::{Up, both};
use crate::waiting::wait_for;

/// Runs a line with an input, and expects its exit code and some words in the order given.
#[track_caller]
pub(crate) fn check(up: &Up, line: &str, input: &str, code: i32, words: &[&str]) -> String {
    let output = up.shell(line, input);
    let said = both(&output);
    assert_eq!(output.status.code(), Some(code), "{line}\n{said}");
    if let Some(word) = missing(&said, words) {
        panic!("{line}: no {word:?} where it is expected in\n{said}");
    }
    said
}

/// Runs a line with an input until it ends well and says all the words in the order given. Whatever is asserted about what
/// is on its way belongs among them: that one thing has come does not say that another has.
#[track_caller]
pub(crate) fn until(up: &Up, line: &str, input: &str, words: &[&str]) -> String {
    wait_for(|| {
        let output = up.shell(line, input);
        let said = both(&output);
        match missing(&said, words) {
            None if output.status.success() => Ok(said),
            None => Err(format!("{line}: it does not end well\n{said}")),
            Some(word) => Err(format!(
                "{line}: no {word:?} where it is awaited in\n{said}"
            )),
        }
    })
}

/// The first of some words that does not follow those before it.
fn missing<'a>(said: &str, words: &[&'a str]) -> Option<&'a str> {
    let mut rest = said;
    for word in words {
        match rest.split_once(word) {
            Some((_, after)) => rest = after,
            None => return Some(word),
        }
    }
    None
}
