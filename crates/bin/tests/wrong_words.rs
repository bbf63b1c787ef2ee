//! Nothing that can be typed makes the program panic; a wrong word is answered with the right one.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::process::{Command, Stdio};

const KARAVEL: &str = env!("CARGO_BIN_EXE_karavel");

fn karavel(words: &[&str]) -> (i32, String) {
    let output = Command::new(KARAVEL)
        .args(words)
        .env("KUBECONFIG", "/nowhere/at/all")
        .env_remove("KARAVEL_CONFIG")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

/// Odd values for whatever takes one.
const ODD: [&str; 18] = [
    "",
    " ",
    "-",
    "--",
    "\u{0}x",
    "a/b/c",
    "/",
    "..",
    "=",
    ":",
    ",",
    "\u{1b}[2J",
    "💥",
    "{",
    "[",
    "-1",
    "99999999999999999999",
    "a=b=c",
];

#[test]
fn no_input_makes_it_panic() {
    let commands: [&[&str]; 58] = [
        &["get"],
        &["get", "-o"],
        &["get", "pods", "-o"],
        &["get", "pods", "--template"],
        &["get", "pods", "-l"],
        &["get", "pods", "-s"],
        &["get", "pods", "--sort-by"],
        &["describe"],
        &["logs"],
        &["logs", "x", "--since"],
        &["logs", "x", "--tail"],
        &["exec"],
        &["attach"],
        &["port-forward", "x"],
        &["top"],
        &["top", "pod"],
        &["events", "--for"],
        &["explain"],
        &["simulate", "-f"],
        &["simulate", "--lose"],
        &["apply", "-f"],
        &["create"],
        &["create", "deployment"],
        &["delete"],
        &["patch", "x", "-p"],
        &["label", "x"],
        &["annotate"],
        &["promote", "x", "-C"],
        &["interpret", "--operation"],
        &["interpret", "-f"],
        &["completion"],
        &["__complete", "--"],
        &["taint"],
        &["--config"],
        &["clusters", "-o"],
        &["api-resources", "--api-group"],
        &["api-resources", "--cluster"],
        &["api-versions", "-s"],
        &["token", "create", "--ttl"],
        &["token", "create", "--usages"],
        &["token", "delete"],
        &["create", "configmap", "x", "--from-file"],
        &["create", "service", "clusterip", "x", "--tcp"],
        &["create", "rolebinding", "x", "--role=r", "--serviceaccount"],
        &["create", "role", "x", "--verb=get", "--resource"],
        &["create", "ingress", "x", "--rule"],
        &["create", "pdb", "x", "--selector"],
        &["create", "configmap", "x", "--from-env-file"],
        &["create", "token", "x", "--duration"],
        &["create", "job", "x", "--from"],
        &["apply", "view-last-applied"],
        &["events", "--types"],
        &["up", "--listen"],
        &["simulate", "--lose", "x", "--feature-gates"],
        &["init"],
        &["register"],
        &["join", "x", "--karmada-as"],
        &[],
    ];
    for command in commands {
        for odd in ODD {
            // A word with a zero byte cannot be given to any program.
            let odd = odd.replace('\u{0}', "");
            let words: Vec<&str> = command.iter().copied().chain([odd.as_str()]).collect();
            let (code, said) = karavel(&words);
            assert!((0..=2).contains(&code), "{words:?}: {code}\n{said}");
            assert!(
                !said.contains("panicked") && !said.contains("RUST_BACKTRACE"),
                "{words:?}\n{said}"
            );
        }
    }
}

#[test]
fn wrong_words_are_answered_with_the_right_ones() {
    for (line, expected) in [
        ("gett pods", "get"),
        ("simulat", "simulate"),
        ("get pods --namspace x", "--namespace"),
        ("get pods -s member", "members"),
        ("up --member 3", "--members"),
        ("completion pwsh", "bash, zsh, fish"),
        ("completion", "Shell not specified."),
        ("get pods -o jsno", "json"),
        ("interpret --operation health", "InterpretHealth"),
        ("apply -f /nowhere", "check the path"),
        ("exec x -C m", "--kubeconfig"),
        ("create deployment web", "--image"),
        ("create configmp x", "configmap"),
        ("gt pods", "did you mean \"get\"?"),
        ("agent", "pull mode"),
        ("top nods", "did you mean \"node\"?"),
        ("token crate", "create"),
        ("apply -k dir", "kubectl kustomize dir"),
        ("patch deployment web", "--patch"),
        ("delete", "for example"),
        ("logs", "for example"),
        ("get pods --output-watch-events", "--watch"),
        ("apply -f x --all-clusters -C a", "cannot be used together"),
        ("get pods -o jsn", "did you mean \"json\"?"),
        ("events --types Bogus", "Normal, Warning"),
        ("events --types Waring", "Warning"),
        ("up --listen foo", "such as 127.0.0.1:5443"),
        ("sim --data-dir d --listen :80", "such as 127.0.0.1:80"),
        ("sim fault bogus", "`karavel sim fault --help`"),
        (
            "interpret --operation health",
            "did you mean \"InterpretHealth\"?",
        ),
        (
            "taint member1 gpu=yes:NoSchedule",
            "karavel taint clusters member1 gpu=yes:NoSchedule",
        ),
        ("exec web -C m date", "behind two dashes"),
        ("get -f /nowhere", "check the path"),
        ("create service web", "clusterip|nodeport"),
        ("create ingress web", "--rule="),
        ("create role r --verb=get", "--resource=pods"),
        ("create secret tls t", "--cert=tls.crt"),
        ("create pdb p --selector=app=web", "--min-available=1"),
        ("create job j --from=deployment/x", "--from=cronjob/"),
        ("simulate -f x --feature-gates Nonsense=1", "check the path"),
        ("bench foo", "there are footprint"),
        ("bench propagte", "did you mean \"propagate\"?"),
        ("clusters", "no kubeconfig can be used"),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let (code, said) = karavel(&words);
        assert_eq!(code, 1, "{line}\n{said}");
        assert!(
            said.contains(expected),
            "{line}: no {expected:?} in\n{said}"
        );
    }
}

#[test]
fn scripts_for_shells_can_be_read_by_them() {
    let (code, script) = karavel(&["completion", "bash"]);
    assert_eq!(code, 0, "{script}");
    let checked = Command::new("bash")
        .args(["-n", "-c", &script])
        .status()
        .unwrap();
    assert!(checked.success());
    // Sourced and asked as bash asks it when somebody presses the key.
    let pressed = format!(
        "{script}\nCOMP_WORDS=({} si) COMP_CWORD=1\n_karavel_complete\necho \"${{COMPREPLY[*]}}\"",
        env!("CARGO_BIN_EXE_karavel")
    );
    let proposed = Command::new("bash")
        .args(["-c", &pressed])
        .output()
        .unwrap();
    let proposed = String::from_utf8(proposed.stdout).unwrap();
    assert_eq!(proposed.trim(), "sim simulate");
    for shell in ["zsh", "fish"] {
        let (code, script) = karavel(&["completion", shell]);
        assert_eq!(code, 0);
        assert!(script.contains("__complete"), "{script}");
    }
    let (code, proposed) = karavel(&["__complete", "--", "si"]);
    assert_eq!((code, proposed.as_str()), (0, "sim\nsimulate\n"));
}

#[test]
fn it_answers_as_the_tools_whose_names_it_has() {
    let directory = tempfile::tempdir().unwrap();
    for (name, expected) in [
        (
            "karmadactl",
            "karmadactl version: version.Info{GitVersion:\"v",
        ),
        (
            "kubectl-karmada",
            "kubectl karmada version: version.Info{GitVersion:\"v",
        ),
        ("karavel", "karavel "),
    ] {
        let path = directory.path().join(name);
        std::os::unix::fs::symlink(KARAVEL, &path).unwrap();
        let said = Command::new(&path).arg("version").output().unwrap();
        let said = String::from_utf8(said.stdout).unwrap();
        assert!(said.starts_with(expected), "{name}: {said}");
    }
}
