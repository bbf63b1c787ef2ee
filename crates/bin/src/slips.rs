//! What was typed wrongly, in words for those who typed it.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// What the standard library says of numbers, and what it means.
const NUMBERS: [(&str, &str); 4] = [
    ("invalid digit found in string", "write a whole number"),
    (
        "cannot parse integer from empty string",
        "write a whole number",
    ),
    (
        "number too large to fit in target type",
        "the number is too large",
    ),
    (
        "number too small to fit in target type",
        "the number is too small",
    ),
];

/// The mistake, what was probably meant, and how it is used.
pub(crate) fn told(error: &clap::Error) -> String {
    let said = error.render().to_string();
    let flag = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(flag))) => Some(flag.as_str()),
        _ => None,
    };
    let said = match flag {
        Some(flag) => renamed(&said, flag),
        None => scoped(said, error),
    };
    NUMBERS
        .iter()
        .fold(said, |said, (found, meant)| said.replace(found, meant))
}

/// Upstream: flags that nobody knows are called so, and scripts look for the words.
fn renamed(said: &str, flag: &str) -> String {
    let mut letters = flag.trim_start_matches('-').chars();
    let called = match (flag.starts_with("--"), letters.next()) {
        (true, Some(_)) => format!("unknown flag: {flag}"),
        (false, Some(letter)) if flag.starts_with('-') => {
            format!("unknown shorthand flag: '{letter}' in {flag}")
        }
        _ => return said.to_owned(),
    };
    said.replacen(&format!("unexpected argument '{flag}' found"), &called, 1)
}

/// Upstream: the same of scopes that there are not.
fn scoped(said: String, error: &clap::Error) -> String {
    let text = |kind: ContextKind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let (flag, value) = (
        text(ContextKind::InvalidArg),
        text(ContextKind::InvalidValue),
    );
    if error.kind() != ErrorKind::InvalidValue || !flag.starts_with("--operation-scope") {
        return said;
    }
    let line = format!("invalid value '{value}' for '{flag}'");
    let told = format!("{line}: not support OperationScope: {value}");
    said.replacen(&line, &told, 1)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::program::{Program, Unusable};

    #[test]
    fn slips_are_told_in_words_that_people_and_scripts_know() {
        for (line, expected) in [
            ("get pods --nosuch", "error: unknown flag: --nosuch\n"),
            ("get pods --nosuch=1", "error: unknown flag: --nosuch\n"),
            (
                "version --invalidflag",
                "error: unknown flag: --invalidflag\n",
            ),
            (
                "token create --invalidflag",
                "error: unknown flag: --invalidflag\n",
            ),
            (
                "top pod -s members",
                "error: unknown shorthand flag: 's' in -s\n",
            ),
            ("get pods --namspace x", "'--namespace'"),
            (
                "version false",
                "error: unexpected argument 'false' found\n",
            ),
            ("get pods -s foo", "not support OperationScope: foo\n"),
            ("version more", "error: unexpected argument 'more' found\n"),
            (
                "up --members 3x",
                "invalid value '3x' for '--members <N>': write a whole number\n",
            ),
            (
                "up --members 99999999999999999999",
                "the number is too large",
            ),
            ("up --members 1001", "1001 is not in 0..=1000"),
            ("sim --data-dir d --nodes many", "write a whole number"),
        ] {
            let words = format!("karavel {line}");
            let words = words.split(' ').map(OsString::from);
            match Program::Karavel.parse(words) {
                Err(Unusable::Usage(error)) => {
                    let said = told(&error);
                    assert!(said.contains(expected), "{line}: {said}");
                }
                Err(Unusable::Apart(failure) | Unusable::Configuration(failure)) => {
                    panic!("{line}: {failure}")
                }
                Ok(arguments) => panic!("{line}: {arguments:?}"),
            }
        }
    }
}
