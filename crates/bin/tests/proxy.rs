//! Real `kubectl` in a member, through the control plane alone: logs, commands, files and ports.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

const KARAVEL: &str = env!("CARGO_BIN_EXE_karavel");

/// A control plane and a member; killed when they are dropped.
struct Up {
    process: Child,
    kubeconfig: PathBuf,
    /// The member behind the control plane.
    member: String,
}

/// A command that runs until it is dropped. What it prints is still taken: one that cannot print ends.
struct Begun {
    process: Child,
    _printed: Lines<BufReader<ChildStdout>>,
}

impl Up {
    fn start(data_dir: &Path) -> Self {
        let mut process = Command::new(KARAVEL)
            .args(["up", "--listen", "127.0.0.1:0", "--members", "1"])
            .arg("--data-dir")
            .arg(data_dir)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let is_up = lines.any(|line| line.unwrap().starts_with("Ctrl-C stops it"));
        assert!(is_up, "karavel did not come up");
        let mut up = Self {
            process,
            kubeconfig: data_dir.join("kubeconfig"),
            member: String::new(),
        };
        let shown = up.command("config view --minify -o jsonpath={.clusters[0].cluster.server}");
        let server = text(&{ shown }.output().unwrap());
        up.member = format!("{server}/apis/cluster.karmada.io/v1alpha1/clusters/member1/proxy");
        up
    }

    /// `kubectl` in the control plane, or in the member once that is known.
    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new("kubectl");
        if !self.member.is_empty() {
            command.args(["--server", &self.member]);
        }
        command
            .args(arguments.split_whitespace())
            .env("KUBECONFIG", &self.kubeconfig)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// What it prints, on either stream, and its exit code.
    fn kubectl(&self, arguments: &str, input: &str) -> (String, i32) {
        said(self.command(arguments), input)
    }

    /// The same by a client that knows nothing but SPDY for streams.
    fn old_kubectl(&self, arguments: &str, input: &str) -> (String, i32) {
        let mut command = self.command(arguments);
        command
            .env("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "false")
            .env("KUBECTL_PORT_FORWARD_WEBSOCKETS", "false");
        said(command, input)
    }

    /// Starts it, and returns the first line with a text.
    fn begins(&self, arguments: &str, marked: &str) -> (Begun, String) {
        let mut process = self.command(arguments).spawn().unwrap();
        let mut printed = BufReader::new(process.stdout.take().unwrap()).lines();
        let line = printed
            .by_ref()
            .map(Result::unwrap)
            .find(|line| line.contains(marked));
        let begun = Begun {
            process,
            _printed: printed,
        };
        let line = line.unwrap_or_else(|| panic!("kubectl {arguments} did not say {marked}"));
        (begun, line)
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn said(mut command: Command, input: &str) -> (String, i32) {
    let mut child = command.spawn().expect("kubectl must be installed");
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    (text(&output), output.status.code().unwrap_or(-1))
}

fn text(output: &Output) -> String {
    let both = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// A line for one of the clients: what it said, and how it ended.
type Call = fn(&Up, &str, &str) -> (String, i32);

#[test]
fn streams_of_all_sorts_go_through_to_a_member() {
    let directory = tempfile::tempdir().unwrap();
    let up = Up::start(directory.path());
    for (arguments, expected) in [
        ("create deployment web --image=nginx:1.27", "created"),
        (
            "rollout status deployment/web --timeout=120s",
            "successfully rolled out",
        ),
        ("get nodes -o name", "node/member1-node-1"),
        ("logs deployment/web --tail=1", "nginx"),
    ] {
        let (printed, code) = up.kubectl(arguments, "");
        assert_eq!(code, 0, "{arguments}: {printed}");
        assert!(printed.contains(expected), "{arguments}: {printed}");
    }
    let (pod, _) = up.kubectl(
        "get pods -l app=web -o jsonpath={.items[0].metadata.name}",
        "",
    );

    // WebSocket, as kubectl speaks today, and SPDY, as it spoke before.
    let clients: [Call; 2] = [Up::kubectl, Up::old_kubectl];
    for run in clients {
        let (printed, code) = run(&up, &format!("exec {pod} -- hostname"), "");
        assert_eq!((printed.as_str(), code), (format!("{pod}\n").as_str(), 0));
        let (printed, code) = run(&up, &format!("exec -i {pod} -- cat"), "to and fro\n");
        assert_eq!((printed.as_str(), code), ("to and fro\n", 0));
        let (printed, code) = run(&up, &format!("exec -i {pod} -- sh"), "exit 4\n");
        assert_eq!(code, 4, "{printed}");
    }
    let (file, back) = (directory.path().join("a"), directory.path().join("b"));
    // More than any buffer on the way holds.
    let much = "0123456789abcdef".repeat(64 * 1024);
    std::fs::write(&file, &much).unwrap();
    let (printed, code) = up.kubectl(&format!("cp {} {pod}:/tmp/a", file.display()), "");
    assert_eq!(code, 0, "{printed}");
    let (printed, code) = up.kubectl(&format!("cp {pod}:/etc/hostname {}", back.display()), "");
    assert_eq!(code, 0, "{printed}");
    assert_eq!(std::fs::read_to_string(&back).unwrap(), format!("{pod}\n"));

    let (_following, line) = up.begins(&format!("logs -f {pod}"), "started");
    assert!(line.contains(&pod), "{line}");
    let (_forwarding, line) = up.begins(&format!("port-forward {pod} :80"), "Forwarding");
    let port: u16 = line
        .strip_prefix("Forwarding from 127.0.0.1:")
        .and_then(|rest| rest.split(' ').next()?.parse().ok())
        .unwrap_or_else(|| panic!("{line}"));
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket
        .write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .unwrap();
    socket.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains(&pod), "{answer}");

    // What the member refuses is what the user reads.
    let (printed, code) = up.kubectl("exec nobody -- hostname", "");
    assert_ne!(code, 0);
    assert!(printed.contains("pods \"nobody\" not found"), "{printed}");
    let (printed, code) = up.kubectl(&format!("exec {pod} -c nobody -- hostname"), "");
    assert_ne!(code, 0);
    assert!(printed.contains("nobody"), "{printed}");
}
