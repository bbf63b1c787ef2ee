//! One client sends as fast as it can; how long does another wait? Measured over TLS, in one run.
//!
//! `cargo run --release -p karavel-apiserver --example fairness [SECONDS]` prints the quiet client's latencies alone and
//! beside the noisy one, for reading and for writing, and the ratio of the 99th percentiles.
#![expect(clippy::print_stdout, reason = "its figures are for people")]
#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on stops")]

#[path = "../tests/protection/served.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod served;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use karavel_apiserver::{Security, Storage};
use serde_json::json;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use served::{Credentials, Served, connect, exchange};

/// How many requests the noisy client keeps under way, each on a connection of its own.
const NOISE: usize = 64;
/// How often the quiet client asks.
const PERIOD: Duration = Duration::from_millis(10);
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let each = Duration::from_secs(seconds.unwrap_or(5));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(measure(each));
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

async fn measure(each: Duration) {
    let directory = tempfile::tempdir().unwrap();
    let served = Served::start(directory.path(), Storage::Embedded, Security::default()).await;
    let served = served.unwrap();
    let shown = Credentials::of(directory.path());
    let mut root = Client::open(served.address, &shown, "system:admin").await;
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
    let mut quiet = Client::open(served.address, &shown, "quiet").await;
    let line = format!("POST {MAPS}");
    assert_eq!(quiet.send(&line, &map("mine", 0)).await, 201);
    for (name, write) in [("reading", false), ("writing", true)] {
        let alone = percentiles(ask_regularly(&mut quiet, each, write).await);
        let stop = Arc::new(AtomicBool::new(false));
        let count = Arc::new(AtomicU64::new(0));
        let spawner = served.tasks.spawner();
        for number in 0..NOISE {
            let (stop, count) = (Arc::clone(&stop), Arc::clone(&count));
            let mut noise = Client::open(served.address, &shown, "noisy").await;
            spawner.spawn_brief("noise", move |_| async move {
                let name = format!("noise-{number}");
                noise.send(&format!("POST {MAPS}"), &map(&name, 0)).await;
                let mut round = 0;
                while !stop.load(Ordering::Relaxed) {
                    round += 1;
                    let line = format!("PUT {MAPS}/{name}");
                    noise.send(&line, &map(&name, round)).await;
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let begun = Instant::now();
        let beside = percentiles(ask_regularly(&mut quiet, each, write).await);
        let rate = count.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        println!(
            "{name}: alone p50 {:.2} ms p99 {:.2} ms; beside {rate:.0} writes a second of another p50 {:.2} ms p99 {:.2} ms; ratio of p99 {:.2}",
            alone.0,
            alone.1,
            beside.0,
            beside.1,
            beside.1 / alone.1
        );
    }
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
