//! Where the servers of these tests keep their objects: an etcd of one member, gone when the test is over.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use store::Store;
use store::etcd::{Etcd, Options};
use tempfile::TempDir;

pub(crate) struct Backing {
    url: String,
    child: Child,
    _directory: TempDir,
}

impl Backing {
    pub(crate) async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let url = |port: u16| format!("http://127.0.0.1:{port}");
        let (client, peer) = (url(free_port()), url(free_port()));
        let child = Command::new(program())
            .arg(format!("--data-dir={}", directory.path().display()))
            .args([
                format!("--listen-client-urls={client}"),
                format!("--advertise-client-urls={client}"),
                format!("--listen-peer-urls={peer}"),
                format!("--initial-advertise-peer-urls={peer}"),
                format!("--initial-cluster=default={peer}"),
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            url: client,
            child,
            _directory: directory,
        }
    }

    /// A store in it, once it answers.
    pub(crate) async fn open(&self) -> Store {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let options = Options::new([self.url.clone()], "/karavel");
            match Etcd::connect(options).await {
                Ok(etcd) => return Store::Etcd(etcd),
                Err(error) => assert!(Instant::now() < deadline, "{error:?}"),
            }
        }
    }
}

impl Drop for Backing {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// A port nobody listens on. Another process may take it before etcd does, which has not been seen.
fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// The etcd to test against: on PATH, or where `cargo xtask setup` puts it.
fn program() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let tools = std::env::var_os("KARAVEL_TOOLS").map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(tools)
        .map(|directory| directory.join("etcd"))
        .find(|program| program.is_file())
        .expect("etcd is neither on PATH nor in KARAVEL_TOOLS: run cargo xtask setup")
}
