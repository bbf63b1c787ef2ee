//! A member on a socket, kubectl, and what it prints held against patterns.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use karavel_sim::{SimConfig, run};
use runtime::Tasks;

/// A member on a socket, and kubectl.
pub(crate) struct Walk {
    kubeconfig: PathBuf,
    _runtime: tokio::runtime::Runtime,
    _tasks: Tasks,
    _directory: tempfile::TempDir,
}

impl Walk {
    pub(crate) fn begin() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let mut tasks = Tasks::new();
        let config = SimConfig::new("m1", directory.path());
        let running = runtime.block_on(run(&config, &mut tasks)).unwrap();
        Self {
            kubeconfig: running.kubeconfig,
            _runtime: runtime,
            _tasks: tasks,
            _directory: directory,
        }
    }

    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new("kubectl");
        command
            .args(arguments.split_whitespace())
            .env("KUBECONFIG", &self.kubeconfig)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// What kubectl prints, on either stream, and its exit code.
    pub(crate) fn kubectl(&self, arguments: &str, input: &str) -> (String, i32) {
        let mut answer = self.ask(arguments, input);
        // On a busy machine some kubectl read before they have told their streams apart, lose what came, and say so.
        // Whoever was told nothing can be asked again.
        for _ in 0..5 {
            if !input.is_empty() || !answer.0.contains("Unknown stream id") {
                break;
            }
            answer = self.ask(arguments, input);
        }
        answer
    }

    fn ask(&self, arguments: &str, input: &str) -> (String, i32) {
        let mut child = self
            .command(arguments)
            .spawn()
            .expect("kubectl must be installed to run this test");
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8_lossy(&printed).into_owned();
        (printed, output.status.code().unwrap_or(-1))
    }

    /// Runs each command and holds what it prints against lines of words, in their order; `*` stands for any letters.
    pub(crate) fn goes(&self, steps: &[(&str, &str)]) {
        for (arguments, wanted) in steps {
            let (printed, _) = self.kubectl(arguments, "");
            check(arguments, &printed, wanted);
        }
    }

    /// A deployment `web` of so many pods that run.
    pub(crate) fn deploys(&self, replicas: u32) {
        let create = format!("create deployment web --image=nginx:1.27 --replicas={replicas}");
        self.goes(&[
            (&create, "deployment.apps/web created"),
            (
                "rollout status deployment/web --timeout=60s",
                "deployment \"web\" successfully rolled out",
            ),
        ]);
    }

    /// Runs a command with input and holds what it prints against lines of words; its exit code must be the one said.
    pub(crate) fn answers(&self, arguments: &str, input: &str, code: i32, wanted: &str) {
        let (printed, ended) = self.kubectl(arguments, input);
        assert_eq!(ended, code, "kubectl {arguments}: {printed}");
        check(arguments, &printed, wanted);
    }

    /// The name of the first pod of a label.
    pub(crate) fn pod(&self, label: &str) -> String {
        let list = format!("get pods -l {label} -o jsonpath={{.items[0].metadata.name}}");
        self.kubectl(&list, "").0
    }

    /// A command that runs on, and the first line it prints that has a word in it.
    pub(crate) fn begins(&self, arguments: &str, word: &str) -> (Running, String) {
        let mut child = self.command(arguments).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines
            .by_ref()
            .map_while(Result::ok)
            .find(|line| line.contains(word))
            .unwrap_or_else(|| panic!("{arguments} never said {word:?}"));
        let running = Running {
            child,
            _lines: lines,
        };
        (running, line)
    }
}

/// A command that is ended when it is dropped. What it prints is taken until then.
pub(crate) struct Running {
    child: Child,
    _lines: Lines<BufReader<ChildStdout>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub(crate) fn check(arguments: &str, printed: &str, wanted: &str) {
    let mut lines = printed.lines();
    for pattern in wanted
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        let found = lines.any(|line| is_like(line, pattern));
        assert!(
            found,
            "kubectl {arguments}\nno line is like: {pattern}\nprinted:\n{printed}"
        );
    }
}

/// Whether a line has the words of a pattern, one after the other from its beginning; `...` ends the comparison.
fn is_like(line: &str, pattern: &str) -> bool {
    let mut words = line.split_whitespace();
    for wanted in pattern.split_whitespace() {
        if wanted == "..." {
            return true;
        }
        if !words.next().is_some_and(|word| is_word(word, wanted)) {
            return false;
        }
    }
    words.next().is_none()
}

fn is_word(word: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => word == pattern,
        Some((before, after)) => {
            let rest = word.strip_prefix(before);
            let after = after.trim_start_matches('*');
            rest.is_some_and(|rest| {
                (0..=rest.len()).any(|at| rest.get(at..).is_some_and(|tail| is_word(tail, after)))
            })
        }
    }
}

#[test]
fn words_are_compared_as_patterns_say() {
    for (line, pattern, expected) in [
        ("web-1   1/1  Running", "web-* 1/1 Running", true),
        ("web-1   1/1  Running   0", "web-* 1/1 Running", false),
        ("web-1   1/1  Running   0", "web-* 1/1 ...", true),
        ("10.1.2.3", "10.*.3", true),
        ("10.1.2.4", "10.*.3", false),
    ] {
        assert_eq!(is_like(line, pattern), expected, "{line} {pattern}");
    }
}
