//! Nodes without machines: they say that they are well, and their pods say that they run.
//!
//! A real control plane without kubelets would leave every pod pending; this posts what kubelets would.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};
use client::{
    CallError, Client, DeleteOptions, KubeconfigSource, ListOptions, PatchKind, WriteOptions,
};
use intent::Part;
use object::{Object, ObjectKey, ResourceType};
use serde_json::{Value, json};

/// How often nodes and pods are looked after. The controllers give a node up after forty seconds.
const ROUND: Duration = Duration::from_millis(500);

/// Nodes that are looked after until this is dropped.
pub(crate) struct Nodes {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Nodes {
    /// Adds nodes to a cluster and looks after them.
    pub(crate) fn start(kubeconfig: &Path, count: usize) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let source = KubeconfigSource::File {
            path: kubeconfig.to_owned(),
            context: None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let client = runtime.block_on(async {
            let client = Client::from_kubeconfig(&source).await.context("cannot reach the cluster")?;
            for index in 0..count {
                let node = literal(json!({
                    "apiVersion": "v1", "kind": "Node",
                    "metadata": {"name": format!("node-{index}"), "labels": {"kubernetes.io/hostname": format!("node-{index}")}},
                }));
                client.create(&nodes(), &node, &WriteOptions::by("outside")).await.context("cannot add a node")?;
            }
            anyhow::Ok(client)
        })?;
        let told = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                while !told.load(Ordering::Relaxed) {
                    // The server may be away for a moment; the next round tries again.
                    drop(look_after(&client).await);
                    tokio::time::sleep(ROUND).await;
                }
            });
        });
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

async fn look_after(client: &Client) -> Result<(), CallError> {
    let options = WriteOptions::by("outside");
    let now = now();
    let conditions: Vec<Value> = ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"]
        .map(|kind| {
            let status = if kind == "Ready" { "True" } else { "False" };
            json!({"type": kind, "status": status, "reason": "Fine", "message": "fine", "lastHeartbeatTime": now, "lastTransitionTime": now})
        })
        .into();
    let room = json!({"cpu": "8", "memory": "16Gi", "pods": "110"});
    let status =
        json!({"status": {"conditions": conditions, "capacity": room, "allocatable": room}});
    for node in client
        .list(&nodes(), "", &ListOptions::default())
        .await?
        .items
    {
        client
            .patch(
                &nodes(),
                &node.key(),
                PatchKind::Merge,
                &status,
                &Part::Status,
                &options,
            )
            .await?;
    }
    for pod in client
        .list(&pods(), "", &ListOptions::default())
        .await?
        .items
    {
        if pod.at(&["metadata", "deletionTimestamp"]).is_some() {
            let at_once = DeleteOptions {
                grace_seconds: Some(0),
                ..DeleteOptions::default()
            };
            client.delete(&pods(), &pod.key(), &at_once).await?;
        } else if pod.at(&["spec", "nodeName"]).is_some()
            && pod.at(&["status", "phase"]).and_then(Value::as_str) == Some("Pending")
        {
            run(client, &pod, &now, &options).await?;
        }
    }
    Ok(())
}

async fn run(
    client: &Client,
    pod: &Object,
    now: &str,
    options: &WriteOptions,
) -> Result<(), CallError> {
    let containers = pod
        .at(&["spec", "containers"])
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let statuses: Vec<Value> = containers
        .iter()
        .map(|container| {
            json!({
                "name": container["name"], "image": container["image"], "imageID": "", "ready": true, "started": true,
                "restartCount": 0, "state": {"running": {"startedAt": now}},
            })
        })
        .collect();
    let conditions = ["Initialized", "Ready", "ContainersReady", "PodScheduled"]
        .map(|kind| json!({"type": kind, "status": "True", "lastTransitionTime": now}));
    let status = json!({"status": {
        "phase": "Running", "podIP": "10.1.0.1", "hostIP": "10.2.0.1", "startTime": now, "conditions": conditions,
        "containerStatuses": statuses,
    }});
    let key: ObjectKey = pod.key();
    client
        .patch(
            &pods(),
            &key,
            PatchKind::Merge,
            &status,
            &Part::Status,
            options,
        )
        .await?;
    Ok(())
}

fn nodes() -> ResourceType {
    ResourceType::cluster("", "v1", "Node", "nodes")
}

fn pods() -> ResourceType {
    ResourceType::namespaced("", "v1", "Pod", "pods")
}

fn literal(value: Value) -> Object {
    Object::from_value(value).expect("invariant: a literal object")
}

fn now() -> String {
    runtime::Clock::system().now().to_string()
}
