//! Runs one scenario.

use std::time::Duration;

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::matching::has;
use crate::trace::Trace;

/// Runs a scenario on a runtime and a clock of its own.
pub(crate) fn run(text: &str) -> Result<(), String> {
    let scenario: Value = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(play(&scenario))
}

async fn play(scenario: &Value) -> Result<(), String> {
    if scenario["claim"].as_str().is_none_or(str::is_empty) {
        return Err("a scenario has a claim".to_owned());
    }
    let cluster = Cluster::open(&scenario["member"]).await;
    let mut traces: Vec<Trace> = list(&scenario["trace"])
        .iter()
        .map(|trace| Trace::begin(&cluster, trace))
        .collect();
    for (place, step) in list(&scenario["steps"]).iter().enumerate() {
        let fields = step.as_object().ok_or("a step is an object")?;
        for (name, value) in fields {
            settle(&cluster, &mut traces).await;
            perform(&cluster, &mut traces, name, value)
                .await
                .map_err(|why| {
                    format!(
                        "step {} ({name}) at {}: {why}",
                        place + 1,
                        cluster.elapsed()
                    )
                })?;
        }
    }
    settle(&cluster, &mut traces).await;
    let wrong: Vec<String> = traces
        .into_iter()
        .filter_map(|trace| trace.check().err())
        .collect();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(wrong.join("\n"))
}

async fn perform(
    cluster: &Cluster,
    traces: &mut [Trace],
    name: &str,
    value: &Value,
) -> Result<(), String> {
    match name {
        "apply" if value.is_array() => {
            for object in list(value) {
                cluster.apply(object).await?;
            }
            Ok(())
        }
        "apply" => cluster.apply(value).await,
        "patch" => cluster.patch(value).await,
        "delete" => cluster.delete(value).await,
        "call" => cluster.call(value).await,
        "fault" => cluster.fault(value),
        "restart" => cluster.restart(value.as_str() != Some("lose")).await,
        "after" => {
            let text = value.as_str().unwrap_or_default();
            let wait: object::duration::Duration =
                text.parse().map_err(|_| format!("{text} is no time"))?;
            let mut left = wait.to_wait();
            // Second by second, so that no trace loses its place while much happens.
            while !left.is_zero() {
                let part = left.min(Duration::from_secs(1));
                tokio::time::sleep(part).await;
                left -= part;
                settle(cluster, traces).await;
            }
            Ok(())
        }
        "see" => see(cluster, value),
        "count" => count(cluster, value),
        "event" => event(cluster, value),
        other => Err(format!("there is no step {other}")),
    }
}

/// Lets everything happen that is due now.
async fn settle(cluster: &Cluster, traces: &mut [Trace]) {
    // Virtual time moves only when nothing else can run, so a moment later everything due has been done.
    tokio::time::sleep(Duration::from_millis(1)).await;
    for trace in traces {
        trace.follow(cluster);
    }
}

fn see(cluster: &Cluster, wanted: &Value) -> Result<(), String> {
    let what = text(wanted, "what");
    let found = cluster.find(what);
    match (found, wanted["gone"].as_bool() == Some(true)) {
        (None, true) => Ok(()),
        (Some(object), true) => Err(format!("{what} is still there: {object}")),
        (None, false) => Err(format!("{what} is not there")),
        (Some(object), false) => has(&object, &wanted["has"]).map_err(|why| {
            let status = serde_json::to_string_pretty(&object["status"]).unwrap_or_default();
            format!("{what}: {why}\nits status: {status}")
        }),
    }
}

fn count(cluster: &Cluster, wanted: &Value) -> Result<(), String> {
    let of = text(wanted, "of");
    let all = cluster.list(of);
    let found: Vec<&Value> = all
        .iter()
        .filter(|object| has(object, &wanted["where"]).is_ok())
        .collect();
    if json!(found.len()) == wanted["is"] {
        return Ok(());
    }
    let shown: Vec<String> = all
        .iter()
        .map(|object| format!("{} {}", object["metadata"]["name"], object["status"]))
        .collect();
    Err(format!(
        "{} {of} instead of {}\n{}",
        found.len(),
        wanted["is"],
        shown.join("\n")
    ))
}

fn event(cluster: &Cluster, wanted: &Value) -> Result<(), String> {
    let events = cluster.list("events");
    let is_wanted = |event: &&Value| {
        let part = |name: &str, found: &Value| {
            wanted[name].is_null()
                || found
                    .as_str()
                    .is_some_and(|found| found.contains(text(wanted, name)))
        };
        part("about", &event["involvedObject"]["name"])
            && part("reason", &event["reason"])
            && part("message", &event["message"])
            && part("from", &event["source"]["component"])
            && (wanted["count"].is_null() || wanted["count"] == event["count"])
    };
    if events.iter().any(|event| is_wanted(&event)) {
        return Ok(());
    }
    let told: Vec<String> = events
        .iter()
        .map(|event| {
            format!(
                "{} {} {} ({})",
                event["involvedObject"]["name"], event["reason"], event["message"], event["count"]
            )
        })
        .collect();
    Err(format!("no such event among\n{}", told.join("\n")))
}

pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}
