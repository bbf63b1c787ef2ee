//! The reference of all commands, as `docs/commands.md` has it: made from what can be typed, so that it cannot be wrong.

use clap::{Arg, Command};

use crate::program::Program;

/// What stands above it.
const HEAD: &str = "# Commands

This page is made by the program itself: `karavel __reference`.
Every command takes the flags under [all commands](#all-commands); flags go before the environment (`KARAVEL_*`), which goes before the file that `--config` names.
Exit codes: 0 done, 1 refused, 2 failed; `exec` ends as the command it runs.
";

/// The whole page.
pub(crate) fn page(program: Program) -> String {
    let root = program.command();
    let mut page = HEAD.to_owned();
    page.push_str("\n## All commands\n\n");
    table(
        &mut page,
        root.get_arguments().filter(|arg| arg.is_global_set()),
    );
    for command in root
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
    {
        section(&mut page, program.name(), command, 2);
    }
    page
}

fn section(page: &mut String, above: &str, command: &Command, depth: usize) {
    let name = format!("{above} {}", command.get_name());
    page.push_str(&format!("\n{} {name}\n\n", "#".repeat(depth)));
    let about = command.get_long_about().or(command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let paragraphs = about.split("\n\n");
    for paragraph in paragraphs {
        match paragraph.trim().strip_prefix("Example: ") {
            Some(example) => page.push_str(&format!("```sh\n{example}\n```\n\n")),
            None => page.push_str(&format!("{}\n\n", paragraph.trim())),
        }
    }
    let own: Vec<&Arg> = command
        .get_arguments()
        .filter(|arg| {
            !arg.is_hide_set()
                && !arg.is_global_set()
                && arg.get_id() != "help"
                && arg.get_id() != "version"
        })
        .collect();
    if !own.is_empty() {
        table(page, own.into_iter());
    }
    for below in command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
    {
        section(page, &name, below, depth + 1);
    }
}

fn table<'a>(page: &mut String, arguments: impl Iterator<Item = &'a Arg>) {
    page.push_str("| | |\n|---|---|\n");
    for arg in arguments.filter(|arg| !arg.is_hide_set()) {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let mut help = help.replace('\n', " ");
        let values = arg.get_possible_values();
        if !values.is_empty()
            && arg
                .get_num_args()
                .is_none_or(|count| count.max_values() > 0)
        {
            let names: Vec<&str> = values.iter().map(|value| value.get_name()).collect();
            if names != ["true", "false"] {
                help.push_str(&format!(" One of: {}.", names.join(", ")));
            }
        }
        let defaults: Vec<String> = arg
            .get_default_values()
            .iter()
            .map(|value| value.to_string_lossy().into_owned())
            .filter(|value| !value.is_empty() && value != "false")
            .collect();
        if !defaults.is_empty() {
            help.push_str(&format!(" Default: `{}`.", defaults.join(",")));
        }
        if let Some(variable) = arg.get_env() {
            help.push_str(&format!(" Environment: `{}`.", variable.to_string_lossy()));
        }
        page.push_str(&format!(
            "| `{}` | {} |\n",
            spelled(arg),
            help.replace('|', "\\|")
        ));
    }
}

/// How an argument is typed.
fn spelled(arg: &Arg) -> String {
    let value = arg.get_value_names().map(|names| {
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        names.join(" ").replace('|', "\\|")
    });
    let takes = arg
        .get_num_args()
        .is_none_or(|count| count.max_values() > 0)
        && arg.get_action().takes_values();
    let value = value.filter(|_| takes);
    let flag = match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long}"),
        (None, Some(long)) => format!("--{long}"),
        (Some(short), None) => format!("-{short}"),
        (None, None) => return value.unwrap_or_else(|| arg.get_id().to_string()),
    };
    match value {
        // What may be left out needs an equals sign.
        Some(value) if arg.is_require_equals_set() => format!("{flag}[={value}]"),
        Some(value) => format!("{flag} {value}"),
        None => flag,
    }
}
