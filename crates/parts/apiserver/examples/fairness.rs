//! One client sends as fast as it can; how long does another wait? Measured over TLS, in one run.
//!
//! `cargo run --release -p karavel-apiserver --example fairness [SECONDS]` prints the quiet client's latencies alone and
//! beside the noisy one, for reading and for writing, and the ratio of the 99th percentiles. The noise comes from a
//! process of its own, and the quiet client has a thread of its own: only the server stands between them.
#![expect(clippy::print_stdout, reason = "its figures are for people")]
#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on stops")]

#[path = "../tests/protection/served.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod served;

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use karavel_apiserver::{Security, Storage};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use served::{Credentials, Served, connect, exchange};

/// How many requests the noisy client keeps under way, each on a connection of its own.
const NOISE: usize = 64;
/// How often the quiet client asks.
const PERIOD: Duration = Duration::from_millis(10);
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, word, address, directory] = arguments.as_slice()
        && word == "noise"
    {
        let shown = Credentials::of(std::path::Path::new(directory));
        return workers().block_on(make_noise(address.parse().unwrap(), &shown));
    }
    let seconds = arguments.get(1).and_then(|text| text.parse().ok());
    let each = Duration::from_secs(seconds.unwrap_or(5));
    let directory = tempfile::tempdir().unwrap();
    let server = workers();
    let served = Served::start(directory.path(), Storage::Embedded, Security::default());
    let served = server.block_on(served).unwrap();
    let alone = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    alone.block_on(measure(served.address, directory.path(), each));
}

fn workers() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.enable_all().build().unwrap()
}

/// One connection of one user.
struct Client {
    stream: TlsStream<TcpStream>,
    headers: String,
}

impl Client {
    async fn open(address: SocketAddr, shown: &Credentials, user: &str) -> Self {
        let stream = connect(address, &shown.authority, Some(shown), "localhost").await;
        Self {
            stream: stream.unwrap(),
            headers: format!("Impersonate-User: {user}\r\n"),
        }
    }

    async fn send(&mut self, line: &str, body: &str) -> u16 {
        let answer = exchange(&mut self.stream, line, &self.headers, body).await;
        answer.unwrap().0
    }
}

async fn measure(address: SocketAddr, directory: &Path, each: Duration) {
    let shown = Credentials::of(directory);
    let mut root = Client::open(address, &shown, "system:admin").await;
    root.headers.clear();
    for user in ["quiet", "noisy"] {
        let binding = json!({
            "metadata": {"name": user},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}],
        });
        let line = "POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
        assert_eq!(root.send(line, &binding.to_string()).await, 201);
    }
    let mut quiet = Client::open(address, &shown, "quiet").await;
    let line = format!("POST {MAPS}");
    assert_eq!(quiet.send(&line, &map("mine", 0)).await, 201);
    for (name, write) in [("reading", false), ("writing", true)] {
        let alone = percentiles(ask_regularly(&mut quiet, each, write).await);
        let mut noise = Command::new(std::env::current_exe().unwrap())
            .arg("noise")
            .arg(address.to_string())
            .arg(directory)
            .spawn()
            .unwrap();
        // Until the noise is as loud as it gets.
        ask_regularly(&mut quiet, Duration::from_secs(2), write).await;
        let before = revision(&mut root).await;
        let begun = Instant::now();
        let beside = percentiles(ask_regularly(&mut quiet, each, write).await);
        let written = revision(&mut root).await - before;
        let rate = written as f64 / begun.elapsed().as_secs_f64();
        noise.kill().unwrap();
        noise.wait().unwrap();
        println!(
            "{name}: alone p50 {:.2} ms p99 {:.2} ms; beside {rate:.0} writes a second p50 {:.2} ms p99 {:.2} ms; ratio of p99 {:.2}",
            alone.0,
            alone.1,
            beside.0,
            beside.1,
            beside.1 / alone.1
        );
    }
}

/// Writes as fast as it can, until it is killed.
async fn make_noise(address: SocketAddr, shown: &Credentials) {
    let mut clients = Vec::new();
    for number in 0..NOISE {
        let mut client = Client::open(address, shown, "noisy").await;
        clients.push(async move {
            let name = format!("noise-{number}");
            client.send(&format!("POST {MAPS}"), &map(&name, 0)).await;
            for round in 0.. {
                let line = format!("PUT {MAPS}/{name}");
                client.send(&line, &map(&name, round)).await;
            }
        });
    }
    futures_util::future::join_all(clients).await;
}

/// How many writes there have been.
async fn revision(client: &mut Client) -> u64 {
    let line = format!("GET {MAPS}?limit=1");
    let answer = exchange(&mut client.stream, &line, &client.headers, "").await;
    let list: Value = serde_json::from_str(&answer.unwrap().1).unwrap();
    let revision = list["metadata"]["resourceVersion"].as_str().unwrap();
    revision.parse().unwrap()
}

/// Asks once a period for a while; how long each answer took, in milliseconds.
async fn ask_regularly(client: &mut Client, each: Duration, write: bool) -> Vec<f64> {
    let mut ticks = tokio::time::interval(PERIOD);
    let (begun, mut took, mut round) = (Instant::now(), Vec::new(), 0);
    while begun.elapsed() < each {
        ticks.tick().await;
        round += 1;
        let asked = Instant::now();
        let code = if write {
            let line = format!("PUT {MAPS}/mine");
            client.send(&line, &map("mine", round)).await
        } else {
            client.send(&format!("GET {MAPS}/mine"), "").await
        };
        assert_eq!(code, 200);
        took.push(asked.elapsed().as_secs_f64() * 1000.0);
    }
    took
}

fn map(name: &str, round: u64) -> String {
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"},
        "data": {"round": round.to_string(), "text": "x".repeat(256)},
    });
    map.to_string()
}

fn percentiles(mut took: Vec<f64>) -> (f64, f64) {
    took.sort_by(f64::total_cmp);
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
    (at(0.5), at(0.99))
}
