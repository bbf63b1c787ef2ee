//! What may come next on a line, and the scripts that ask for it.

use clap::{Arg, ArgAction, Command};
use cli::{Failure, Reach};

use crate::print;
use crate::program::Program;
use crate::running::block_on;

/// Bash: the words so far go to the program, which prints one proposal a line.
const BASH: &str = r#"# bash completion for NAME
_PROGRAM_complete() {
    local IFS=$'\n'
    COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _PROGRAM_complete NAME
"#;
const ZSH: &str = r#"#compdef NAME
_PROGRAM_complete() {
    local -a proposals
    proposals=("${(@f)$("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    compadd -- "${proposals[@]}"
}
compdef _PROGRAM_complete NAME
"#;
const FISH: &str = r#"# fish completion for NAME
function __PROGRAM_complete
    set -l words (commandline -opc) (commandline -ct)
    $words[1] __complete -- $words[2..-1] 2>/dev/null
end
complete -c NAME -f -a '(__PROGRAM_complete)'
"#;

/// Prints the script for a shell.
pub(crate) fn script(program: &Program, shell: Option<&str>) -> Result<(), Failure> {
    let hint = "choose one of: bash, zsh, fish";
    let template = match shell {
        None => return Err(Failure::refused("Shell not specified.", hint)),
        Some("bash") => BASH,
        Some("zsh") => ZSH,
        Some("fish") => FISH,
        Some(other) => {
            return Err(Failure::refused(
                format!("Unsupported shell type {other:?}."),
                hint,
            ));
        }
    };
    let name = program.name().replace(' ', "-");
    let word = name.replace('-', "_");
    print(&template.replace("NAME", &name).replace("PROGRAM", &word))
}

/// Prints what may come next, one proposal a line.
pub(crate) fn complete(program: &Program, reach: &Reach, words: &[String]) -> Result<(), Failure> {
    let words = match words.split_first() {
        Some((first, rest)) if first == "--" => rest,
        _ => words,
    };
    let (last, before) = match words.split_last() {
        Some((last, before)) => (last.as_str(), before),
        None => ("", words),
    };
    let mut proposals = match wanted(&program.command(), before, last) {
        Wanted::Words(words) => words,
        Wanted::Names(kind) => names(reach, &kind),
    };
    proposals.retain(|word| word.starts_with(last));
    proposals.sort();
    proposals.dedup();
    print(
        &proposals
            .iter()
            .map(|word| format!("{word}\n"))
            .collect::<String>(),
    )
}

/// What is to be proposed.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    /// One of these.
    Words(Vec<String>),
    /// The names of objects of this kind; kinds if empty.
    Names(String),
}

fn wanted(root: &Command, before: &[String], last: &str) -> Wanted {
    let mut command = root;
    let mut plain: Vec<&str> = Vec::new();
    let mut pending: Option<&Arg> = None;
    for word in before {
        if pending.take().is_some() {
            continue;
        }
        if let Some(flag) = flag_of(root, command, word) {
            pending = takes_value(flag)
                .then_some(flag)
                .filter(|_| !word.contains('='));
        } else if let Some(found) = command.find_subcommand(word) {
            command = found;
        } else if !word.starts_with('-') {
            plain.push(word);
        }
    }
    if let Some(flag) = pending {
        return of_flag(flag);
    }
    if last.starts_with('-') {
        return Wanted::Words(flags(root, command));
    }
    let below: Vec<String> = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| command.get_name().to_owned())
        .collect();
    if !below.is_empty() {
        return Wanted::Words(below);
    }
    of_position(command.get_name(), &plain)
}

/// What stands at a position that is no flag.
fn of_position(command: &str, plain: &[&str]) -> Wanted {
    let clusters = || Wanted::Names("clusters".to_owned());
    match (command, plain) {
        ("cordon" | "uncordon" | "unjoin", []) => clusters(),
        ("taint", []) => Wanted::Words(vec!["clusters".to_owned()]),
        ("taint", _) => clusters(),
        ("completion", []) => Wanted::Words(["bash", "zsh", "fish"].map(str::to_owned).to_vec()),
        ("logs" | "exec" | "attach" | "port-forward", _) => Wanted::Words(Vec::new()),
        (
            "get" | "describe" | "delete" | "edit" | "patch" | "label" | "annotate" | "explain"
            | "promote",
            [],
        ) => Wanted::Names(String::new()),
        (
            "get" | "describe" | "delete" | "edit" | "patch" | "label" | "annotate" | "explain"
            | "promote",
            [kind, ..],
        ) => Wanted::Names((*kind).to_owned()),
        _ => Wanted::Words(Vec::new()),
    }
}

fn of_flag(flag: &Arg) -> Wanted {
    match flag.get_long() {
        Some("namespace") => Wanted::Names("namespaces".to_owned()),
        Some("cluster" | "clusters" | "lose") => Wanted::Names("clusters".to_owned()),
        _ => Wanted::Words(
            flag.get_possible_values()
                .iter()
                .map(|value| value.get_name().to_owned())
                .collect(),
        ),
    }
}

fn flag_of<'c>(root: &'c Command, command: &'c Command, word: &str) -> Option<&'c Arg> {
    let arguments = || command.get_arguments().chain(root.get_arguments());
    if let Some(long) = word.strip_prefix("--") {
        let long = long.split('=').next().unwrap_or(long);
        return arguments().find(|arg| arg.get_long() == Some(long));
    }
    let short = word.strip_prefix('-')?.chars().next()?;
    arguments().find(|arg| arg.get_short() == Some(short))
}

fn takes_value(flag: &Arg) -> bool {
    matches!(flag.get_action(), ArgAction::Set | ArgAction::Append)
        && flag
            .get_num_args()
            .is_none_or(|count| count.min_values() > 0)
}

fn flags(root: &Command, command: &Command) -> Vec<String> {
    let global = root.get_arguments().filter(|arg| arg.is_global_set());
    command
        .get_arguments()
        .chain(global)
        .filter(|arg| !arg.is_hide_set())
        .filter_map(|arg| Some(format!("--{}", arg.get_long()?)))
        .collect()
}

/// Names from the control plane; none if it cannot be asked, because nobody wants to read why while typing.
fn names(reach: &Reach, kind: &str) -> Vec<String> {
    let asked = block_on(async {
        let control = reach.connect().await?;
        cli::proposals(&control, kind).await
    });
    asked.and_then(|names| names).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_next_depends_on_what_stands_before() {
        let root = Program::Karavel.command();
        let at = |line: &str| {
            let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let last = words.pop().unwrap_or_default();
            wanted(&root, &words, &last)
        };
        let has = |wanted: Wanted, word: &str| match wanted {
            Wanted::Words(words) => words.iter().any(|known| known == word),
            Wanted::Names(_) => false,
        };
        assert!(has(at(""), "simulate"));
        assert!(has(at("get --op"), "--operation-scope"));
        assert!(has(at("get -s "), "members"));
        assert!(has(at("--kubeconfig f top "), "node"));
        assert!(!has(at(""), "__complete"));
        assert_eq!(at("cordon "), Wanted::Names("clusters".to_owned()));
        assert_eq!(at("get pods -n "), Wanted::Names("namespaces".to_owned()));
        assert_eq!(at("get "), Wanted::Names(String::new()));
        assert_eq!(at("get -n shop pods "), Wanted::Names("pods".to_owned()));
        assert_eq!(at("simulate --lose "), Wanted::Names("clusters".to_owned()));
    }
}
