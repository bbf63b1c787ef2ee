//! `5,000 nodes and 20,000 pods`: what counting a large member costs in time and memory.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench tells what it measured, or stops"
)]

use std::time::Instant;

use api::cluster::ResourceModel;
use karavel_member::census::Census;
use object::{Object, Value};
use serde_json::json;

const NODES: usize = 5_000;
const PODS: usize = 20_000;

fn node(number: usize) -> Object {
    object(json!({
        "metadata": {"name": format!("node-{number:05}.member.example")},
        "status": {
            "allocatable": {"cpu": "15890m", "memory": "62Gi", "pods": "110", "ephemeral-storage": "95Gi"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }))
}

fn pod(number: usize, phase: &str) -> Object {
    object(json!({
        "metadata": {"name": format!("web-{number}"), "namespace": "shop", "uid": format!("00000000-0000-4000-8000-{number:012}")},
        "spec": {"nodeName": format!("node-{:05}.member.example", number % NODES), "containers": [
            {"name": "web", "resources": {"requests": {"cpu": "250m", "memory": "512Mi"}}},
            {"name": "log", "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}}}]},
        "status": {"phase": phase},
    }))
}

fn object(value: Value) -> Object {
    Object::from_value(value).unwrap()
}

/// Kibibytes of memory that the process holds.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or_default()
}

fn main() {
    let models: Vec<ResourceModel> = (0..9_u32)
        .map(|grade| {
            let min = if grade == 0 { 0 } else { 1_u64 << (grade - 1) };
            let range = |name: &str, unit: &str, min: u64| json!({"name": name, "min": format!("{min}{unit}"), "max": "1"});
            let ranges = [range("cpu", "", min), range("memory", "Gi", min * 4)];
            serde_json::from_value(json!({"grade": grade, "ranges": ranges})).unwrap()
        })
        .collect();
    let mut census = Census::new();
    let before = resident();
    let start = Instant::now();
    for number in 0..NODES {
        census.set_node(&node(number));
    }
    for number in 0..PODS {
        census.set_pod(&pod(number, "Running"));
    }
    println!(
        "fill, objects made and dropped on the way: {:?}, {} KiB more",
        start.elapsed(),
        resident().saturating_sub(before)
    );
    let pods: Vec<Object> = (0..PODS).map(|number| pod(number, "Succeeded")).collect();
    let start = Instant::now();
    for pod in &pods {
        census.set_pod(pod);
    }
    println!(
        "one change of every pod: {:?} each",
        start.elapsed() / u32::try_from(PODS).unwrap()
    );
    let start = Instant::now();
    let summary = census.resource_summary(&models);
    println!(
        "a summary with {} grades: {:?}",
        summary.allocatable_modelings.len(),
        start.elapsed()
    );
}
