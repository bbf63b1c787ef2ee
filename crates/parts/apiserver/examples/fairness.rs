//! One client sends as fast as it can; how long does another wait? Measured over TLS, in one run.
//!
//! `cargo run --release -p karavel-apiserver --example fairness [SECONDS]` prints the quiet client's latencies alone and
//! beside the noisy one, for reading and for writing, and the ratio of the 99th percentiles.
#![expect(clippy::print_stdout, reason = "its figures are for people")]
#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on stops")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use client::{Client, Endpoint, Identity, Impersonate, KubeconfigSource};
use http::Method;
use karavel_apiserver::{ApiServer, Options, Security, Storage};
use object::Value;
use runtime::Tasks;
use serde_json::json;

/// How many requests the noisy client keeps under way.
const NOISE: usize = 64;
/// How often the quiet client asks.
const PERIOD: Duration = Duration::from_millis(10);
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let each = Duration::from_secs(seconds.unwrap_or(5));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(measure(each));
}

async fn measure(each: Duration) {
    let directory = tempfile::tempdir().unwrap();
    let options = Options {
        data_dir: directory.path().to_owned(),
        storage: Storage::Embedded,
        listen: "127.0.0.1:0".parse().unwrap(),
        names: Vec::new(),
        security: Security::default(),
    };
    let server = ApiServer::start(options).await.unwrap();
    let path = server.kubeconfig().to_owned();
    let mut tasks = Tasks::new();
    server.run(&mut tasks).await.unwrap();
    let root = connect(&path, None).await;
    for user in ["quiet", "noisy"] {
        let binding = json!({
            "metadata": {"name": user},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}],
        });
        let path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
        send(&root, Method::POST, path, &binding).await;
    }
    let quiet = connect(&path, Some("quiet")).await;
    send(&quiet, Method::POST, MAPS, &map("mine", 0)).await;
    for (name, write) in [("reading", false), ("writing", true)] {
        let alone = percentiles(ask_regularly(&quiet, each, write).await);
        let stop = Arc::new(AtomicBool::new(false));
        let count = Arc::new(AtomicU64::new(0));
        let noise = connect(&path, Some("noisy")).await;
        let spawner = tasks.spawner();
        for number in 0..NOISE {
            let (stop, count, noise) = (Arc::clone(&stop), Arc::clone(&count), noise.clone());
            spawner.spawn_brief("noise", move |_| async move {
                let name = format!("noise-{number}");
                send(&noise, Method::POST, MAPS, &map(&name, 0)).await;
                let mut round = 0;
                while !stop.load(Ordering::Relaxed) {
                    round += 1;
                    let path = format!("{MAPS}/{name}");
                    if round % 4 == 0 {
                        send(&noise, Method::GET, MAPS, &Value::Null).await;
                    } else {
                        send(&noise, Method::PUT, &path, &map(&name, round)).await;
                    }
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let begun = Instant::now();
        let beside = percentiles(ask_regularly(&quiet, each, write).await);
        let rate = count.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        println!(
            "{name}: alone p50 {:.2} ms p99 {:.2} ms; beside {rate:.0} requests a second of another p50 {:.2} ms p99 {:.2} ms; ratio of p99 {:.2}",
            alone.0, alone.1, beside.0, beside.1, beside.1 / alone.1
        );
    }
}

async fn connect(path: &Path, user: Option<&str>) -> Client {
    let document: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let decode = |value: &Value| {
        use base64::Engine;
        base64::engine::general_purpose::STANDARD.decode(value.as_str().unwrap()).unwrap()
    };
    let (cluster, shown) = (&document["clusters"][0]["cluster"], &document["users"][0]["user"]);
    let endpoint = Endpoint {
        server: cluster["server"].as_str().unwrap().to_owned(),
        ca: decode(&cluster["certificate-authority-data"]),
        identity: Identity::Certificate {
            certificate: decode(&shown["client-certificate-data"]),
            key: decode(&shown["client-key-data"]),
        },
        impersonate: user.map(|user| Impersonate {
            user: user.to_owned(),
            ..Impersonate::default()
        }),
        ..Endpoint::default()
    };
    Client::from_kubeconfig(&KubeconfigSource::Endpoint(Box::new(endpoint))).await.unwrap()
}

async fn send(client: &Client, method: Method, path: &str, body: &Value) {
    let body = match body {
        Value::Null => Bytes::new(),
        body => body.to_string().into(),
    };
    // A client that is told to come back later does.
    drop(client.request(method, path, "application/json", body).await);
}

/// Asks once a period for a while; how long each answer took, in milliseconds.
async fn ask_regularly(client: &Client, each: Duration, write: bool) -> Vec<f64> {
    let mut ticks = tokio::time::interval(PERIOD);
    let (begun, mut took, mut round) = (Instant::now(), Vec::new(), 0);
    let path = format!("{MAPS}/mine");
    while begun.elapsed() < each {
        ticks.tick().await;
        round += 1;
        let asked = Instant::now();
        if write {
            send(client, Method::PUT, &path, &map("mine", round)).await;
        } else {
            send(client, Method::GET, &path, &Value::Null).await;
        }
        took.push(asked.elapsed().as_secs_f64() * 1000.0);
    }
    took
}

fn map(name: &str, round: u64) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"},
        "data": {"round": round.to_string(), "text": "x".repeat(256)},
    })
}

fn percentiles(mut took: Vec<f64>) -> (f64, f64) {
    took.sort_by(f64::total_cmp);
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
    (at(0.5), at(0.99))
}
