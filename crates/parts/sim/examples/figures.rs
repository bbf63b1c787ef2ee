//! What simulated members cost: start time, memory, pod starts a second.
//!
//! `cargo run --release -p karavel-sim --example figures -- members 1000 5`
//! `cargo run --release -p karavel-sim --example figures -- pods 100 100`

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::Request;
use http_body_util::Full;
use karavel_sim::behaviour::Rules;
use karavel_sim::{Member, MemberConfig};
use runtime::{Clock, Tasks};
use serde_json::json;
use serve::call::User;

/// As many as `karavel sim` opens at a time.
const OPEN_AT_ONCE: usize = 16;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, usual: usize| {
        let text = arguments.get(place);
        text.and_then(|text| text.parse().ok()).unwrap_or(usual)
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        match arguments.first().map(String::as_str) {
            Some("pods") => pods(number(1, 100), number(2, 100)).await,
            _ => members(number(1, 1000), number(2, 5)).await,
        }
    });
}

/// Opens members, asks each for `/readyz`, and says what it took.
async fn members(count: usize, nodes: usize) {
    let (tasks, before, begun) = (Tasks::new(), resident(), Instant::now());
    let members = open(&tasks, count, nodes).await;
    let opened = begun.elapsed();
    let mut ready = 0;
    for member in &members {
        let request = Request::get("/readyz")
            .body(Full::<Bytes>::default())
            .expect("a request");
        let answer = member.answer(admin(), request).await;
        ready += usize::from(answer.status().is_success());
    }
    let grown = resident().saturating_sub(before);
    report(&format!(
        "{count} members of {nodes} nodes: {ready} ready, {:.1} s to open ({:.2} ms each), {} MiB resident ({} KiB each)",
        opened.as_secs_f64(),
        opened.as_secs_f64() * 1e3 / count as f64,
        grown >> 20,
        (grown >> 10) / count.max(1),
    ));
}

/// Runs so many pods in each of so many members.
async fn pods(count: usize, each: usize) {
    let (tasks, before) = (Tasks::new(), resident());
    let members = open(&tasks, count, 5).await;
    let begun = Instant::now();
    for member in &members {
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {
                "replicas": each, "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "web", "image": "nginx"}]},
                },
            },
        });
        let request = Request::post("/apis/apps/v1/namespaces/default/deployments")
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(deployment.to_string())))
            .expect("a request");
        let answer = member.answer(admin(), request).await;
        assert!(answer.status().is_success(), "{}", answer.status());
    }
    loop {
        let running: usize = members.iter().map(ready_pods).sum();
        if running >= count * each {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let took = begun.elapsed().as_secs_f64();
    let grown = resident().saturating_sub(before);
    report(&format!(
        "{} pods in {count} members: {took:.1} s, {:.0} pod starts a second, {} MiB resident",
        count * each,
        (count * each) as f64 / took,
        grown >> 20,
    ));
}

async fn open(tasks: &Tasks, count: usize, nodes: usize) -> Vec<Member> {
    let spawner = &tasks.spawner();
    let opening = (0..count).map(|place| async move {
        let mut config = MemberConfig::new(format!("m{place}"));
        config.nodes = nodes;
        config.events = false;
        config.heartbeat = 300;
        config.rules = Rules::parse(r#"[{"start-after": "0s"}]"#).expect("rules");
        let opened = Member::open(config, Clock::system(), spawner).await;
        opened.expect("a member")
    });
    stream::iter(opening).buffered(OPEN_AT_ONCE).collect().await
}

fn ready_pods(member: &Member) -> usize {
    let server = member.server();
    let record = server
        .cache()
        .collection("apps/deployments")
        .find("default/web");
    let status = record.map(|record| record.value());
    let count = status
        .as_ref()
        .and_then(|value| value["status"]["availableReplicas"].as_u64());
    usize::try_from(count.unwrap_or(0)).unwrap_or(0)
}

fn admin() -> User {
    User {
        name: "ann".to_owned(),
        groups: vec!["system:masters".to_owned()],
        ..User::default()
    }
}

/// The memory the process has, in bytes.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<usize>().ok());
    kib.unwrap_or(0) * 1024
}

#[expect(
    clippy::print_stdout,
    reason = "figures are for whoever runs this by hand"
)]
fn report(line: &str) {
    println!("{line}");
}
