//! The program under the name it was called by: as itself, or as the tools whose verbs it knows.

use std::ffi::OsString;
use std::path::Path;

use clap::{ArgAction, CommandFactory, FromArgMatches};
use cli::Failure;

use crate::arguments::Arguments;
use crate::{apart, configuration, overview, switches};

/// What `up` logs: what somebody should act on. That a member is away for a while is shown by `karavel clusters`.
const QUIET: &str = "warn,karavel_client::follow=error,karavel_estimator::feed=error";
/// The version of the reference whose API is spoken.
const REFERENCE: &str = "v1.18.2";

/// The program, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// Itself.
    Karavel,
    /// Karmada's own tool.
    Karmadactl,
    /// The same as a plugin of kubectl.
    KubectlKarmada,
}

/// Why nothing can be done with what was typed.
pub(crate) enum Unusable {
    /// It is not understood, or help was asked for.
    Usage(clap::Error),
    /// A flag and its value stand apart.
    Apart(Failure),
    /// The file of flags is of no use.
    Configuration(Failure),
}

impl Program {
    /// What this process was called.
    pub(crate) fn of_process() -> Self {
        let called = std::env::args_os().next().unwrap_or_default();
        Self::called(Path::new(&called))
    }

    fn called(path: &Path) -> Self {
        match path.file_stem().and_then(|name| name.to_str()) {
            Some("karmadactl") => Self::Karmadactl,
            Some("kubectl-karmada" | "kubectl-karavel") => Self::KubectlKarmada,
            _ => Self::Karavel,
        }
    }

    /// As it stands in help and scripts.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Karavel => "karavel",
            Self::Karmadactl => "karmadactl",
            Self::KubectlKarmada => "kubectl karmada",
        }
    }

    /// Everything that can be typed.
    pub(crate) fn command(self) -> clap::Command {
        // Where people look at the terminal, only what they should act on is logged.
        let command = Arguments::command().mut_subcommand("up", |up| {
            up.mut_arg("log", |log| {
                let help = log.get_help().map(ToString::to_string).unwrap_or_default();
                let help = format!("{help}; only what somebody should act on if absent");
                log.default_value(QUIET).hide_default_value(true).help(help)
            })
        });
        let command = forgiving(command);
        match self {
            Self::Karavel => command,
            other => renamed(command, other.name())
                .name(other.name())
                .bin_name(other.name()),
        }
    }

    /// Reads what was typed, and the file of flags if one is named.
    pub(crate) fn parse(
        self,
        words: impl Iterator<Item = OsString>,
    ) -> Result<Arguments, Unusable> {
        let words = spelled(words.collect());
        let command = overview::fit(self.command());
        apart::check(&command, &words).map_err(Unusable::Apart)?;
        let command = configuration::with_file(command, &words).map_err(Unusable::Configuration)?;
        let (command, words) = switches::with_words(command, words);
        let matches = command
            .try_get_matches_from(words)
            .map_err(Unusable::Usage)?;
        Arguments::from_arg_matches(&matches).map_err(Unusable::Usage)
    }

    /// The line that tells the version.
    pub(crate) fn version(self) -> String {
        let own = env!("CARGO_PKG_VERSION");
        match self {
            Self::Karavel => format!("karavel {own} (speaks the API of Karmada {REFERENCE})\n"),
            other => format!(
                "{} version: version.Info{{GitVersion:\"{REFERENCE}\", GitCommit:\"karavel-{own}\", GitShortCommit:\"karavel\", GitTreeState:\"clean\", BuildDate:\"\", GoVersion:\"\", Compiler:\"rustc\", Platform:\"{}/{}\"}}\n",
                other.name(),
                std::env::consts::OS,
                // Upstream: architectures are called as Go calls them.
                match std::env::consts::ARCH {
                    "x86_64" => "amd64",
                    "aarch64" => "arm64",
                    other => other,
                },
            ),
        }
    }

    /// The flags that all commands take.
    pub(crate) fn options(self) -> String {
        let command = self.command();
        let mut text = "The following options can be passed to any command:\n\n".to_owned();
        for flag in command.get_arguments().filter(|flag| flag.is_global_set()) {
            let Some(long) = flag.get_long() else {
                continue;
            };
            let short = flag
                .get_short()
                .map_or_else(String::new, |short| format!("-{short}, "));
            let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("    {short}--{long}:\n        {help}\n\n"));
        }
        text
    }
}

/// Upstream: a flag that is given again counts as it is given last, and a number behind a flag is its value, also below zero.
fn forgiving(command: clap::Command) -> clap::Command {
    let takes_value = |arg: &clap::Arg| {
        let action = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
        action && !arg.is_positional()
    };
    command
        .args_override_self(true)
        .mut_args(|arg| match takes_value(&arg) {
            true => arg.allow_negative_numbers(true),
            false => arg,
        })
        .mut_subcommands(forgiving)
}

/// Examples in the help of commands, and of those below them, begin with the name the program was called by.
fn renamed(command: clap::Command, name: &str) -> clap::Command {
    let command = match command.get_long_about() {
        Some(help) => {
            let help = help.to_string().replace("karavel ", &format!("{name} "));
            command.long_about(help)
        }
        None => command,
    };
    command.mut_subcommands(|below| renamed(below, name))
}

/// Underscores in the names of flags are dashes, as scripts for the reference have them.
fn spelled(words: Vec<OsString>) -> Vec<OsString> {
    let mut is_over = false;
    let spell = |word: OsString| {
        if word == "--" {
            is_over = true;
        }
        let Some(text) = word
            .to_str()
            .filter(|text| text.starts_with("--") && !is_over)
        else {
            return word;
        };
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, format!("={value}")),
            None => (text, String::new()),
        };
        // A name of two underscores at its beginning is no flag of anybody's.
        match name.contains('_') {
            true => OsString::from(format!("{}{value}", name.replace('_', "-"))),
            false => word,
        }
    };
    words.into_iter().map(spell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_answers_to_its_names() {
        for (path, expected) in [
            ("/usr/bin/karavel", Program::Karavel),
            ("karmadactl", Program::Karmadactl),
            ("./kubectl-karmada", Program::KubectlKarmada),
            ("", Program::Karavel),
        ] {
            assert_eq!(Program::called(Path::new(path)), expected);
        }
        assert!(
            Program::Karmadactl
                .version()
                .starts_with("karmadactl version: version.Info{GitVersion:\"v")
        );
        assert!(
            Program::Karavel.options().contains("--v:"),
            "{}",
            Program::Karavel.options()
        );
    }

    #[test]
    fn examples_are_of_the_name_that_was_called() {
        let words = ["karmadactl", "top", "nodes", "--help"].map(OsString::from);
        let Err(Unusable::Usage(help)) = Program::Karmadactl.parse(words.into_iter()) else {
            panic!("there is no help");
        };
        let help = help.to_string();
        assert!(help.contains("Example: karmadactl top nodes"), "{help}");
    }

    #[test]
    fn underscores_in_flags_are_dashes() {
        let words = ["x", "--a_b=c_d", "--e_f", "g_h", "--", "--i_j"].map(OsString::from);
        let expected = ["x", "--a-b=c_d", "--e-f", "g_h", "--", "--i_j"].map(OsString::from);
        assert_eq!(spelled(words.to_vec()), expected);
    }

    #[test]
    fn flags_may_stand_before_the_command() {
        let parse = |line: &str| {
            let words = line.split(' ').map(OsString::from);
            Program::Karmadactl.parse(words).is_ok()
        };
        assert!(parse("karmadactl --karmada-context c get pods"));
        assert!(parse("karmadactl get pods --karmada_context c -v 4"));
        assert!(!parse("karmadactl gt pods"));
    }

    #[test]
    fn flags_are_read_as_other_tools_read_them() {
        use crate::arguments::Command;
        let parse = |line: &str| {
            let words = line.split(' ').map(OsString::from);
            Program::Karavel
                .parse(words)
                .ok()
                .map(|parsed| parsed.command)
        };
        let Some(Command::Get(get)) =
            parse("karavel get pods -n a -o json -n b --watch --watch -o yaml")
        else {
            panic!("flags cannot be given again");
        };
        assert_eq!(get.namespaces.namespace.as_deref(), Some("b"));
        assert!(get.watch);
        for line in [
            "karavel logs x -C m --tail -1 --max-log-requests 3 --tail -2",
            "karavel delete pod x --grace-period -1",
            "karavel create deployment web --image=x --replicas -1",
            "karavel get pods -l -1",
            "karavel get pods --chunk-size 500 --server-print=false",
            "karavel port-forward x 80 -C m --address localhost,127.0.0.2",
        ] {
            assert!(parse(line).is_some(), "{line}");
        }
        let Some(Command::Logs(logs)) = parse("karavel logs x -C m --tail 5 --tail -1") else {
            panic!("a number below zero is no value");
        };
        assert_eq!(logs.tail, Some(-1));
        assert!(parse("karavel get pods -1").is_none());
        assert!(parse("karavel get pods -n").is_none());
    }

    #[test]
    fn a_namespace_before_the_command_is_the_command_s() {
        for (line, expected) in [
            ("karavel -n shop get pods", Some("shop")),
            ("karavel --namespace=shop get pods", Some("shop")),
            ("karavel get pods -n shop", Some("shop")),
            ("karavel -n bank get pods -n shop", Some("shop")),
            ("karavel get pods", None),
        ] {
            let words = line.split(' ').map(OsString::from);
            let Ok(parsed) = Program::Karavel.parse(words) else {
                panic!("{line} cannot be typed");
            };
            let crate::arguments::Command::Get(get) = parsed.command else {
                panic!("{line} is something else");
            };
            assert_eq!(get.namespaces.namespace.as_deref(), expected, "{line}");
        }
    }
}
