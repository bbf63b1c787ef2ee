//! Help that fits into a terminal of 80 columns: all commands by what they are for, and descriptions broken between words.

use clap::Command;
use clap::builder::StyledStr;

/// How wide a terminal is at least.
const WIDTH: usize = 80;
/// Where the description of a command begins.
const COLUMN: usize = 17;
/// Where the description of a flag begins.
const FLAG_COLUMN: usize = 10;

/// The commands, by what they are for.
const GROUPS: [(&str, &[&str]); 8] = [
    ("Run it", &["up", "server", "sim", "estimator"]),
    (
        "Clusters",
        &[
            "clusters", "join", "unjoin", "cordon", "uncordon", "taint", "token",
        ],
    ),
    (
        "Look into all of them at once",
        &[
            "get",
            "describe",
            "logs",
            "exec",
            "attach",
            "port-forward",
            "top",
            "events",
        ],
    ),
    ("Ask why, and what if", &["explain", "simulate"]),
    (
        "Change something",
        &[
            "apply", "create", "delete", "edit", "patch", "label", "annotate", "promote",
        ],
    ),
    (
        "Kinds and what they mean",
        &["api-resources", "api-versions", "crds", "interpret"],
    ),
    (
        "Keep, measure, know",
        &[
            "backup",
            "restore",
            "bench",
            "version",
            "options",
            "completion",
        ],
    ),
    (
        "Known from Karmada, done otherwise here",
        &["init", "deinit", "addons", "register", "unregister"],
    ),
];

/// The same command, with help that fits.
pub(crate) fn fit(command: Command) -> Command {
    let page = page(&command);
    fit_below(command).override_help(page)
}

fn fit_below(command: Command) -> Command {
    let text = |about: Option<&StyledStr>| about.map(ToString::to_string).unwrap_or_default();
    let (short, long) = (text(command.get_about()), text(command.get_long_about()));
    let long = if long.is_empty() { &short } else { &long };
    let command = command
        .about(wrapped(&short, WIDTH - COLUMN))
        .long_about(wrapped(long, WIDTH));
    let command = command.mut_args(|arg| {
        let help = arg.get_long_help().or_else(|| arg.get_help());
        match help.map(|help| wrapped(&help.to_string(), WIDTH - FLAG_COLUMN)) {
            Some(help) => arg.long_help(help),
            None => arg,
        }
    });
    command.mut_subcommands(fit_below)
}

/// All commands, by what they are for.
fn page(command: &Command) -> String {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let about = command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default();
    let mut page = format!("{about}\n\nUsage: {name} [OPTIONS] <COMMAND>\n");
    for (title, verbs) in GROUPS {
        page.push_str(&format!("\n{title}:\n"));
        for verb in verbs {
            let found = command.find_subcommand(verb);
            let about = found.and_then(Command::get_about);
            entry(
                &mut page,
                verb,
                &about.map(ToString::to_string).unwrap_or_default(),
            );
        }
    }
    page.push_str("\nFor all commands:\n");
    let flags = command.get_arguments().filter(|flag| !flag.is_hide_set());
    for flag in flags {
        let Some(long) = flag.get_long() else {
            continue;
        };
        let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
        entry(&mut page, &format!("--{long}"), &help);
    }
    page.push_str(&format!(
        "\n`{name} COMMAND --help` tells more of one, with an example that works.\n"
    ));
    page
}

/// A name and what is said about it.
fn entry(page: &mut String, name: &str, said: &str) {
    let text = wrapped(said, WIDTH - COLUMN);
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    match name.len() + 3 > COLUMN {
        true => page.push_str(&format!("  {name}\n{:COLUMN$}{first}\n", "")),
        false => page.push_str(&format!("  {name:0$}{first}\n", COLUMN - 2)),
    }
    for line in lines {
        page.push_str(&format!("{:COLUMN$}{line}\n", ""));
    }
}

/// A text in lines of a width, broken between words; its own lines stay apart, and examples are lines to be typed.
fn wrapped(text: &str, width: usize) -> String {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        if paragraph.starts_with("Example: ") {
            lines.push(paragraph.to_owned());
            continue;
        }
        let mut line = String::new();
        for word in paragraph.split(' ') {
            let is_full = line.chars().count() + 1 + word.chars().count() > width;
            if !line.is_empty() && is_full {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use crate::program::Program;

    use super::*;

    #[test]
    fn every_command_is_in_one_group_and_the_page_fits() {
        let command = Program::Karavel.command();
        let mut listed: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, verbs)| verbs.iter().copied())
            .collect();
        let shown = command
            .get_subcommands()
            .filter(|command| !command.is_hide_set());
        let mut known: Vec<&str> = shown
            .map(Command::get_name)
            .filter(|name| *name != "help")
            .collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known);
        let page = page(&command);
        let wide: Vec<&str> = page
            .lines()
            .filter(|line| line.chars().count() > WIDTH)
            .collect();
        assert!(wide.is_empty(), "{wide:?}");
    }

    #[test]
    fn the_help_of_every_command_fits() {
        let mut command = fit(Program::Karavel.command());
        for below in command.get_subcommands_mut() {
            let name = below.get_name().to_owned();
            for line in below.render_long_help().to_string().lines() {
                // What is typed stands in a line of its own.
                let is_free = line.starts_with("Usage: ") || line.starts_with("Example: ");
                assert!(is_free || line.chars().count() <= WIDTH, "{name}: {line}");
            }
        }
    }

    #[test]
    fn words_are_never_broken() {
        for (text, width, expected) in [
            ("a bc def", 5, "a bc\ndef"),
            ("abcdefgh i", 3, "abcdefgh\ni"),
            ("a\n\nb", 9, "a\n\nb"),
            ("Example: a b", 3, "Example: a b"),
            ("", 9, ""),
        ] {
            assert_eq!(wrapped(text, width), expected, "{text:?}");
        }
    }
}
