//! The whole product in a process of its own, for tests that use it as people do.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

pub(crate) const KARAVEL: &str = env!("CARGO_BIN_EXE_karavel");
/// Where the repository is.
pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A control plane with members; killed without warning when it is dropped.
pub(crate) struct Up {
    process: Child,
    directory: tempfile::TempDir,
}

impl Up {
    pub(crate) fn start(members: u16) -> Self {
        Self::start_with(members, &[])
    }

    /// The same with further flags.
    pub(crate) fn start_with(members: u16, further: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let process = Command::new(KARAVEL)
            .args([
                "up",
                "--listen",
                "127.0.0.1:0",
                "--members",
                &members.to_string(),
                "--data-dir",
            ])
            .arg(directory.path().join("data"))
            .args(further)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        // From here on it is killed, whatever happens.
        let mut up = Self { process, directory };
        let lines = BufReader::new(up.process.stdout.take().unwrap()).lines();
        // All it has to say, so that it says nothing to nobody.
        let said: Vec<String> = lines
            .map(Result::unwrap)
            .take_while(|line| !line.starts_with("Ctrl-C stops it"))
            .collect();
        assert!(
            said.iter()
                .any(|line| line.ends_with("all members are ready")),
            "{said:?}"
        );
        // Documents speak of examples where they are in the repository.
        std::os::unix::fs::symlink(
            Path::new(ROOT).join("examples"),
            up.directory.path().join("examples"),
        )
        .unwrap();
        up
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.directory.path().join("data/kubeconfig")
    }

    /// Runs a line in a shell, beside the examples, with `karavel` on the path.
    pub(crate) fn shell(&self, line: &str, input: &str) -> Output {
        let own = Path::new(KARAVEL).parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut child = Command::new("bash")
            .args(["-c", line])
            .current_dir(self.directory.path())
            .env("KUBECONFIG", self.kubeconfig())
            .env("PATH", format!("{}:{path}", own.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Whoever reads nothing may be gone already.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(crate) fn both(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
