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
fn what_nobody_has_to_be_asked_about_needs_no_control_plane() {
    for (line, expected) in [
        (
            "create deployment x --image nginx --dry-run=client -o yaml",
            "image: nginx",
        ),
        (
            "create deployment x --image y --dry-run=client",
            "deployment.apps/x created (dry run)\n",
        ),
        (
            "create configmap x --from-literal a=b --dry-run=client -n shop -o name",
            "configmap/x\n",
        ),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let (code, said) = karavel(&words);
        assert_eq!(code, 0, "{line}\n{said}");
        assert!(said.contains(expected), "{line}\n{said}");
    }
    let words = [
        "create",
        "role",
        "r",
        "--verb=get",
        "--resource=pods",
        "--dry-run=client",
    ];
    let (code, said) = karavel(&words);
    assert_eq!(code, 1, "{said}");
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
        ("completion bash zsh", "Too many arguments."),
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
        (
            "taint cluser member1 gpu=yes:NoSchedule",
            "did you mean \"cluster\"?",
        ),
        (
            "taint clusters member1 gpu=yes:noschedule",
            "did you mean gpu=yes:NoSchedule?",
        ),
        ("apply", "must specify one of -f and -k"),
        ("create", "karavel create deployment web"),
        ("completion bsh", "did you mean \"bash\"?"),
        (
            "crds propagationpolices",
            "did you mean \"propagationpolicies\"?",
        ),
        ("get pods --invalidflag", "unknown flag: --invalidflag"),
        ("up --members 3x", "write a whole number"),
        (
            "create job j --image=x --replicas=3",
            "unknown flag: --replicas",
        ),
        (
            "create deployment web --image=x --rule=a",
            "it goes with ingress; `create deployment` takes --image, --replicas, --port, -- COMMAND",
        ),
        ("create token t --image=x", "unknown flag: --image"),
        ("create -f x --replicas=3", "with files, leave it out"),
        (
            "simulate -f x --dry-run-members false",
            "write --dry-run-members=false",
        ),
        (
            "apply -f /nowhere/a,/nowhere/b",
            "error: the path \"/nowhere/a\" does not exist",
        ),
        (
            "server --data-dir /nowhere/at/all --descheduling-interval x",
            "error: --descheduling-interval: \"x\" is not a time",
        ),
        (
            "server --data-dir /nowhere/at/all --unschedulable-threshold 5",
            "error: --unschedulable-threshold: \"5\" is not a time",
        ),
        (
            "create secret generic",
            "error: exactly one NAME is required, got 0",
        ),
        (
            "apply -f /tmp/no/such.yaml",
            "error: the path \"/tmp/no/such.yaml\" does not exist",
        ),
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
    for (line, words, expected) in [
        ("si", "si", "sim simulate"),
        (
            "get --operation-scope=mem",
            "get --operation-scope = mem",
            "members",
        ),
        ("get -s mem", "get -s mem", "members"),
        // A quote that is still open begins the word.
        ("get -s 'mem", "get -s \\'mem", "members"),
        // Neither a file nor anything else fits.
        ("nosuch", "nosuch", ""),
    ] {
        let pressed = format!(
            "{script}\nCOMP_LINE=\"{KARAVEL} {line}\" COMP_POINT=${{#COMP_LINE}} COMP_WORDS=({KARAVEL} {words})\nCOMP_CWORD=$((${{#COMP_WORDS[@]}}-1))\n_karavel_complete\necho \"${{COMPREPLY[*]}}\"",
        );
        assert_eq!(said_by("bash", &["-c", &pressed]), expected, "{line}");
    }
    let (code, script) = karavel(&["completion", "zsh"]);
    assert_eq!(code, 0);
    assert!(script.starts_with("#compdef karavel\n"), "{script}");
    if is_installed("zsh") {
        assert_eq!(said_by("zsh", &["-f", "-n", "-c", &script]), "");
    }
    let (code, script) = karavel(&["completion", "fish"]);
    assert_eq!(code, 0);
    assert!(script.contains("complete -c karavel "), "{script}");
    if is_installed("fish") {
        let script = script.replace("complete -c karavel ", &format!("complete -p {KARAVEL} "));
        for (line, expected) in [
            ("si", "sim\nsimulate"),
            ("get -s mem", "members"),
            ("get --operation-scope=mem", "--operation-scope=members"),
            ("nosuch", ""),
        ] {
            let pressed = format!("{script}\ncomplete -C '{KARAVEL} {line}'");
            assert_eq!(
                said_by("fish", &["--no-config", "-c", &pressed]),
                expected,
                "{line}"
            );
        }
    }
    let (code, proposed) = karavel(&["__complete", "--", "si"]);
    assert_eq!((code, proposed.as_str()), (0, "sim\nsimulate\n"));
    let (code, proposed) = karavel(&["__complete", "--", "nosuch"]);
    assert_eq!((code, proposed.as_str()), (0, ":\n"));
}

/// What a program says.
fn said_by(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    String::from_utf8(said).unwrap().trim().to_owned()
}

/// Whether a shell is on this machine; nobody needs it to build the program.
fn is_installed(shell: &str) -> bool {
    Command::new(shell).arg("--version").output().is_ok()
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
