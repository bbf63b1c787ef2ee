//! Switches that are set with a word: `--watch=false`, `-A=true`, as scripts for kubectl have them.
//!
//! Help shows switches as switches; only those that are typed with a word take one.

use std::collections::BTreeSet;
use std::ffi::OsString;

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, Command};

/// The command and the words, such that switches typed with a word are understood.
pub(crate) fn with_words(command: Command, words: Vec<OsString>) -> (Command, Vec<OsString>) {
    let mut typed = BTreeSet::new();
    let mut is_over = false;
    let words: Vec<OsString> = words
        .into_iter()
        .filter(|word| {
            is_over |= word == "--";
            let Some((name, value)) = word.to_str().filter(|_| !is_over).and_then(split) else {
                return true;
            };
            // What is off anyway is not said, so that it is in nobody's way.
            let is_idle = truth(value) == Ok(false) && is_off_everywhere(&command, name);
            if !is_idle {
                typed.insert(name.to_owned());
            }
            !is_idle
        })
        .collect();
    match typed.is_empty() {
        true => (command, words),
        false => (with_values(command, &typed), words),
    }
}

/// The name and the value of `--name=value` or `-n=value`.
fn split(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    if let Some(long) = name.strip_prefix("--") {
        return (long.len() > 1).then_some((long, value));
    }
    let short = name.strip_prefix('-')?;
    (short.chars().count() == 1).then_some((short, value))
}

/// Whether every flag of the name, of whatever command, is a switch that is off by itself; there is one at least.
fn is_off_everywhere(command: &Command, name: &str) -> bool {
    let mut found = Vec::new();
    collect(command, name, &mut found);
    let is_off =
        |arg: &&Arg| is_switch(arg) && arg.get_default_values().iter().all(|it| it != "true");
    !found.is_empty() && found.iter().all(is_off)
}

fn collect<'c>(command: &'c Command, name: &str, found: &mut Vec<&'c Arg>) {
    found.extend(command.get_arguments().filter(|arg| is_called(arg, name)));
    for below in command.get_subcommands() {
        collect(below, name, found);
    }
}

fn is_called(arg: &Arg, name: &str) -> bool {
    let mut letters = name.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) => arg.get_short() == Some(letter),
        _ => {
            let aliases = arg.get_all_aliases().unwrap_or_default();
            arg.get_long() == Some(name) || aliases.contains(&name)
        }
    }
}

fn is_switch(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue)
}

/// The command with switches of these names taking a word.
fn with_values(command: Command, names: &BTreeSet<String>) -> Command {
    let command = command.mut_args(|arg| {
        if !is_switch(&arg) || !names.iter().any(|name| is_called(&arg, name)) {
            return arg;
        }
        let is_on = arg.get_default_values().iter().any(|it| it == "true");
        arg.action(ArgAction::Set)
            .num_args(0..=1)
            .require_equals(true)
            .default_value(if is_on { "true" } else { "false" })
            .default_missing_value("true")
            .value_parser(ValueParser::new(truth))
    });
    command.mut_subcommands(|below| with_values(below, names))
}

/// Upstream: what Go takes for true and false.
fn truth(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("write true or false".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Program, Unusable};

    fn parsed(line: &str) -> Result<String, String> {
        let words = format!("karavel {line}");
        let words = words.split(' ').map(OsString::from);
        match Program::Karavel.parse(words) {
            Ok(arguments) => Ok(format!("{:?}", arguments.command)),
            Err(Unusable::Usage(error)) => Err(error.to_string()),
            Err(Unusable::Apart(failure) | Unusable::Configuration(failure)) => {
                Err(failure.to_string())
            }
        }
    }

    #[test]
    fn a_switch_with_a_word_is_the_switch_or_none() {
        for (with_word, plain) in [
            ("get pods -A=true", "get pods -A"),
            (
                "get pods --all-namespaces=false -n shop",
                "get pods -n shop",
            ),
            ("get pods -A=false -n shop", "get pods -n shop"),
            ("get pods --watch=false", "get pods"),
            (
                "get pods --watch=1 --no-headers=T",
                "get pods --watch --no-headers",
            ),
            (
                "get pods --ignore_not_found=true",
                "get pods --ignore-not-found",
            ),
            (
                "delete pods x --ignore-not-found=true",
                "delete pods x --ignore-not-found",
            ),
            ("delete pods --all=true --force=false", "delete pods --all"),
            (
                "label pods x a=b --overwrite=true",
                "label pods x a=b --overwrite",
            ),
            ("logs x -C m -f=true --timestamps=false", "logs x -C m -f"),
            (
                "create -f x --save-config=true",
                "create -f x --save-config",
            ),
            ("up --demo=true", "up --demo"),
            (
                "server --data-dir d --enable-descheduler=false",
                "server --data-dir d",
            ),
            ("unjoin m --force=true", "unjoin m --force"),
            (
                "exec p -C m -i=true -- date --utc=false",
                "exec p -C m -i -- date --utc=false",
            ),
        ] {
            let (found, expected) = (parsed(with_word), parsed(plain));
            assert!(expected.is_ok(), "{plain}: {expected:?}");
            assert_eq!(found, expected, "{with_word}");
        }
    }

    #[test]
    fn other_words_are_refused_and_other_flags_are_as_they_were() {
        for (line, words) in [
            ("get pods -A=maybe", "write true or false"),
            ("get pods --watch=", "--watch"),
            ("get pods --nosuch=true", "unexpected argument '--nosuch'"),
        ] {
            let said = parsed(line).unwrap_err();
            assert!(said.contains(words), "{line}: {said}");
        }
        assert!(parsed("get pods -l=app=web --output=name").is_ok());
    }
}
