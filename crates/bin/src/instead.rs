//! What to do instead: verbs of other tools for what is done otherwise here, and words that nobody knows.

use cli::Failure;

use crate::program::Program;

/// Verbs of Karmada's tool that are known and do nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Otherwise {
    Init,
    Deinit,
    Addons,
    Register,
    Unregister,
}

/// Says what to do instead.
pub(crate) fn refuse(verb: Otherwise) -> Failure {
    let (what, hint) = match verb {
        Otherwise::Init => (
            "there is nothing to install: the control plane is this program, and needs no host cluster",
            "start it with `karavel server --data-dir DIR`, or `karavel up` to try it out",
        ),
        Otherwise::Deinit => (
            "nothing was installed into a host cluster",
            "stop the server and remove its data directory; `karavel backup FILE` saves it first",
        ),
        Otherwise::Addons => (
            "there are no addons: the descheduler and the estimators are in the server; search and the metrics adapter are not built yet",
            "start it with `karavel server --enable-descheduler --enable-scheduler-estimator`",
        ),
        Otherwise::Register => (
            "pull mode is not built yet: there is no agent that a cluster could register with",
            "join a cluster that can be reached with `karavel join NAME --cluster-kubeconfig FILE`",
        ),
        Otherwise::Unregister => (
            "pull mode is not built yet: no cluster has registered",
            "let a cluster that has joined go with `karavel unjoin NAME`",
        ),
    };
    Failure::refused(what, hint)
}

/// Verbs of kubectl that are left to it, and roles that do not exist yet.
const ELSEWHERE: [(&str, &str); 16] = [
    (
        "agent",
        "pull mode is not built yet; clusters that can be reached join with `karavel join`",
    ),
    ("config", "`kubectl config` changes kubeconfigs"),
    ("cp", "`kubectl cp --context MEMBER` copies files"),
    ("cluster-info", "`karavel clusters` shows the clusters"),
    (
        "diff",
        "`karavel simulate -f FILE` shows what a change would do, in members too",
    ),
    (
        "drain",
        "`karavel taint clusters NAME KEY:NoExecute` lets work leave a cluster",
    ),
    ("expose", "`kubectl expose` works against the control plane"),
    (
        "kustomize",
        "`karavel apply -k DIR`, or `kubectl kustomize DIR`",
    ),
    (
        "replace",
        "`karavel apply -f FILE` changes objects; `kubectl replace` works too",
    ),
    (
        "restart",
        "`kubectl rollout restart` works against the control plane",
    ),
    (
        "rollout",
        "`kubectl rollout` works against the control plane",
    ),
    (
        "run",
        "`karavel create deployment NAME --image=IMAGE` makes something that runs in members",
    ),
    (
        "scale",
        "`karavel patch TYPE/NAME -p '{\"spec\":{\"replicas\":3}}'`; `kubectl scale` works too",
    ),
    ("set", "`karavel patch` and `karavel edit` change objects"),
    ("wait", "`kubectl wait` works against the control plane"),
    ("auth", "`kubectl auth` works against the control plane"),
];

/// A word that is no command, along with the one that was probably meant. `before` are the words it follows.
pub(crate) fn unknown(program: Program, word: &str, before: &[String]) -> Failure {
    let root = program.command();
    let mut command = &root;
    let mut called = program.name().to_owned();
    for word in before {
        if let Some(below) = command.find_subcommand(word) {
            command = below;
            called = format!("{called} {}", below.get_name());
        }
    }
    let names: Vec<&str> = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .flat_map(|command| {
            std::iter::once(command.get_name()).chain(command.get_visible_aliases())
        })
        .collect();
    let elsewhere = ELSEWHERE.iter().find(|(verb, _)| *verb == word);
    let hint = match (elsewhere, cli::nearest(word, names)) {
        (Some((_, hint)), _) => (*hint).to_owned(),
        (None, Some(name)) => {
            format!("did you mean {name:?}? `{called} --help` lists the commands")
        }
        (None, None) => format!("`{called} --help` lists the commands"),
    };
    Failure::refused(format!("unknown command {word:?} for {called:?}"), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_words_are_answered_with_near_ones_only() {
        let words = |text: &str| -> Vec<String> {
            text.split(' ')
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect()
        };
        for (before, word, expected) in [
            ("", "gt", "did you mean \"get\"?"),
            ("", "simulat", "did you mean \"simulate\"?"),
            ("", "cluster", "did you mean \"clusters\"?"),
            ("", "nosuch", "`karavel --help` lists the commands"),
            ("", "agent", "pull mode is not built yet"),
            ("", "replace", "karavel apply"),
            ("top", "nods", "did you mean \"node\"?"),
            ("token", "lst", "did you mean \"list\"?"),
            (
                "sim fault",
                "bogus",
                "`karavel sim fault --help` lists the commands",
            ),
        ] {
            let failure = unknown(Program::Karavel, word, &words(before));
            assert_eq!(failure.exit_code(), 1);
            assert!(
                failure.hint().contains(expected),
                "{word}: {}",
                failure.hint()
            );
        }
    }
}
