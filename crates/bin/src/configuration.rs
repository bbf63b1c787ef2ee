//! Flags from a file: what the command line and the environment do not say.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Command};
use cli::Failure;
use object::Value;

/// The command with the file's values as defaults, if the words or the environment name a file.
pub(crate) fn with_file(command: Command, words: &[OsString]) -> Result<Command, Failure> {
    let Some(path) = named(words) else {
        return Ok(command);
    };
    let text = cli::read_text(&path);
    let text = text.map_err(|why| why.of("--config: ", &path.display().to_string()))?;
    with_text(command, words, &text, &path)
}

/// The file that is named; flags go before the environment.
fn named(words: &[OsString]) -> Option<PathBuf> {
    let mut words = words.iter().skip(1).take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        if word == "--config" {
            return words.next().map(PathBuf::from);
        }
        if let Some(value) = word
            .to_str()
            .and_then(|word| word.strip_prefix("--config="))
        {
            return Some(PathBuf::from(value));
        }
    }
    let variable = std::env::var_os("KARAVEL_CONFIG")?;
    (!variable.is_empty()).then(|| PathBuf::from(variable))
}

fn with_text(
    command: Command,
    words: &[OsString],
    text: &str,
    path: &Path,
) -> Result<Command, Failure> {
    let wrong = |why: String| {
        Failure::refused(
            format!("--config: {}: {why}", path.display()),
            "write flags without their dashes, such as `data-dir: ./data`",
        )
    };
    let document: Value = serde_saphyr::from_str(text).map_err(|error| wrong(error.to_string()))?;
    let fields = match document {
        Value::Null => return Ok(command),
        Value::Object(fields) => fields,
        _ => return Err(wrong("it is not a list of flags and values".to_owned())),
    };
    let is_role = |word: &&OsString| {
        word.to_str()
            .is_some_and(|word| command.find_subcommand(word).is_some())
    };
    let Some(role) = words
        .iter()
        .skip(1)
        .find(is_role)
        .and_then(|word| word.to_str())
    else {
        return Ok(command);
    };
    let mut command = command;
    for (key, value) in fields {
        let flag = kebab(&key);
        let known = command
            .find_subcommand(role)
            .into_iter()
            .flat_map(Command::get_arguments);
        let known: Vec<String> = known
            .filter_map(|arg| arg.get_long().map(str::to_owned))
            .collect();
        if !known.contains(&flag) {
            let hint = cli::nearest(&flag, known.iter().map(String::as_str))
                .map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
            return Err(wrong(format!("{role} has no flag {key:?}{hint}")));
        }
        let values = values(&value)
            .ok_or_else(|| wrong(format!("{key}: a value or a list of values is needed")))?;
        command = command.mut_subcommand(role, |role| {
            role.mut_args(|arg| match arg.get_long() == Some(flag.as_str()) {
                true => with_default(arg, values.clone()),
                false => arg,
            })
        });
    }
    Ok(command)
}

/// An argument that has these values unless somebody says otherwise.
fn with_default(arg: Arg, values: Vec<String>) -> Arg {
    // Once in the life of the process: clap keeps defaults as long as that.
    let values: Vec<&'static str> = values.into_iter().map(|value| &*value.leak()).collect();
    let arg = arg.required(false);
    match (arg.get_action(), values.as_slice()) {
        (ArgAction::SetTrue | ArgAction::SetFalse, [value, ..]) => arg.default_value(*value),
        _ => arg.default_values(values),
    }
}

fn values(value: &Value) -> Option<Vec<String>> {
    let one = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    };
    match value {
        Value::Array(items) => items.iter().map(one).collect(),
        value => Some(vec![one(value)?]),
    }
}

/// `dataDir` and `data_dir` are `data-dir`.
fn kebab(key: &str) -> String {
    let mut flag = String::new();
    for letter in key.chars() {
        match letter {
            '_' => flag.push('-'),
            letter if letter.is_ascii_uppercase() => {
                flag.push('-');
                flag.push(letter.to_ascii_lowercase());
            }
            letter => flag.push(letter),
        }
    }
    flag
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches as _;

    use super::*;
    use crate::arguments::{Arguments, Command as Typed};
    use crate::program::Program;

    fn up(line: &str, text: &str) -> Result<(u16, String), String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let command = with_text(Program::Karavel.command(), &words, text, Path::new("f"));
        let command = command.map_err(|failure| failure.to_string())?;
        let matches = command
            .try_get_matches_from(words)
            .map_err(|error| error.to_string())?;
        let typed = Arguments::from_arg_matches(&matches).map_err(|error| error.to_string())?;
        match typed.command {
            Typed::Up(up) => Ok((up.members, up.listen.to_string())),
            _ => Err("another command".to_owned()),
        }
    }

    #[test]
    fn flags_go_before_the_file_and_unknown_ones_are_named() {
        for (line, text, expected) in [
            (
                "karavel up",
                "members: 2\nlisten: 127.0.0.1:7000\n",
                Ok((2, "127.0.0.1:7000")),
            ),
            (
                "karavel up --members 5",
                "members: 2",
                Ok((5, "127.0.0.1:5443")),
            ),
            ("karavel up", "", Ok((3, "127.0.0.1:5443"))),
            ("karavel up", "mebmers: 2", Err("did you mean \"members\"?")),
            ("karavel up", "members: {a: b}", Err("a value or a list")),
            ("karavel up", "members: many", Err("invalid value")),
            ("karavel up", "- a", Err("not a list of flags")),
        ] {
            match (up(line, text), expected) {
                (Ok((members, listen)), Ok(expected)) => {
                    assert_eq!((members, listen.as_str()), expected, "{text}");
                }
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{text}: {found}"),
                (found, expected) => panic!("{text}: {found:?} instead of {expected:?}"),
            }
        }
    }
}
