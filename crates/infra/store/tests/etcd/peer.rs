//! Real etcd processes, each on ports and a directory of its own, gone when the test is over.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use store::Store;
use store::etcd::{Etcd, OpenError, Options};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::conformance::soon;

/// One member of an etcd cluster.
pub(crate) struct Peer {
    directory: TempDir,
    arguments: Vec<String>,
    port: u16,
    scheme: &'static str,
    child: Option<Child>,
}

impl Peer {
    /// A cluster of one, ready to be used.
    pub(crate) async fn alone() -> Self {
        Self::with(&[]).await
    }

    /// A cluster of one with further arguments.
    pub(crate) async fn with(arguments: &[&str]) -> Self {
        let mut peer = Self::new("n0", free_port(), free_port(), "http", arguments);
        peer.start();
        drop(peer.connect().await);
        peer
    }

    /// A cluster of one that is spoken to with TLS. It is not waited for: only the test knows how to connect.
    pub(crate) fn with_tls(arguments: &[&str]) -> Self {
        let mut peer = Self::new("n0", free_port(), free_port(), "https", arguments);
        peer.start();
        peer
    }

    /// A cluster of three, ready to be used.
    pub(crate) async fn three() -> Vec<Self> {
        let ports = [free_port(), free_port(), free_port()];
        let cluster: Vec<String> = ports
            .iter()
            .enumerate()
            .map(|(index, port)| format!("n{index}=http://127.0.0.1:{port}"))
            .collect();
        let cluster = format!("--initial-cluster={}", cluster.join(","));
        let mut peers: Vec<Self> = ports
            .iter()
            .enumerate()
            .map(|(index, port)| {
                let name = format!("n{index}");
                Self::new(&name, free_port(), *port, "http", &[&cluster])
            })
            .collect();
        peers.iter_mut().for_each(Self::start);
        for peer in &peers {
            drop(peer.connect().await);
        }
        peers
    }

    fn new(
        name: &str,
        port: u16,
        peer_port: u16,
        scheme: &'static str,
        arguments: &[&str],
    ) -> Self {
        let directory = TempDir::new().unwrap();
        let data = directory.path().join("data");
        let client = format!("{scheme}://127.0.0.1:{port}");
        let peer = format!("http://127.0.0.1:{peer_port}");
        let mut all = vec![
            format!("--name={name}"),
            format!("--data-dir={}", data.display()),
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls={peer}"),
            format!("--initial-advertise-peer-urls={peer}"),
            // Shorter than usual, so that elections and the shortest leases are; long enough for a busy machine.
            "--heartbeat-interval=60".to_owned(),
            "--election-timeout=600".to_owned(),
            "--logger=zap".to_owned(),
        ];
        if !arguments
            .iter()
            .any(|a| a.starts_with("--initial-cluster="))
        {
            all.push(format!("--initial-cluster={name}={peer}"));
        }
        all.extend(arguments.iter().map(|&argument| argument.to_owned()));
        Self {
            directory,
            arguments: all,
            port,
            scheme,
            child: None,
        }
    }

    /// Starts the process, the first time or again.
    pub(crate) fn start(&mut self) {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.directory.path().join("log"))
            .unwrap();
        let child = Command::new(program())
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.child = Some(child);
    }

    /// Ends the process without warning.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Stops the process without ending it: its connections stay open and silent.
    pub(crate) fn freeze(&self) {
        self.signal("-STOP");
    }

    pub(crate) fn thaw(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let id = self.child.as_ref().unwrap().id().to_string();
        let done = Command::new("kill").args([signal, &id]).status().unwrap();
        assert!(done.success());
    }

    pub(crate) fn url(&self) -> String {
        format!("{}://127.0.0.1:{}", self.scheme, self.port)
    }

    /// How this member alone is reached.
    pub(crate) fn options(&self) -> Options {
        Options::new([self.url()], "/karavel")
    }

    /// A store on this member, once it answers.
    pub(crate) async fn connect(&self) -> Store {
        self.connect_with(self.options()).await
    }

    pub(crate) async fn connect_with(&self, options: Options) -> Store {
        match connect(options).await {
            Ok(store) => store,
            Err(error) => panic!("{error:?}\n{}", self.log()),
        }
    }

    /// Talks to etcd's JSON gateway, for what the store has no word for.
    pub(crate) fn post(&self, path: &str, body: &str) -> String {
        self.send(path, body, "")
    }

    /// The same with a token of etcd's authentication.
    pub(crate) fn post_as(&self, path: &str, body: &str, token: &str) -> String {
        self.send(path, body, &format!("Authorization: {token}\r\n"))
    }

    fn send(&self, path: &str, body: &str, header: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: etcd\r\n{header}Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        answer
    }

    /// Whether this member leads its cluster.
    pub(crate) fn is_leader(&self) -> bool {
        let answer = self.post("/v3/maintenance/status", "{}");
        let field = |name: &str| {
            let (_, rest) = answer.split_once(&format!("\"{name}\":\"")).unwrap();
            rest.split('"').next().unwrap().to_owned()
        };
        field("member_id") == field("leader")
    }

    fn log(&self) -> String {
        let log = std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A way to a member that can be cut and mended.
pub(crate) struct Proxy {
    port: u16,
    /// Counts cuts; odd while it is cut.
    cuts: watch::Sender<u32>,
    _tasks: JoinSet<()>,
}

impl Proxy {
    pub(crate) async fn before(peer: &Peer) -> Self {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
            .await
            .unwrap();
        let port = listener.local_addr().unwrap().port();
        let cuts = watch::Sender::new(0);
        let mut tasks = JoinSet::new();
        tasks.spawn(forward(listener, peer.port, cuts.clone()));
        Self {
            port,
            cuts,
            _tasks: tasks,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Breaks all connections; new ones are broken as well.
    pub(crate) fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    pub(crate) fn mend(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }
}

async fn forward(listener: tokio::net::TcpListener, to: u16, cuts: watch::Sender<u32>) {
    let mut connections = JoinSet::new();
    loop {
        let (mut near, _) = listener.accept().await.unwrap();
        let mut cuts = cuts.subscribe();
        let begun = *cuts.borrow_and_update();
        if begun % 2 == 1 {
            continue;
        }
        connections.spawn(async move {
            let Ok(mut far) = tokio::net::TcpStream::connect(("127.0.0.1", to)).await else {
                return;
            };
            tokio::select! {
                _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                _ = cuts.wait_for(|cuts| *cuts != begun) => {}
            }
        });
    }
}

/// Opens a store, waiting for etcd to start but not for what waiting cannot cure.
pub(crate) async fn connect(options: Options) -> Result<Store, OpenError> {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        match soon("an answer of etcd", Etcd::connect(options.clone())).await {
            Ok(etcd) => return Ok(Store::Etcd(etcd)),
            Err(OpenError::Etcd {
                source:
                    store::etcd::EtcdError::Unreachable { .. }
                    | store::etcd::EtcdError::NoLeader { .. }
                    | store::etcd::EtcdError::TimedOut { .. }
                    | store::etcd::EtcdError::Other { .. },
            }) if Instant::now() < deadline => {}
            Err(error) => return Err(error),
        }
    }
}

/// A port nobody listens on. Another process may take it before etcd does, which has not been seen.
pub(crate) fn free_port() -> u16 {
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
