//! Small controllers in other people's libraries, kept running while the server is killed and started again.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::cache::run as run_command;
use crate::process::{Karavel, Running, pause, wait_until};

const COPIER_PYTHON: &str = include_str!("../../controllers/copier.py");
const COPIER_NODE: &str = include_str!("../../controllers/copier.mjs");
const OPERATOR: &str = include_str!("../../controllers/doubler.py");

const WIDGETS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.test.io}
spec:
  group: test.io
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
";

/// How many inputs of each sort there are.
const INPUTS: usize = 8;

/// How long everything may take to settle after the last change.
const SETTLE: Duration = Duration::from_secs(60);

/// Runs all controllers for some minutes with restarts in between; the number of checks and what went wrong.
pub(crate) fn run(
    karavel: &Path,
    folder: &Path,
    python: &Path,
    node: &Path,
    minutes: u64,
) -> Result<(usize, Vec<String>)> {
    let mut server = Karavel::start(karavel, &folder.join("server"), &[])?;
    let kubectl = Kubectl {
        kubeconfig: server.kubeconfig().display().to_string(),
    };
    kubectl.input("create -f -", WIDGETS)?;
    kubectl.run("create namespace work")?;
    kubectl.run("wait --for=condition=Established crd/widgets.test.io --timeout=20s")?;
    fs::write(folder.join("copier.py"), COPIER_PYTHON)?;
    fs::write(folder.join("doubler.py"), OPERATOR)?;
    // Node looks for packages beside the program.
    let program = node.join("copier.mjs");
    fs::write(&program, COPIER_NODE)?;

    let start = |name: &str, command: &mut Command| {
        Running::start(
            command
                .env("KUBECONFIG", server.kubeconfig())
                .current_dir(folder),
            &folder.join(format!("{name}.log")),
        )
    };
    let mut running = vec![
        (
            "python",
            start("python", Command::new(python).arg("copier.py"))?,
        ),
        ("node", start("node", Command::new("node").arg(&program))?),
        (
            "kopf",
            start(
                "kopf",
                Command::new(python).args(["-m", "kopf", "run", "--all-namespaces", "doubler.py"]),
            )?,
        ),
    ];

    let started = Instant::now();
    let (mut round, mut restarts, mut checks) = (0, 0, 0);
    let mut problems = Vec::new();
    while started.elapsed() < Duration::from_secs(60 * minutes) {
        round += 1;
        for input in 0..INPUTS {
            kubectl.input("apply -f -", &input_objects(input, round))?;
        }
        if round % 3 == 0 {
            server.kill();
            // Changes must not be missed by whoever reconnects late.
            server
                .start_again()
                .context("the server did not come back")?;
            restarts += 1;
            kubectl.input("apply -f -", &input_objects(0, round + 1000))?;
            kubectl.input("apply -f -", &input_objects(0, round))?;
        }
        for (name, expected) in expectations(round) {
            checks += 1;
            let seen = wait_until(&name, SETTLE, || {
                kubectl.run(&name).is_ok_and(|text| text == expected)
            });
            if let Err(problem) = seen {
                let found = kubectl
                    .run(&name)
                    .unwrap_or_else(|problem| format!("{problem:#}"));
                problems.push(format!(
                    "round {round}: {problem:#}: {found} instead of {expected}"
                ));
            }
        }
        if problems.len() > 5 {
            break;
        }
        pause(Duration::from_secs(1));
    }
    for (name, process) in &mut running {
        checks += 1;
        if process.has_ended() {
            problems.push(format!("{name} ended by itself"));
        }
    }
    kubectl
        .run("-n work delete widgets --all --timeout=60s")
        .map_or_else(
            |problem| problems.push(format!("widgets are not let go: {problem:#}")),
            drop,
        );
    checks += 2;
    let python_log = fs::read_to_string(folder.join("python.log"))?;
    // Its history is kept, so a restarted server has no reason to say that a revision is gone.
    if python_log.contains("gone") {
        problems.push(format!("a watch was not resumed\n{python_log}"));
    }
    println!(
        "controllers: {round} rounds, {restarts} restarts by kill, {} minutes; python listed {} times, watched {} times",
        started.elapsed().as_secs() / 60,
        python_log.matches("listed").count(),
        python_log.matches("watching").count(),
    );
    if !problems.is_empty() {
        for (name, _) in &running {
            let log = fs::read_to_string(folder.join(format!("{name}.log"))).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            let last = lines
                .get(lines.len().saturating_sub(15)..)
                .unwrap_or_default();
            println!("last of {name}:\n{}", last.join("\n"));
        }
    }
    Ok((checks, problems))
}

fn input_objects(input: usize, round: usize) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: in{input}, namespace: work, labels: {{role: input}}}}\n\
         data: {{round: \"{round}\"}}\n---\n\
         apiVersion: test.io/v1\nkind: Widget\nmetadata: {{name: w{input}, namespace: work}}\nspec: {{size: {round}}}\n"
    )
}

/// What must be found once everything has settled: a command of kubectl and what it prints.
fn expectations(round: usize) -> Vec<(String, String)> {
    let copies = vec![round.to_string(); INPUTS].join(" ");
    let doubled = vec![(round * 2).to_string(); INPUTS].join(" ");
    let copied = |by: &str| {
        format!("-n work get configmaps -l role={by} -o jsonpath={{.items[*].data.round}}")
    };
    vec![
        (copied("python"), copies.clone()),
        (copied("node"), copies),
        (
            String::from("-n work get widgets -o jsonpath={.items[*].status.double.size}"),
            doubled,
        ),
    ]
}

/// The kubectl at hand, for driving and looking.
struct Kubectl {
    kubeconfig: String,
}

impl Kubectl {
    fn run(&self, arguments: &str) -> Result<String> {
        run_command(
            Command::new("kubectl")
                .args(arguments.split_whitespace())
                .env("KUBECONFIG", &self.kubeconfig),
        )
    }

    fn input(&self, arguments: &str, input: &str) -> Result<String> {
        let file = tempfile::NamedTempFile::new().context("cannot write what kubectl reads")?;
        fs::write(file.path(), input)?;
        self.run(&arguments.replace("-f -", &format!("-f {}", file.path().display())))
    }
}
