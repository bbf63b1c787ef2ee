//! Which flags say something of which kind. A flag of another kind is refused: it would be dropped in silence.

use crate::failure::Failure;
use crate::nearest::nearest;

/// What runs, under the name that commands have among pairs.
const COMMAND: &str = "";

/// The words that may come next of what is made of words: the type, and behind some types which sort of it.
#[must_use]
pub fn words_to_create(before: &[&str]) -> Vec<String> {
    let mut next: Vec<String> = KINDS
        .iter()
        .map(|(kind, _)| kind.split(' ').collect::<Vec<&str>>())
        .filter(|kind| kind.starts_with(before))
        .filter_map(|kind| kind.get(before.len()).map(|word| (*word).to_owned()))
        .collect();
    next.sort();
    next.dedup();
    next
}

/// The type, with its sort if it has some, and the name, of what is to be made of words. A sort without a name behind it is
/// a name that was forgotten, and not the name of something. Upstream: the words of kubectl.
pub fn read_words_to_create(words: &[String]) -> Result<(String, String), Failure> {
    let (kind, names) = match words {
        [kind, sort, names @ ..] if is_known(&format!("{kind} {sort}")) => {
            (format!("{kind} {sort}"), names)
        }
        // Which sorts there are is told by whoever makes the object.
        [kind, sort, name] if !is_known(kind) || has_sorts(kind) => {
            return Ok((format!("{kind} {sort}"), name.clone()));
        }
        [kind, names @ ..] => (kind.clone(), names),
        [] => (String::new(), words),
    };
    let example = match is_known(&kind) {
        true => format!("write it behind the type: karavel create {kind} NAME"),
        false => "for example: karavel create deployment web --image=nginx".to_owned(),
    };
    match names {
        [name] if name.is_empty() => Err(Failure::refused("name must be specified", example)),
        [name] => Ok((kind, name.clone())),
        names if is_known(&kind) => Err(Failure::refused(
            format!("exactly one NAME is required, got {}", names.len()),
            example,
        )),
        _ => Err(Failure::refused("a type and a name are needed", example)),
    }
}

fn is_known(kind: &str) -> bool {
    KINDS.iter().any(|(known, _)| *known == full_name(kind))
}

fn has_sorts(kind: &str) -> bool {
    let below = |(known, _): &(&str, _)| {
        known
            .strip_prefix(kind)
            .is_some_and(|rest| rest.starts_with(' '))
    };
    KINDS.iter().any(below)
}

/// What can be made of words, and the flags that say how, without their dashes.
pub(super) const KINDS: [(&str, &[&str]); 23] = [
    ("namespace", &[]),
    ("deployment", &["image", "replicas", "port", COMMAND]),
    ("job", &["image", "from", COMMAND]),
    ("cronjob", &["image", "schedule", "restart", COMMAND]),
    (
        "configmap",
        &["from-literal", "from-file", "from-env-file", "append-hash"],
    ),
    ("secret", GENERIC),
    ("secret generic", GENERIC),
    ("secret tls", &["cert", "key", "append-hash"]),
    (
        "secret docker-registry",
        &[
            "docker-server",
            "docker-username",
            "docker-password",
            "docker-email",
            "from-file",
            "append-hash",
        ],
    ),
    ("serviceaccount", &[]),
    ("service clusterip", &["tcp", "clusterip"]),
    ("service nodeport", &["tcp", "node-port"]),
    ("service loadbalancer", &["tcp"]),
    ("service externalname", &["external-name", "tcp"]),
    (
        "ingress",
        &["rule", "default-backend", "class", "annotation"],
    ),
    (
        "poddisruptionbudget",
        &["selector", "min-available", "max-unavailable"],
    ),
    ("role", &["verb", "resource", "resource-name"]),
    (
        "clusterrole",
        &[
            "verb",
            "resource",
            "resource-name",
            "non-resource-url",
            "aggregation-rule",
        ],
    ),
    (
        "rolebinding",
        &["role", "clusterrole", "user", "group", "serviceaccount"],
    ),
    (
        "clusterrolebinding",
        &["clusterrole", "user", "group", "serviceaccount"],
    ),
    ("quota", &["hard", "scopes"]),
    (
        "priorityclass",
        &[
            "value",
            "description",
            "global-default",
            "preemption-policy",
        ],
    ),
    (
        TOKEN,
        &[
            "audience",
            "duration",
            "bound-object-kind",
            "bound-object-name",
            "bound-object-uid",
        ],
    ),
];

/// What is no object, but made by the same word: a token of a service account.
pub(super) const TOKEN: &str = "token";

const GENERIC: &[&str] = &[
    "from-literal",
    "from-file",
    "from-env-file",
    "append-hash",
    "type",
];

/// A kind by its full name, as far as it has one.
pub(super) fn full_name(kind: &str) -> &str {
    match kind {
        "ns" => "namespace",
        "deploy" => "deployment",
        "cj" => "cronjob",
        "cm" => "configmap",
        "sa" => "serviceaccount",
        "svc clusterip" => "service clusterip",
        "svc nodeport" => "service nodeport",
        "svc loadbalancer" => "service loadbalancer",
        "svc externalname" => "service externalname",
        "ing" => "ingress",
        "pdb" => "poddisruptionbudget",
        "resourcequota" => "quota",
        "pc" => "priorityclass",
        other => other,
    }
}

/// Refuses flags that say nothing of a kind; all of them if objects come from files.
pub fn check_flags(kind: Option<&str>, pairs: &[(String, String)]) -> Result<(), Failure> {
    let known = match kind.map(full_name) {
        None => &[],
        Some(kind) => match KINDS.iter().find(|(known, _)| *known == kind) {
            Some((_, flags)) => *flags,
            // What cannot be made of words is told so, and its flags do not matter.
            None => return Ok(()),
        },
    };
    let foreign = pairs
        .iter()
        .find(|(flag, _)| !known.contains(&flag.as_str()));
    let Some((flag, _)) = foreign else {
        return Ok(());
    };
    let what = match flag.as_str() {
        COMMAND => "a command behind two dashes is not known here".to_owned(),
        flag => format!("unknown flag: --{flag}"),
    };
    Err(Failure::refused(what, hint(kind, flag, known)))
}

/// Whose flag it is, and which ones may have been meant.
fn hint(kind: Option<&str>, flag: &str, known: &[&str]) -> String {
    let owners = KINDS
        .iter()
        .filter(|(_, flags)| flags.contains(&flag))
        .map(|(kind, _)| *kind);
    let owners: Vec<&str> = owners.collect();
    let owners = format!("it goes with {}", owners.join(", "));
    let Some(kind) = kind else {
        return format!("{owners}; with files, leave it out");
    };
    if let Some(near) = nearest(flag, known.iter().copied().filter(|flag| *flag != COMMAND)) {
        return format!("did you mean --{near}? {owners}");
    }
    let mut takes: Vec<String> = known
        .iter()
        .filter(|flag| **flag != COMMAND)
        .map(|flag| format!("--{flag}"))
        .collect();
    if known.contains(&COMMAND) {
        takes.push("-- COMMAND".to_owned());
    }
    match takes.is_empty() {
        true => format!("{owners}; `create {kind}` takes no flags of its own"),
        false => format!("{owners}; `create {kind}` takes {}", takes.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_neither_forgotten_nor_one_of_many() {
        for (line, expected) in [
            ("deployment web", Ok("deployment: web")),
            ("secret keys", Ok("secret: keys")),
            ("secret generic keys", Ok("secret generic: keys")),
            ("secret generic generic", Ok("secret generic: generic")),
            ("svc nodeport web", Ok("svc nodeport: web")),
            ("secret nosuch x", Ok("secret nosuch: x")),
            ("nosuch x", Ok("nosuch: x")),
            ("token default", Ok("token: default")),
            ("secret generic", Err("exactly one NAME is required, got 0")),
            ("secret tls", Err("exactly one NAME is required, got 0")),
            (
                "secret docker-registry",
                Err("exactly one NAME is required, got 0"),
            ),
            ("svc nodeport", Err("exactly one NAME is required, got 0")),
            (
                "service clusterip",
                Err("exactly one NAME is required, got 0"),
            ),
            ("cm", Err("exactly one NAME is required, got 0")),
            ("cm a b", Err("exactly one NAME is required, got 2")),
            (
                "secret generic a b",
                Err("exactly one NAME is required, got 2"),
            ),
            ("secret generic ", Err("name must be specified")),
            ("ns ", Err("name must be specified")),
            ("nosuch", Err("a type and a name are needed")),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let found = read_words_to_create(&words);
            let found = found.map(|(kind, name)| format!("{kind}: {name}"));
            let found = found.map_err(|failure| failure.to_string());
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn types_come_first_and_their_sorts_after() {
        let types = words_to_create(&[]);
        assert!(types.contains(&"deployment".to_owned()), "{types:?}");
        assert_eq!(types.iter().filter(|word| *word == "secret").count(), 1);
        assert_eq!(
            words_to_create(&["secret"]),
            ["docker-registry", "generic", "tls"]
        );
        assert!(words_to_create(&["deployment"]).is_empty());
        assert!(words_to_create(&["deployment", "web"]).is_empty());
    }

    #[test]
    fn flags_of_other_kinds_are_refused_with_those_that_were_meant() {
        for (kind, flag, expected) in [
            (Some("deployment"), "replicas", None),
            (Some("deploy"), "", None),
            (Some("svc nodeport"), "node-port", None),
            (Some("nonsense"), "replicas", None),
            (
                Some("job"),
                "replicas",
                Some((
                    "unknown flag: --replicas",
                    "it goes with deployment; `create job` takes --image, --from, -- COMMAND",
                )),
            ),
            (
                Some("clusterrolebinding"),
                "role",
                Some((
                    "unknown flag: --role",
                    "it goes with rolebinding; `create clusterrolebinding` takes --clusterrole, --user, --group, --serviceaccount",
                )),
            ),
            (
                Some("service clusterip"),
                "node-port",
                Some((
                    "unknown flag: --node-port",
                    "it goes with service nodeport; `create service clusterip` takes --tcp, --clusterip",
                )),
            ),
            (
                Some("ns"),
                "",
                Some((
                    "a command behind two dashes is not known here",
                    "it goes with deployment, job, cronjob; `create ns` takes no flags of its own",
                )),
            ),
            (
                Some("deployment"),
                "audience",
                Some((
                    "unknown flag: --audience",
                    "it goes with token; `create deployment` takes --image, --replicas, --port, -- COMMAND",
                )),
            ),
            (
                None,
                "replicas",
                Some((
                    "unknown flag: --replicas",
                    "it goes with deployment; with files, leave it out",
                )),
            ),
        ] {
            let pairs = [(flag.to_owned(), "1".to_owned())];
            let told = check_flags(kind, &pairs).err();
            let told = told.map(|failure| (failure.to_string(), failure.hint().to_owned()));
            let expected = expected.map(|(what, hint)| (what.to_owned(), hint.to_owned()));
            assert_eq!(told, expected, "{kind:?} --{flag}");
        }
        assert!(check_flags(None, &[]).is_ok());
    }
}
