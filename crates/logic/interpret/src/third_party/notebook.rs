//! Kubeflow's Notebook.

use api::work::v1alpha2::AggregatedStatusItem;
use object::{Map, Object, Value};

use crate::{
    error::RuleError,
    native::{Options, workload},
    node::Node,
    pod,
    rules::Replicas,
    table::{KindRules, reported},
    third_party::{
        conditions::made,
        fold::{Fold, fold, is_empty, pick, single},
    },
};

pub(super) const RULES: KindRules = KindRules {
    replicas: Some(replicas),
    aggregate: Some(aggregate),
    reflect: Some(|observed| pick(observed, &["readyReplicas", "containerState", "conditions"])),
    is_healthy: Some(is_healthy),
    ..KindRules::of("kubeflow.org/v1", "Notebook")
};

/// A notebook is one pod.
fn replicas(template: &Object, options: Options) -> Result<Replicas, RuleError> {
    let root = Node::of(template);
    Ok(Replicas {
        replicas: 1,
        requirements: pod::requirements(root.at(&workload::POD_SPEC)?, options)?,
    })
}

/// It runs, is about to, or ended well.
fn is_healthy(observed: &Object) -> Result<bool, RuleError> {
    let root = Node::of(observed);
    let state = root.at(&["status", "containerState"])?;
    if !state.at(&["running"])?.is_absent() {
        return Ok(true);
    }
    let waiting = state.at(&["waiting"])?;
    if !waiting.is_absent() {
        return Ok(waiting.at(&["reason"])?.text_or_empty()? == "ContainerCreating");
    }
    let ended = state.at(&["terminated"])?;
    let reason = ended.at(&["reason"])?;
    let code = ended.at(&["exitCode"])?.integer()?.unwrap_or_default();
    let is_bad = matches!(
        reason.text_or_empty()?,
        "Error" | "OOMKilled" | "ContainerCannotRun"
    );
    Ok(!ended.is_absent() && !is_bad && code == 0)
}

/// The notebook as a whole runs if it runs everywhere; otherwise the state that is in its way is shown.
fn aggregate(_: &Object, items: &[AggregatedStatusItem]) -> Result<Option<Value>, RuleError> {
    if items.is_empty() {
        return Ok(None);
    }
    if let Some(status) = single(items) {
        return Ok(status);
    }
    let mut status = fold(Map::new(), items, &[("readyReplicas", Fold::Sum)])?;
    let mut failed = Vec::new();
    let mut obstacle = None;
    let mut running: Option<(&str, &Value)> = None;
    let mut ready = 0;
    for (cluster, member) in reported(items) {
        let state = member.at(&["containerState"])?;
        let started = state.at(&["running"])?;
        if started.is_absent() {
            failed.push(cluster);
            obstacle = Some(state.raw().filter(|state| !is_empty(state)).cloned());
            continue;
        }
        ready += 1;
        let since = started.at(&["startedAt"])?.text_or_empty()?;
        if let Some(state) = state.raw()
            && running.is_none_or(|(latest, _)| since > latest)
        {
            running = Some((since, state));
        }
    }
    let mut conditions = Vec::new();
    if !failed.is_empty() {
        let message = format!(
            "Notebook does not run in these clusters: {}",
            failed.join(", ")
        );
        conditions.push(made("Failed", "True", "NotebookFailed", message, &[]));
    }
    if ready == items.len() {
        let message = "Notebook runs in all clusters".to_owned();
        conditions.push(made("Ready", "True", "Ready", message, &[]));
    }
    let state = match obstacle {
        Some(Some(state)) => Some(state),
        // A pod without a container is one that no node takes.
        Some(None) => Some(serde_json::json!({"waiting": {"reason": "Unschedulable"}})),
        None => running.map(|(_, state)| state.clone()),
    };
    if let Some(state) = state {
        status.insert("containerState".to_owned(), state);
    }
    if !conditions.is_empty() {
        status.insert("conditions".to_owned(), Value::Array(conditions));
    }
    Ok(Some(Value::Object(status)))
}
