//! What may come next on a line, and the scripts that ask for it.

use clap::{Arg, ArgAction, Command};
use cli::{Failure, Proposal, Reach, Scope};

use crate::print;
use crate::program::Program;
use crate::running::block_on;

/// What is said instead of proposals where nothing fits, and no file would either.
const NOTHING: &str = ":";
/// Bash: the words so far go to the program, which prints one proposal a line. Bash takes `=` and `:` for the ends of words,
/// so that the words are read from the line, and of what is proposed only the rest is handed over.
const BASH: &str = r#"# bash completion for NAME
_PROGRAM_complete() {
    local line="${COMP_LINE:0:COMP_POINT}" part="${COMP_WORDS[COMP_CWORD]}"
    local -a words=()
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    [[ $part == [=:] ]] && part=""
    local whole="${words[${#words[@]}-1]}"
    whole="${whole#[\'\"]}" part="${part#[\'\"]}"
    words[${#words[@]}-1]="$whole"
    local head="${whole%"$part"}"
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ $line == : ]]; then
            compopt +o default 2>/dev/null
        else
            COMPREPLY+=("${line#"$head"}")
        fi
    done < <("${words[0]/#\~/$HOME}" __complete -- "${words[@]:1}" 2>/dev/null)
}
complete -o default -F _PROGRAM_complete NAME
"#;
/// Zsh: read by a shell that starts, or kept as `_NAME` in a directory of functions. Of the last word it keeps what quotes
/// begin it apart.
const ZSH: &str = r#"#compdef NAME
_PROGRAM_complete() {
    local -a proposals
    local last="${(Q)PREFIX}"
    proposals=("${(@f)$("${words[1]/#\~/$HOME}" __complete -- "${(@Q)words[2,CURRENT-1]}" "$last" 2>/dev/null)}")
    proposals=("${(@)proposals:#}")
    if [[ "${proposals[1]}" == : ]]; then
        return 1
    elif (( ${#proposals} )); then
        compadd -- "${proposals[@]}"
    else
        [[ "$last" == -*=* ]] && compset -P '*='
        _files
    fi
}
if [ "${funcstack[1]}" = "_NAME" ]; then
    _PROGRAM_complete
else
    (( ${+functions[compdef]} )) || { autoload -Uz compinit && compinit }
    compdef _PROGRAM_complete NAME
fi
"#;
/// Fish: what is proposed for a word replaces all of it, the flag before a file too.
const FISH: &str = r#"# fish completion for NAME
function __PROGRAM_complete
    set -l words (commandline -opc)
    set -l last (string unescape -- (commandline -ct))
    set -l program (string replace -r '^~(?=/)' $HOME -- $words[1])
    set -l found ($program __complete -- $words[2..-1] "$last" 2>/dev/null)
    if test "$found" = :
        return
    else if test (count $found) -gt 0
        printf '%s\n' $found
    else
        set -l flag (string match -r -- '^-[^=]*=' "$last")
        for path in (__fish_complete_path (string replace -- "$flag" '' "$last"))
            printf '%s\n' "$flag$path"
        end
    end
end
complete -c NAME -f -a '(__PROGRAM_complete)'
"#;

/// The shells there are scripts for.
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];
/// Ways of writing an answer that need nothing behind them.
const FORMATS: [&str; 5] = ["json", "kyaml", "name", "wide", "yaml"];

/// Prints the script for a shell.
pub(crate) fn script(program: &Program, shells: &[String]) -> Result<(), Failure> {
    const CHOICE: &str = "choose one of: bash, zsh, fish";
    let refused = |what: String| Err(Failure::refused(what, CHOICE));
    let shell = match shells {
        [shell] => shell.as_str(),
        [] => return refused("Shell not specified.".to_owned()),
        _ => return refused("Too many arguments. Expected only the shell type.".to_owned()),
    };
    let template = match shell {
        "bash" => BASH,
        "zsh" => ZSH,
        "fish" => FISH,
        other => {
            let meant = cli::nearest(&other.to_lowercase(), SHELLS);
            let meant = meant.map(|near| format!("did you mean {near:?}? "));
            return Err(Failure::refused(
                format!("Unsupported shell type {other:?}."),
                format!("{}{CHOICE}", meant.unwrap_or_default()),
            ));
        }
    };
    let name = program.name().replace(' ', "-");
    let word = name.replace('-', "_");
    print(&template.replace("NAME", &name).replace("PROGRAM", &word))
}

/// Prints what may come next, one proposal a line; nothing where a file may.
pub(crate) fn complete(program: &Program, reach: &Reach, words: &[String]) -> Result<(), Failure> {
    let words = match words.split_first() {
        Some((first, rest)) if first == "--" => rest,
        _ => words,
    };
    let (mut head, before, mut last) = split(words);
    let line = Line::read(&program.command(), &before);
    let wanted = wanted(&program.command(), &before, &last);
    let mut named: Vec<String> = Vec::new();
    if let Some((done, rest)) = last.rsplit_once(',').filter(|_| wanted.is_listed(&line)) {
        head.push_str(&format!("{done},"));
        named.extend(done.split(',').map(str::to_owned));
        last = rest.to_owned();
    }
    let takes_files = wanted.takes_files();
    let mut proposals = match wanted {
        Wanted::Words(words) => words,
        Wanted::Contexts => cli::contexts(&line.reach(reach)),
        Wanted::Some(proposal) => names(&line.reach(reach), &proposal, line.value("namespace")),
    };
    proposals.retain(|word| word.starts_with(&last) && !named.contains(word));
    proposals.sort();
    proposals.dedup();
    if proposals.is_empty() && !takes_files {
        return print(&format!("{NOTHING}\n"));
    }
    print(
        &proposals
            .iter()
            .map(|word| format!("{head}{word}\n"))
            .collect::<String>(),
    )
}

/// What every proposal begins with, the words that are finished, and the one that is not. `--flag=va` is a flag whose value
/// is not finished.
fn split(words: &[String]) -> (String, Vec<String>, String) {
    let Some((last, before)) = words.split_last() else {
        return (String::new(), Vec::new(), String::new());
    };
    let mut before = before.to_vec();
    match last.split_once('=') {
        Some((flag, value)) if flag.starts_with('-') => {
            let head = format!("{flag}=");
            before.push(head.clone());
            (head, before, value.to_owned())
        }
        _ => (String::new(), before, last.clone()),
    }
}

/// What is to be proposed.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    /// One of these.
    Words(Vec<String>),
    /// The contexts of the kubeconfig.
    Contexts,
    /// What the control plane knows.
    Some(Proposal),
}

impl Wanted {
    /// Whether a file may stand there: where nobody knows what else could.
    fn takes_files(&self) -> bool {
        matches!(self, Self::Words(words) if words.is_empty())
    }

    /// Whether several may stand there with commas in between.
    fn is_listed(&self, line: &Line) -> bool {
        let takes_several = ["clusters", "cluster", "lose"];
        match (self, &line.pending) {
            (Self::Some(Proposal::Kinds), None) => true,
            (Self::Some(Proposal::Names { .. }), Some(flag)) => {
                takes_several.contains(&flag.as_str())
            }
            _ => false,
        }
    }
}

/// What has been typed so far: the values of flags, and what is none.
#[derive(Debug, Default)]
struct Line {
    flags: Vec<(String, String)>,
    plain: Vec<String>,
    /// The flag whose value comes next.
    pending: Option<String>,
    /// The commands, from the first to the last.
    commands: Vec<String>,
}

impl Line {
    fn read(root: &Command, words: &[String]) -> Self {
        let mut line = Self::default();
        let mut command = root;
        for (place, word) in words.iter().enumerate() {
            let is_last = place + 1 == words.len();
            if let Some(flag) = line.pending.take() {
                line.flags.push((flag, word.clone()));
                continue;
            }
            if let Some(flag) = flag_of(root, command, word) {
                let name = flag.get_long().unwrap_or_default().to_owned();
                match word.split_once('=') {
                    // Its value is being typed, which it may go without too.
                    Some((_, "")) if is_last => line.pending = Some(name),
                    Some((_, value)) => line.flags.push((name, value.to_owned())),
                    None if takes_value(flag) => line.pending = Some(name),
                    None => {}
                }
            } else if let Some(found) = command.find_subcommand(word) {
                line.commands.push(found.get_name().to_owned());
                command = found;
            } else if !word.starts_with('-') {
                line.plain.push(word.clone());
            }
        }
        line
    }

    fn value(&self, flag: &str) -> Option<&str> {
        let found = self.flags.iter().rev().find(|(name, _)| name == flag);
        found.map(|(_, value)| value.as_str())
    }

    /// The control plane that is meant on this line.
    fn reach(&self, reach: &Reach) -> Reach {
        Reach {
            kubeconfig: self
                .value("kubeconfig")
                .map(Into::into)
                .or_else(|| reach.kubeconfig.clone()),
            context: self
                .value("karmada-context")
                .map(str::to_owned)
                .or_else(|| reach.context.clone()),
        }
    }

    /// The member that is meant, if it is one.
    fn cluster(&self) -> Option<String> {
        let named = self.value("cluster").or_else(|| self.value("clusters"))?;
        (!named.contains(',')).then(|| named.to_owned())
    }

    /// The objects of a kind, where the line speaks of: a cluster that is named is meant, also where no scope is.
    fn objects(&self, kind: &str, prefixed: bool) -> Wanted {
        let named = self.value("cluster").or_else(|| self.value("clusters"));
        let scope = match (self.value("operation-scope"), named) {
            // The cluster is one that a template of the control plane goes to.
            _ if self
                .commands
                .first()
                .is_some_and(|first| first == "explain") =>
            {
                Scope::Karmada
            }
            (Some("members"), _) => Scope::Members,
            (Some("all"), _) => Scope::All,
            (Some(_), _) | (None, None) => Scope::Karmada,
            (None, Some(_)) => Scope::Members,
        };
        let names = named.into_iter().flat_map(|names| names.split(','));
        let names = names.filter(|name| !name.is_empty() && scope != Scope::Karmada);
        Wanted::Some(Proposal::Names {
            kind: kind.to_owned(),
            prefixed,
            scope,
            clusters: names.map(str::to_owned).collect(),
        })
    }

    /// The objects of a kind that only members have.
    fn in_members(&self, kind: &str) -> Wanted {
        match self.objects(kind, false) {
            Wanted::Some(Proposal::Names {
                kind,
                prefixed,
                clusters,
                ..
            }) => Wanted::Some(Proposal::Names {
                kind,
                prefixed,
                scope: Scope::Members,
                clusters,
            }),
            other => other,
        }
    }
}

fn wanted(root: &Command, before: &[String], last: &str) -> Wanted {
    let line = Line::read(root, before);
    let mut command = root;
    for name in &line.commands {
        command = command.find_subcommand(name).unwrap_or(command);
    }
    if let Some(flag) = &line.pending {
        return of_flag(root, command, flag, &line);
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
    of_position(command.get_name(), &line, last)
}

fn names_of(kind: &str, prefixed: bool) -> Wanted {
    Wanted::Some(Proposal::Names {
        kind: kind.to_owned(),
        prefixed,
        scope: Scope::Karmada,
        clusters: Vec::new(),
    })
}

/// What stands at a position that is no flag.
fn of_position(command: &str, line: &Line, last: &str) -> Wanted {
    let plain: Vec<&str> = line.plain.iter().map(String::as_str).collect();
    let takes_objects = matches!(
        command,
        "get"
            | "describe"
            | "delete"
            | "edit"
            | "patch"
            | "label"
            | "annotate"
            | "explain"
            | "promote"
    );
    let is_below = |parent: &str| line.commands.first().is_some_and(|first| first == parent);
    match (command, plain.as_slice()) {
        ("cordon" | "uncordon" | "unjoin", []) | ("clusters", _) => names_of("clusters", false),
        ("taint", []) => Wanted::Words(vec!["clusters".to_owned()]),
        ("taint", _) => names_of("clusters", false),
        ("create", words) => Wanted::Words(cli::words_to_create(words)),
        ("completion", []) => Wanted::Words(SHELLS.map(str::to_owned).to_vec()),
        ("logs" | "exec" | "attach" | "port-forward", []) => {
            match (line.cluster(), last.split_once('/')) {
                (Some(_), Some((kind, _))) => line.objects(kind, true),
                (Some(cluster), None) => Wanted::Some(Proposal::Pods { cluster }),
                (None, _) => Wanted::Words(Vec::new()),
            }
        }
        ("pod", []) if is_below("top") => line.in_members("pods"),
        ("node", []) if is_below("top") => line.in_members("nodes"),
        ("delete", _) if is_below("token") => Wanted::Some(Proposal::Tokens),
        (_, _) if !takes_objects => Wanted::Words(Vec::new()),
        (_, []) => match last.split_once('/') {
            Some((kind, _)) => line.objects(kind, true),
            None => Wanted::Some(Proposal::Kinds),
        },
        (_, [first, ..]) => match (first.split_once('/'), last.split_once('/')) {
            (Some(_), Some((kind, _))) => line.objects(kind, true),
            (Some(_), None) => Wanted::Some(Proposal::Kinds),
            (None, _) => line.objects(first, false),
        },
    }
}

fn of_flag(root: &Command, command: &Command, flag: &str, line: &Line) -> Wanted {
    match flag {
        "namespace" => names_of("namespaces", false),
        "cluster" | "clusters" | "lose" => names_of("clusters", false),
        "karmada-context" => Wanted::Contexts,
        "container" => match (line.cluster(), line.plain.first()) {
            (Some(cluster), Some(pod)) => Wanted::Some(Proposal::Containers {
                cluster,
                pod: pod.clone(),
            }),
            _ => Wanted::Words(Vec::new()),
        },
        _ => {
            let found = flag_of(root, command, &format!("--{flag}"));
            let values = found.map(Arg::get_possible_values).unwrap_or_default();
            let names: Vec<String> = values
                .iter()
                .map(|value| value.get_name().to_owned())
                .collect();
            match (flag, names.is_empty()) {
                ("output", true) => Wanted::Words(formats(command.get_name())),
                _ => Wanted::Words(names),
            }
        }
    }
}

/// How a command can write its answer, in words that need nothing behind them.
fn formats(command: &str) -> Vec<String> {
    let is_fit = |format: &&str| match command {
        "delete" => *format == "name",
        // Only servers make tables, and of what they have.
        "get" | "clusters" => true,
        _ => *format != "wide",
    };
    let fit = FORMATS.into_iter().filter(is_fit);
    fit.map(str::to_owned).collect()
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
fn names(reach: &Reach, wanted: &Proposal, namespace: Option<&str>) -> Vec<String> {
    let asked = block_on(async {
        let control = reach.connect().await?;
        cli::proposals(&control, wanted, namespace).await
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
            _ => false,
        };
        assert!(has(at(""), "simulate"));
        assert!(has(at("get --op"), "--operation-scope"));
        assert!(has(at("get -s "), "members"));
        assert!(has(at("--kubeconfig f top "), "node"));
        assert!(!has(at(""), "__complete"));
        assert!(has(at("get pods -o "), "wide"));
        assert!(has(at("apply -f x -o "), "yaml"));
        assert!(!has(at("apply -f x -o "), "wide"));
        assert!(has(at("delete pod x -o "), "name"));
        assert!(!has(at("delete pod x -o "), "json"));
        assert!(has(at("explain deployment/web -o "), "json"));
        for (line, expected) in [
            ("cordon ", names_of("clusters", false)),
            ("clusters member1 m", names_of("clusters", false)),
            ("get pods -n ", names_of("namespaces", false)),
            ("get ", Wanted::Some(Proposal::Kinds)),
            ("get -n shop pods ", names_of("pods", false)),
            ("explain -n shop deployment/w", names_of("deployment", true)),
            ("get deployment/a deployment/", names_of("deployment", true)),
            ("simulate --lose ", names_of("clusters", false)),
            ("get pods --karmada-context ", Wanted::Contexts),
            ("logs ", Wanted::Words(Vec::new())),
            (
                "logs -C east ",
                Wanted::Some(Proposal::Pods {
                    cluster: "east".to_owned(),
                }),
            ),
            (
                "logs p -C east -c ",
                Wanted::Some(Proposal::Containers {
                    cluster: "east".to_owned(),
                    pod: "p".to_owned(),
                }),
            ),
        ] {
            assert_eq!(at(line), expected, "{line}");
        }
    }

    #[test]
    fn files_are_proposed_where_nobody_knows_what_else_to_propose() {
        let root = Program::Karavel.command();
        for (line, expected) in [
            ("apply -f ", true),
            ("restore ", true),
            ("get --kubeconfig ", true),
            ("nosuch", false),
            ("get ", false),
            ("get pods ", false),
            ("cordon ", false),
            ("get pods -o ", false),
            ("token delete ", false),
            ("completion ", false),
        ] {
            let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let last = words.pop().unwrap_or_default();
            let wanted = wanted(&root, &words, &last);
            assert_eq!(wanted.takes_files(), expected, "{line}");
        }
    }

    #[test]
    fn names_come_from_where_the_line_speaks_of() {
        let root = Program::Karavel.command();
        let in_members = |kind: &str, prefixed: bool, clusters: &[&str]| {
            Wanted::Some(Proposal::Names {
                kind: kind.to_owned(),
                prefixed,
                scope: Scope::Members,
                clusters: clusters.iter().map(|name| (*name).to_owned()).collect(),
            })
        };
        let everywhere = Wanted::Some(Proposal::Names {
            kind: "pods".to_owned(),
            prefixed: false,
            scope: Scope::All,
            clusters: Vec::new(),
        });
        for (line, expected) in [
            ("token delete ", Wanted::Some(Proposal::Tokens)),
            ("token delete abcdef ", Wanted::Some(Proposal::Tokens)),
            (
                "promote deployment -C m1 ",
                in_members("deployment", false, &["m1"]),
            ),
            (
                "logs -n shop -C m1 deployment/",
                in_members("deployment", true, &["m1"]),
            ),
            ("exec -C m1 deploy/w", in_members("deploy", true, &["m1"])),
            ("attach -C m1 deploy/", in_members("deploy", true, &["m1"])),
            (
                "get pods -s members -n shop ",
                in_members("pods", false, &[]),
            ),
            (
                "get pods -s members -C m1,m2 ",
                in_members("pods", false, &["m1", "m2"]),
            ),
            ("get pods -s all ", everywhere),
            ("get pods -s karmada -C m1 ", names_of("pods", false)),
            ("describe pods -C m1 ", in_members("pods", false, &["m1"])),
            ("explain deploy -C m1 ", names_of("deploy", false)),
            ("top pods ", in_members("pods", false, &[])),
            ("top pod -C m1 ", in_members("pods", false, &["m1"])),
            ("top nodes ", in_members("nodes", false, &[])),
            ("delete deploy ", names_of("deploy", false)),
        ] {
            let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let last = words.pop().unwrap_or_default();
            assert_eq!(wanted(&root, &words, &last), expected, "{line}");
        }
    }

    #[test]
    fn a_value_behind_an_equals_sign_is_proposed_along_with_its_flag() {
        let root = Program::Karavel.command();
        for (line, head, expected) in [
            (
                "get pods --namespace=sh",
                "--namespace=",
                names_of("namespaces", false),
            ),
            (
                "get pods --karmada-context=",
                "--karmada-context=",
                Wanted::Contexts,
            ),
            ("get a=b", "", Wanted::Some(Proposal::Kinds)),
            (
                "apply -f x --dry-run=",
                "--dry-run=",
                Wanted::Words(["none", "client", "server"].map(str::to_owned).to_vec()),
            ),
            (
                "delete pod x -o=na",
                "-o=",
                Wanted::Words(vec!["name".to_owned()]),
            ),
            (
                "create secret ",
                "",
                Wanted::Words(
                    ["docker-registry", "generic", "tls"]
                        .map(str::to_owned)
                        .to_vec(),
                ),
            ),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let (found, before, last) = split(&words);
            assert_eq!(found, head, "{line}");
            assert_eq!(wanted(&root, &before, &last), expected, "{line}");
        }
        assert_eq!(split(&[]), (String::new(), Vec::new(), String::new()));
    }

    #[test]
    fn what_stands_before_a_comma_is_kept() {
        let root = Program::Karavel.command();
        for (line, is_listed) in [
            ("get pods,dep", true),
            ("get pods,", true),
            ("get pods -s members -C member1,mem", true),
            ("simulate --lose a,b", true),
            ("get pods a,b", false),
            ("get deployment/a,b", false),
            ("get pods -n a,b", false),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let (_, before, last) = split(&words);
            let wanted = wanted(&root, &before, &last);
            let line_so_far = Line::read(&root, &before);
            assert_eq!(wanted.is_listed(&line_so_far), is_listed, "{line}");
        }
    }

    #[test]
    fn the_namespace_and_the_control_plane_of_the_line_count() {
        let root = Program::Karavel.command();
        let words: Vec<String> = "--kubeconfig k get -n shop deployment --karmada-context=c"
            .split(' ')
            .map(str::to_owned)
            .collect();
        let line = Line::read(&root, &words);
        assert_eq!(line.value("namespace"), Some("shop"));
        assert_eq!(line.plain, ["deployment"]);
        let reach = line.reach(&Reach::default());
        assert_eq!(reach.kubeconfig, Some("k".into()));
        assert_eq!(reach.context.as_deref(), Some("c"));
    }
}
