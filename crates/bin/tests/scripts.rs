//! Scripts in the documents, which need something prepared or keep running, do what the text around them says.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod running;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use running::{KARAVEL, ROOT, Up, both};

/// The lines of all blocks marked as `sh` in a page, without remarks behind them.
fn lines_of(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = text.split("```sh\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap());
    let lines = blocks.flat_map(str::lines);
    let lines = lines.map(|line| line.split("  #").next().unwrap().trim());
    lines.map(str::to_owned).collect()
}

/// The same of all documents, by page.
fn scripts() -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in std::fs::read_dir(Path::new(ROOT).join("docs")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // The reference's are the examples of the help, which are run elsewhere.
        if !name.ends_with(".md") || name == "commands.md" {
            continue;
        }
        let lines = lines_of(&path);
        if !lines.is_empty() {
            all.insert(name, lines);
        }
    }
    all
}

#[track_caller]
fn run(up: &Up, line: &str) {
    let output = up.shell(line, "");
    assert!(output.status.success(), "{line}\n{}", both(&output));
}

/// What keeps running until it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs `karavel` with a line's words in a directory, until it has said all it has to say: everything is there by then.
fn start(line: &str, directory: &Path) -> Running {
    let words = line.split_whitespace().skip(1);
    let mut command = Command::new(KARAVEL);
    command
        .args(words)
        .current_dir(directory)
        .stdout(Stdio::piped());
    let mut running = Running(command.spawn().unwrap());
    let said = BufReader::new(running.0.stdout.take().unwrap()).lines();
    let mut said = said.map_while(Result::ok);
    assert!(said.any(|said| said.contains("Ctrl-C")), "{line}");
    running
}

/// Takes a member's kubeconfig and some manifests along, as somebody who moves over has them.
fn move_over(up: &Up, lines: &[String]) {
    run(up, "cp data/members/member1/kubeconfig member1.kubeconfig");
    run(
        up,
        "mkdir all-my-manifests && cp examples/first-steps/*.yaml all-my-manifests/",
    );
    run(up, "karavel unjoin member1");
    for line in lines {
        run(up, line);
    }
    run(up, "karavel clusters | grep member1");
}

/// Runs members of their own, and asks one of them.
fn simulate_members(up: &Up, lines: &[String]) {
    let directory = tempfile::tempdir().unwrap();
    let (roles, rest): (Vec<&String>, Vec<&String>) = lines
        .iter()
        .partition(|line| line.starts_with("karavel sim"));
    let running: Vec<Running> = roles
        .iter()
        .map(|line| start(line, directory.path()))
        .collect();
    assert_eq!(running.len(), 2);
    let rest: Vec<&str> = rest.iter().map(|line| line.as_str()).collect();
    let line = format!("cd {} && {}", directory.path().display(), rest.join(" && "));
    run(up, &line);
}

#[test]
fn scripts_in_the_documents_do_what_they_are_for() {
    let up = Up::start(1);
    let scripts = scripts();
    assert!(scripts.len() >= 5, "{scripts:?}");
    for (page, lines) in &scripts {
        match page.as_str() {
            "from-karmada.md" => move_over(&up, lines),
            "simulated-members.md" => simulate_members(&up, lines),
            "getting-started.md" => lines.iter().for_each(|line| run(&up, line)),
            // The key of a control plane that runs: it is read when it starts.
            "security.md" => {
                let lines = lines.join(" && ");
                run(
                    &up,
                    &format!("cd data && {lines} && test $(grep -c . pki/encryption.key) = 2"),
                );
            }
            // Measured by `karavel bench` itself, whose tests are elsewhere; the flags must be known.
            "performance.md" => {
                let own = lines.iter().filter(|line| line.starts_with("karavel "));
                own.for_each(|line| run(&up, &format!("{line} --help")));
            }
            other => panic!("nobody runs the scripts of {other}: {lines:?}"),
        }
    }
}

/// Examples in Rust are built and run with everything else; here, that they are called what the page calls them.
#[test]
fn examples_of_plugins_are_where_their_page_says() {
    let manifest = Path::new(ROOT).join("crates/parts/scheduler/Cargo.toml");
    let manifest = std::fs::read_to_string(manifest).unwrap();
    let lines = lines_of(&Path::new(ROOT).join("examples/scheduling/README.md"));
    assert_eq!(lines.len(), 3, "{lines:?}");
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [
                "cargo",
                "run",
                "-p",
                "karavel-scheduler",
                "--example",
                name,
                ..,
            ] => {
                let target = format!("[[example]]\nname = \"{name}\"\n");
                assert!(manifest.contains(&target), "{line}");
            }
            ["karavel", rest @ ..] => {
                let output = Command::new(KARAVEL).args(rest).arg("--help").output();
                let output = output.unwrap();
                assert!(output.status.success(), "{line}\n{}", both(&output));
                // Help is told whatever else is typed: the flags are looked for in it.
                let help = both(&output);
                let mut flags = rest.iter().filter(|word| word.starts_with("--"));
                assert!(flags.all(|flag| help.contains(*flag)), "{line}\n{help}");
            }
            _ => panic!("nobody knows what to do with {line:?}"),
        }
    }
}
