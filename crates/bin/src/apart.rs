//! Flags and words that stand apart and were meant together: `--cascade orphan`.
//!
//! A flag whose value may be left out takes it only behind an equals sign. Whoever writes a space instead has set the flag to
//! what it is without a value, and named one object more: what that does is not what was meant, so it is not done.

use std::ffi::OsString;

use clap::{Arg, Command};
use cli::Failure;

/// Refuses words in which such a flag is followed by one of its values.
pub(crate) fn check(root: &Command, words: &[OsString]) -> Result<(), Failure> {
    let words = words.iter().skip(1).take_while(|word| *word != "--");
    let mut words = words.map(|word| word.to_str().unwrap_or_default());
    let mut command = root;
    let mut next = words.next();
    while let Some(word) = next {
        next = words.next();
        let Some(flag) = flag(root, command, word) else {
            // A word that is no flag may be a command below this one.
            command = command.find_subcommand(word).unwrap_or(command);
            continue;
        };
        if needs_value(flag) {
            next = words.next();
        } else if let Some(value) = next.filter(|value| is_value(flag, value)) {
            return Err(Failure::refused(
                format!(
                    "the value of {word} needs an equals sign: {value:?} would be taken for a name"
                ),
                format!("write {word}={value}; if {value:?} is a name, write it before {word}"),
            ));
        }
    }
    Ok(())
}

/// The flag that a word ends with, if its value is not in the word.
fn flag<'c>(root: &'c Command, command: &'c Command, word: &str) -> Option<&'c Arg> {
    let known = || command.get_arguments().chain(root.get_arguments());
    if let Some(name) = word.strip_prefix("--") {
        let is_called = |arg: &&Arg| {
            let aliases = arg.get_all_aliases().unwrap_or_default();
            arg.get_long() == Some(name) || aliases.contains(&name)
        };
        return known().find(is_called);
    }
    let letters = word.strip_prefix('-')?;
    for (place, letter) in letters.char_indices() {
        let arg = known().find(|arg| arg.get_short() == Some(letter))?;
        let is_last = place + letter.len_utf8() == letters.len();
        // What follows a letter that needs a value is its value.
        if is_last || needs_value(arg) {
            return Some(arg).filter(|_| is_last);
        }
    }
    None
}

/// Whether the next word is the flag's value in any case.
fn needs_value(arg: &Arg) -> bool {
    arg.get_action().takes_values() && !arg.is_require_equals_set()
}

/// Whether a word would be the flag's value behind an equals sign. Switches take true and false there.
fn is_value(arg: &Arg, word: &str) -> bool {
    let values = arg.get_possible_values();
    matches!(word, "true" | "false") || values.iter().any(|value| value.matches(word, false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Program, Unusable};

    fn refused(line: &str) -> Option<String> {
        let words = format!("karavel {line}");
        match Program::Karavel.parse(words.split(' ').map(OsString::from)) {
            Err(Unusable::Apart(failure)) => Some(failure.hint().to_owned()),
            _ => None,
        }
    }

    #[test]
    fn a_value_that_stands_apart_is_no_name() {
        for (line, expected) in [
            ("delete cm owner --cascade orphan", "--cascade=orphan"),
            (
                "delete cm --cascade foreground owner",
                "--cascade=foreground",
            ),
            ("delete cm owner --cascade false", "--cascade=false"),
            ("delete cm a --wait false", "--wait=false"),
            ("delete cm a --dry-run server", "--dry-run=server"),
            ("delete cm a --dry_run client", "--dry-run=client"),
            ("-n shop delete cm a --force false", "--force=false"),
            ("delete cm -A true", "-A=true"),
            ("apply -f shop.yaml --dry-run server", "--dry-run=server"),
            ("create cm --dry-run server a", "--dry-run=server"),
            (
                "simulate -f x --dry-run-members false",
                "--dry-run-members=false",
            ),
            (
                "promote cm a -C m --auto-create-policy false",
                "--auto-create-policy=false",
            ),
        ] {
            let hint = refused(line);
            let is_told = hint.as_deref().is_some_and(|hint| hint.contains(expected));
            assert!(is_told, "{line}: {hint:?}");
        }
    }

    #[test]
    fn other_words_are_left_alone() {
        for line in [
            "delete cm orphan --cascade",
            "delete cm owner --cascade=orphan orphan",
            "delete cm owner --cascade -n orphan",
            "delete cm true",
            "get cm -n true",
            "get cm -l true",
            "get cm --watch a",
            "get cm --namespace --watch true",
            "apply -Rf true",
            "exec p -C m -i -- true",
            "label cm a --overwrite x=true",
        ] {
            assert_eq!(refused(line), None, "{line}");
        }
    }
}
