//! The documents tell the truth: their commands run, the reference is what the program says, and every example in the help
//! works.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod running;
mod waiting;

use std::path::Path;
use std::process::Command;

use running::{KARAVEL, ROOT, Up, both};
use waiting::wait_for;

/// In this order, each leaves the control plane as it found it.
const PAGES: [&str; 8] = [
    "docs/concepts.md",
    "docs/getting-started.md",
    "docs/policies.md",
    "docs/overrides.md",
    "docs/from-karmada.md",
    "docs/operating.md",
    "docs/troubleshooting.md",
    "README.md",
];

/// A command in a document.
struct Step {
    page: &'static str,
    line: String,
    code: i32,
}

/// The commands of a page: lines with a dollar sign in blocks marked as `console`. A comment before the block may say
/// which exit code is expected.
fn steps(page: &'static str) -> Vec<Step> {
    let text = std::fs::read_to_string(Path::new(ROOT).join(page)).unwrap();
    let (mut steps, mut is_inside, mut code) = (Vec::new(), false, 0);
    for line in text.lines() {
        if let Some(expected) = line.strip_prefix("<!-- exit: ") {
            code = expected.trim_end_matches(" -->").parse().unwrap();
        } else if line == "```console" {
            is_inside = true;
        } else if line == "```" && is_inside {
            (is_inside, code) = (false, 0);
        } else if is_inside && let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step {
                page,
                line: command.to_owned(),
                code,
            });
        }
    }
    steps
}

/// What keeps running, builds or measures is not run here; its flags must be known.
fn only_parsed(line: &str) -> bool {
    const ROLES: [&str; 12] = [
        "up",
        "server",
        "sim",
        "estimator",
        "agent",
        "bench",
        "restore",
        "backup",
        "join",
        "unjoin",
        "attach",
        "port-forward",
    ];
    let mut words = line.split_whitespace();
    words.next() == Some("karavel") && words.next().is_some_and(|word| ROLES.contains(&word))
}

fn run(up: &Up, step: &Step) {
    let Step { page, line, code } = step;
    if line.starts_with("cargo ") {
        return;
    }
    let (line, code) = match only_parsed(line) {
        true => (format!("{line} --help"), &0),
        false => (line.clone(), code),
    };
    // A reader is slower than a script: what is still starting gets the time that reading takes.
    wait_for(|| {
        let output = up.shell(&line, "");
        match output.status.code() {
            ended if ended == Some(*code) => Ok(()),
            ended => Err(format!(
                "{page}: {line}\nended with {ended:?}, not {code}\n{}",
                both(&output)
            )),
        }
    });
}

#[test]
fn every_command_in_the_documents_runs() {
    let up = Up::start(3);
    let steps: Vec<Step> = PAGES.into_iter().flat_map(steps).collect();
    assert!(steps.len() > 40, "only {} commands were found", steps.len());
    for step in &steps {
        run(&up, step);
    }
}

#[test]
fn the_reference_is_what_the_program_says() {
    let said = Command::new(KARAVEL).arg("__reference").output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let path = Path::new(ROOT).join("docs/commands.md");
    if std::env::var_os("KARAVEL_WRITE").is_some() {
        std::fs::write(&path, &said).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap();
    assert!(
        written == said,
        "docs/commands.md is out of date: write it with KARAVEL_WRITE=1 cargo nextest run -p karavel reference"
    );
}

#[test]
fn every_command_has_an_example_that_works() {
    let said = Command::new(KARAVEL).arg("__reference").output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let up = Up::start(3);
    for line in [
        "karavel apply -f examples/first-steps",
        "karavel logs deployment/web -C member1",
        "karavel logs deployment/web -C member2",
    ] {
        let step = Step {
            page: "before the help",
            line: line.to_owned(),
            code: 0,
        };
        run(&up, &step);
    }
    let mut title = "";
    let mut has_example = true;
    for line in said.lines() {
        if let Some(command) = line.strip_prefix("## karavel ") {
            assert!(has_example, "karavel {title} has no example");
            (title, has_example) = (command, false);
        }
        if line.starts_with("karavel ") || line.starts_with("EDITOR=") {
            has_example = true;
            let step = Step {
                page: "the help",
                line: line.to_owned(),
                code: 0,
            };
            run(&up, &step);
        }
    }
    assert!(has_example, "karavel {title} has no example");
}
