//! One client sends as fast as it can; how long does another wait? Measured over TLS, in one run.
//!
//! `cargo run --release -p karavel-apiserver --example fairness -- [SECONDS] [NICE]` prints the quiet client's latencies
//! alone and beside a noisy one that writes or lists, for reading and for writing, and the ratios of the 99th percentiles.
//! Server, noise and quiet client are processes of their own. SECONDS is how long each is measured (10), in windows of
//! half a second with and without noise by turns, so that whatever else the machine does is in both.
//!
//! Both clients stand for other machines. The quiet one is let run whenever it is ready, so that its own wait for a
//! processor is not taken for the server's; the noise has only what server and quiet client leave of the processors. Both
//! need `chrt` and the right to use it; without, and with NICE given, the noise has that niceness: 0 lets it compete
//! with them, as if somebody else's program ran beside the server.
#![expect(clippy::print_stdout, reason = "its figures are for people")]
#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on stops")]

#[path = "../tests/protection/served.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod served;

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use karavel_apiserver::{Security, Storage};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use served::{Credentials, Served, connect, exchange};

/// How many requests the noisy client keeps under way, each on a connection of its own.
const NOISE: usize = 64;
/// How often the quiet client asks.
const PERIOD: Duration = Duration::from_millis(5);
/// How long the quiet client is measured before the noise stops or goes on.
const WINDOW: Duration = Duration::from_millis(500);
/// How long nothing is measured after that.
const SETTLING: Duration = Duration::from_millis(200);
/// How many objects a list of the noisy client has.
const LISTED: usize = 500;
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const OTHERS: &str = "/api/v1/namespaces/kube-public/configmaps";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["serve", directory] => workers().block_on(serve(Path::new(directory))),
        ["noise", what, address, directory] => {
            let shown = Credentials::of(Path::new(directory));
            workers().block_on(make_noise(what, address.parse().unwrap(), &shown));
        }
        rest => {
            let number = |at: usize, otherwise: u64| {
                let word = rest.get(at).map(|word| word.parse().unwrap());
                word.unwrap_or(otherwise)
            };
            let directory = tempfile::tempdir().unwrap();
            let alone = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            // Two windows a second.
            let rounds = 2 * number(0, 10);
            let nice = rest.get(1).map(|word| word.parse().unwrap());
            alone.block_on(measure(directory.path(), rounds, nice));
        }
    }
}

fn workers() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(access::turns::threads());
    builder.enable_all().build().unwrap()
}

/// Serves until the process is killed; says where.
async fn serve(directory: &Path) {
    let served = Served::start(directory, Storage::Embedded, Security::default());
    let served = served.await.unwrap();
    println!("{}", served.address);
    std::future::pending::<()>().await;
}

/// A process that ends with the measurement.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Process {
    /// Stops it where it stands (`STOP`), or lets it go on (`CONT`).
    fn signal(&self, name: &str) {
        let id = self.0.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.unwrap().success());
    }

    /// Seconds of processors it has used.
    fn used(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id()));
        let stat = stat.unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split(' ').collect();
        // The fields utime and stime, counted from the one after the name; a tick is a hundredth of a second on Linux.
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
        (ticks(12).unwrap_or_default() + ticks(13).unwrap_or_default()) / 100.0
    }
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
            headers: match user {
                "" => String::new(),
                user => format!("Impersonate-User: {user}\r\n"),
            },
        }
    }

    async fn send(&mut self, line: &str, body: &str) -> u16 {
        let answer = exchange(&mut self.stream, line, &self.headers, body).await;
        answer.unwrap().0
    }
}

/// Lets this process run whenever it is ready, if that is allowed.
fn come_first() -> bool {
    let id = std::process::id().to_string();
    let told = Command::new("chrt").args(["-f", "-p", "1", &id]).status();
    told.is_ok_and(|told| told.success())
}

/// The noise, which has what is left of the processors, or a niceness.
fn noisemaker(nice: Option<u64>) -> Command {
    let Some(nice) = nice else {
        let mut idle = Command::new("chrt");
        idle.args(["-i", "0"]);
        return idle;
    };
    let mut command = Command::new("nice");
    command.args(["-n", &nice.to_string()]);
    command
}

async fn measure(directory: &Path, rounds: u64, nice: Option<u64>) {
    let program = std::env::current_exe().unwrap();
    let mut serving = Command::new(&program);
    serving.arg("serve").arg(directory).stdout(Stdio::piped());
    let mut server = Process(serving.spawn().unwrap());
    let mut line = String::new();
    let mut output = BufReader::new(server.0.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    let address: SocketAddr = line.trim().parse().unwrap();
    let shown = Credentials::of(directory);
    let nice = match nice {
        None if !come_first() => Some(19),
        nice => nice,
    };
    let mut root = Client::open(address, &shown, "").await;
    for user in ["quiet", "noisy"] {
        let binding = json!({
            "metadata": {"name": user},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}],
        });
        let line = "POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
        assert_eq!(root.send(line, &binding.to_string()).await, 201);
    }
    for number in 0..LISTED {
        let map = map(&format!("listed-{number}"), "kube-public", 0);
        assert_eq!(root.send(&format!("POST {OTHERS}"), &map).await, 201);
    }
    let mut quiet = Client::open(address, &shown, "quiet").await;
    let mine = map("mine", "default", 0);
    assert_eq!(quiet.send(&format!("POST {MAPS}"), &mine).await, 201);
    for noise in ["writes", "lists"] {
        for (name, write) in [("reading", false), ("writing", true)] {
            let (mut alone, mut beside) = (Vec::new(), Vec::new());
            let (mut done, mut used, mut taken) = (0, 0.0, 0.0);
            let mut loud = noisemaker(nice);
            loud.arg(&program)
                .args(["noise", noise, &address.to_string()])
                .arg(directory);
            let loud = Process(loud.spawn().unwrap());
            // Until the noise is as loud as it gets.
            ask_regularly(&mut quiet, Duration::from_secs(2), write).await;
            for _ in 0..rounds {
                loud.signal("STOP");
                ask_regularly(&mut quiet, SETTLING, write).await;
                alone.extend(ask_regularly(&mut quiet, WINDOW, write).await);
                loud.signal("CONT");
                ask_regularly(&mut quiet, SETTLING, write).await;
                let before = (requests(&mut root).await, server.used(), Instant::now());
                beside.extend(ask_regularly(&mut quiet, WINDOW, write).await);
                taken += before.2.elapsed().as_secs_f64();
                used += server.used() - before.1;
                done += requests(&mut root).await.saturating_sub(before.0);
            }
            let (alone, beside) = (percentiles(alone), percentiles(beside));
            println!(
                "{name} beside {noise}: alone p50 {:.2} ms p99 {:.2} ms; beside p50 {:.2} ms p99 {:.2} ms; ratio of p99 {:.2}; \
                 the server answered {:.0} requests a second with {:.2} processors",
                alone.0,
                alone.1,
                beside.0,
                beside.1,
                beside.1 / alone.1,
                done as f64 / taken,
                used / taken,
            );
        }
    }
}

/// Writes or lists as fast as it can, until it is killed.
async fn make_noise(what: &str, address: SocketAddr, shown: &Credentials) {
    let mut clients = Vec::new();
    for number in 0..NOISE {
        let mut client = Client::open(address, shown, "noisy").await;
        let lists = what == "lists";
        clients.push(async move {
            let name = format!("noise-{number}");
            let first = map(&name, "default", 0);
            client.send(&format!("POST {MAPS}"), &first).await;
            for round in 0.. {
                let (line, body) = match lists {
                    true => (format!("GET {OTHERS}"), String::new()),
                    false => (format!("PUT {MAPS}/{name}"), map(&name, "default", round)),
                };
                let sent = exchange(&mut client.stream, &line, &client.headers, &body).await;
                // The server is gone: so is the noise.
                if sent.is_err() {
                    return;
                }
            }
        });
    }
    futures_util::future::join_all(clients).await;
}

/// How many requests the server has answered.
async fn requests(client: &mut Client) -> u64 {
    let answer = exchange(&mut client.stream, "GET /metrics", &client.headers, "").await;
    let text = answer.unwrap().1;
    let counts = text
        .lines()
        .filter(|line| line.starts_with("apiserver_request_total"))
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    counts.sum::<f64>() as u64
}

/// Asks once a period for a while; how long each answer took, in milliseconds.
async fn ask_regularly(client: &mut Client, each: Duration, write: bool) -> Vec<f64> {
    let mut ticks = tokio::time::interval(PERIOD);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (begun, mut took, mut round) = (Instant::now(), Vec::new(), 0);
    while begun.elapsed() < each {
        ticks.tick().await;
        round += 1;
        let asked = Instant::now();
        let code = if write {
            let line = format!("PUT {MAPS}/mine");
            client.send(&line, &map("mine", "default", round)).await
        } else {
            client.send(&format!("GET {MAPS}/mine"), "").await
        };
        assert_eq!(code, 200);
        took.push(asked.elapsed().as_secs_f64() * 1000.0);
    }
    took
}

fn map(name: &str, namespace: &str, round: u64) -> String {
    let map: Value = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace},
        "data": {"round": round.to_string(), "text": "x".repeat(256)},
    });
    map.to_string()
}

fn percentiles(mut took: Vec<f64>) -> (f64, f64) {
    took.sort_by(f64::total_cmp);
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
    (at(0.5), at(0.99))
}
