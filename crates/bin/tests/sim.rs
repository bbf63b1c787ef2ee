//! Trouble in a simulated member, staged with `karavel sim fault` and seen with kubectl.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod waiting;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use waiting::wait_for;

const KARAVEL: &str = env!("CARGO_BIN_EXE_karavel");

/// `karavel sim`, ended when it is dropped.
struct Sim {
    process: Child,
    kubeconfig: PathBuf,
}

impl Sim {
    fn start(data_dir: &Path) -> Self {
        let mut process = Command::new(KARAVEL)
            .args([
                "sim",
                "--name",
                "m1",
                "--nodes",
                "2",
                "--listen",
                "127.0.0.1:0",
            ])
            .arg("--data-dir")
            .arg(data_dir)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let first = lines.next().expect("it says that it is ready").unwrap();
        assert!(
            first.starts_with("m1 is ready on https://127.0.0.1:"),
            "{first}"
        );
        // The kubeconfig is there when everything was said.
        let last = lines
            .map_while(Result::ok)
            .find(|line| line.contains("Ctrl-C"));
        assert!(last.is_some());
        Self {
            process,
            kubeconfig: data_dir.join("kubeconfig"),
        }
    }

    /// Runs a program; what it prints on either stream, and its exit code.
    fn run(&self, program: &str, arguments: &str) -> (String, i32) {
        let output = Command::new(program)
            .args(arguments.split_whitespace())
            .env("KUBECONFIG", &self.kubeconfig)
            .output()
            .unwrap();
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8_lossy(&printed).into_owned();
        (printed, output.status.code().unwrap_or(-1))
    }

    /// Runs commands, `kubectl` or `fault`, and looks for a text in what they print and for their exit code. What
    /// `kubectl` reads is read until it is so: a member comes to it in its own time.
    fn goes(&self, steps: &[(&str, &str, i32)]) {
        for (line, expected, code) in steps {
            let is_reading = ["get ", "wait "].iter().any(|verb| line.starts_with(verb));
            wait_for(|| {
                let (printed, found) = match line.strip_prefix("fault ") {
                    Some(arguments) => self.run(KARAVEL, &format!("sim fault {arguments}")),
                    None => self.run("kubectl", line),
                };
                if printed.contains(expected) && found == *code {
                    return Ok(());
                }
                let instead =
                    format!("{line}\nexpected: {expected} ({code})\nprinted: {printed} ({found})");
                assert!(is_reading, "{instead}");
                Err(instead)
            });
        }
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

#[test]
fn trouble_is_staged_and_healed_by_command() {
    let directory = tempfile::tempdir().unwrap();
    let sim = Sim::start(directory.path());
    sim.goes(&[
        ("fault show", "the member: nothing is wrong", 0),
        ("fault show -m m1", "m1: nothing is wrong", 0),
        (
            "create deployment web --image=nginx --replicas=2",
            "created",
            0,
        ),
        (
            "rollout status deployment/web --timeout=60s",
            "successfully rolled out",
            0,
        ),
        // Calls.
        ("fault cut-off", "the member: cut off", 0),
        ("get nodes --request-timeout=2s", "", 1),
        ("fault heal cut-off", "nothing is wrong", 0),
        ("get nodes", "m1-node-2", 0),
        ("fault fail 100%", "100 of 100 calls fail", 0),
        ("get --raw /readyz", "this call was chosen to fail", 1),
        (
            "fault slow 200ms",
            "every call takes 200 ms longer; 100 of 100 calls fail",
            0,
        ),
        ("fault heal", "nothing is wrong", 0),
        // Nodes and pods.
        (
            "fault fill-node m1-node-1 m1-node-2",
            "full nodes: m1-node-1, m1-node-2",
            0,
        ),
        (
            "wait --for=jsonpath={.status.allocatable.pods}=0 node/m1-node-1 --timeout=60s",
            "condition met",
            0,
        ),
        ("fault add-nodes 1", "1 nodes were added", 0),
        (
            "wait --for=condition=Ready node/m1-node-3 --timeout=60s",
            "condition met",
            0,
        ),
        ("fault heal fill-node m1-node-1", "full nodes: m1-node-2", 0),
        ("fault fail-pods web", "failing workloads: default/web", 0),
        (
            "wait --for=condition=Available=False deployment/web --timeout=60s",
            "condition met",
            0,
        ),
        (
            "fault heal fail-pods",
            "1 nodes were added; full nodes: m1-node-2",
            0,
        ),
        // Groups.
        ("fault drop-group batch", "dropped groups: batch", 0),
        ("get --raw /apis/batch/v1", "ServiceUnavailable", 1),
        ("fault heal", "nothing is wrong", 0),
        ("get --raw /apis/batch/v1", "cronjobs", 0),
        // The member itself.
        ("fault restart", "has restarted with its data", 0),
        ("get deployment web", "web", 0),
        (
            "fault restart --lose-data",
            "has restarted without its data",
            0,
        ),
        ("get deployment web", "NotFound", 1),
        ("get nodes", "m1-node-1", 0),
    ]);
}

#[test]
fn what_cannot_be_staged_is_said_with_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let sim = Sim::start(directory.path());
    sim.goes(&[
        (
            "fault lose-node m1-node-9",
            "lostNodes: there is no \"m1-node-9\"; there is m1-node-1, m1-node-2",
            1,
        ),
        (
            "fault drop-group bacth",
            "droppedGroups: there is no \"bacth\"",
            1,
        ),
        (
            "fault fail-pods nothing",
            "failingWorkloads: there is no \"default/nothing\"; there is none",
            1,
        ),
        ("fault slow soon", "slow: \"soon\" is no time", 1),
        (
            "fault slow 10m",
            "delayMillis: 600000 is not a number in range",
            1,
        ),
        (
            "fault heal lose-node m1-node-1",
            "m1-node-1 is not in trouble",
            1,
        ),
        ("fault heal everything", "invalid value 'everything'", 1),
        ("fault cut-off -m m2", "m2", 1),
        ("fault explode", "unknown command \"explode\"", 1),
    ]);
    let (printed, code) = sim.run(KARAVEL, "sim");
    assert!(code == 1 && printed.contains("--data-dir"), "{printed}");
    let rules = directory.path().join("rules");
    std::fs::write(&rules, r#"[{"ready-afetr": "5s"}]"#).unwrap();
    let line = format!(
        "sim --data-dir {0}/x --rules {0}/rules",
        directory.path().display()
    );
    let (printed, code) = sim.run(KARAVEL, &line);
    assert!(
        code == 1 && printed.contains("rule 0: ready-afetr"),
        "{printed}"
    );
    let (printed, _) = sim.run(KARAVEL, "sim fault --help");
    for word in ["cut-off", "lose-node", "fail-pods", "restart", "--member"] {
        assert!(printed.contains(word), "{printed}");
    }
}
