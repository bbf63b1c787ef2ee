//! Ray's RayCluster and RayJob. A RayCluster is one head and groups of workers; the other kinds hold one.

use api::{
    config::DependentObjectReference,
    work::v1alpha2::{AggregatedStatusItem, Component},
};
use object::{
    Map, Object, Value,
    quantity::{Format, Quantity},
};

use crate::{
    error::RuleError,
    native::{Options, counters::current_status},
    node::Node,
    table::{KindRules, reported},
    third_party::{
        conditions,
        fold::{Field, Fold, fold, single},
        groups,
    },
};

pub(super) const CLUSTER: KindRules = KindRules {
    components: Some(|template, options| {
        cluster_components(Node::of(template).at(&["spec"])?, options)
    }),
    aggregate: Some(aggregate_cluster),
    is_healthy: Some(is_cluster_healthy),
    ..KindRules::of("ray.io/v1", "RayCluster")
};

pub(super) const JOB: KindRules = KindRules {
    components: Some(|template, options| {
        cluster_components(Node::of(template).at(&["spec", "rayClusterSpec"])?, options)
    }),
    aggregate: Some(aggregate_job),
    is_healthy: Some(is_job_healthy),
    dependencies: Some(job_references),
    ..KindRules::of("ray.io/v1", "RayJob")
};

const CLUSTER_STATUS: [Field; 10] = [
    ("readyWorkerReplicas", Fold::Sum),
    ("availableWorkerReplicas", Fold::Sum),
    ("maxWorkerReplicas", Fold::Sum),
    ("minWorkerReplicas", Fold::Sum),
    ("desiredWorkerReplicas", Fold::Sum),
    ("lastUpdateTime", Fold::Largest),
    ("endpoints", Fold::First),
    ("head", Fold::First),
    ("state", Fold::First),
    ("stateTransitionTimes", Fold::First),
];

/// What workers are meant to have, as amounts.
const CLUSTER_AMOUNTS: [&str; 4] = ["desiredCPU", "desiredMemory", "desiredGPU", "desiredTPU"];

const HEAD: [&str; 2] = ["headGroupSpec", "template"];

/// The head, and a component for each group of workers.
fn cluster_components(
    cluster: Node<'_, '_>,
    options: Options,
) -> Result<Vec<Component>, RuleError> {
    let mut components = Vec::new();
    let head = cluster.at(&HEAD)?;
    if !head.is_absent() {
        components.push(groups::component("ray-head", 1, head, options)?);
    }
    for (position, group) in cluster.at(&["workerGroupSpecs"])?.list()?.enumerate() {
        let name = match group.at(&["groupName"])?.text_or_empty()? {
            "" => format!("worker-{}", position + 1),
            name => name.to_owned(),
        };
        let replicas = groups::replicas(group.at(&["replicas"])?, 0)?;
        let pods = group.at(&["template"])?;
        components.push(groups::component(&name, replicas, pods, options)?);
    }
    Ok(components)
}

/// What the head and the workers refer to.
pub(super) fn cluster_references(
    cluster: Node<'_, '_>,
    namespace: &str,
) -> Result<Vec<DependentObjectReference>, RuleError> {
    let mut references = groups::references(cluster.at(&HEAD)?, namespace)?;
    for group in cluster.at(&["workerGroupSpecs"])?.list()? {
        references.extend(groups::references(group.at(&["template"])?, namespace)?);
    }
    Ok(references)
}

/// What the cluster's pods refer to, and the pod that submits the job.
fn job_references(template: &Object) -> Result<Vec<DependentObjectReference>, RuleError> {
    let root = Node::of(template);
    let spec = root.at(&["spec"])?;
    let namespace = template.namespace();
    let mut references = cluster_references(spec.at(&["rayClusterSpec"])?, namespace)?;
    let submitter = spec.at(&["submitterPodTemplate"])?;
    references.extend(groups::references(submitter, namespace)?);
    Ok(references)
}

fn is_cluster_healthy(observed: &Object) -> Result<bool, RuleError> {
    Ok(conditions::is_true(observed, "HeadPodReady")?
        && conditions::is_true(observed, "RayClusterProvisioned")?
        && !conditions::is_true(observed, "RayClusterReplicaFailure")?)
}

fn is_job_healthy(observed: &Object) -> Result<bool, RuleError> {
    let root = Node::of(observed);
    let status = root.at(&["status"])?;
    let deployment = status.at(&["jobDeploymentStatus"])?.text_or_empty()?;
    let job = status.at(&["jobStatus"])?.text_or_empty()?;
    Ok(deployment == "Running" || (deployment == "Complete" && job == "SUCCEEDED"))
}

fn aggregate_cluster(
    template: &Object,
    items: &[AggregatedStatusItem],
) -> Result<Option<Value>, RuleError> {
    if items.is_empty() {
        return Ok(None);
    }
    if let Some(status) = single(items) {
        return Ok(status);
    }
    let mut status = fold(current_status(template)?, items, &CLUSTER_STATUS)?;
    for name in CLUSTER_AMOUNTS {
        let path = [name];
        let mut sum = Quantity::from_units(0, Format::DecimalSI);
        for (_, member) in reported(items) {
            let field = member.at(&path)?;
            if field.text().is_ok_and(|text| text == Some("")) {
                continue;
            }
            sum += field.quantity()?.unwrap_or_default();
        }
        status.insert(name.to_owned(), sum.to_string().into());
    }
    put_conditions(&mut status, items)?;
    Ok(Some(Value::Object(status)))
}

/// Of several members, the state that should worry most is shown.
fn aggregate_job(
    template: &Object,
    items: &[AggregatedStatusItem],
) -> Result<Option<Value>, RuleError> {
    if items.is_empty() {
        return Ok(None);
    }
    if let Some(status) = single(items) {
        return Ok(status);
    }
    let mut status = current_status(template)?;
    for name in ["jobStatus", "jobDeploymentStatus", "reason", "message"] {
        status.shift_remove(name);
    }
    let mut worst_job: Option<u8> = None;
    let mut worst_deployment: Option<u8> = None;
    for (_, member) in reported(items) {
        let job = member.at(&["jobStatus"])?.text_or_empty()?;
        let worry = Some(job_worry(job));
        if !job.is_empty() && worry > worst_job {
            worst_job = worry;
            status.insert("jobStatus".to_owned(), job.into());
        }
        let Some(deployment) = member.at(&["jobDeploymentStatus"])?.text()? else {
            continue;
        };
        let worry = Some(deployment_worry(deployment));
        if worry > worst_deployment {
            worst_deployment = worry;
            status.insert("jobDeploymentStatus".to_owned(), deployment.into());
            // Why goes with what.
            for name in ["reason", "message"] {
                let path = [name];
                match member.at(&path)?.raw() {
                    Some(value) => status.insert(name.to_owned(), value.clone()),
                    None => status.shift_remove(name),
                };
            }
        }
    }
    Ok(Some(Value::Object(status)))
}

/// The conditions of all members, one after the other.
pub(super) fn put_conditions(
    status: &mut Map,
    items: &[AggregatedStatusItem],
) -> Result<(), RuleError> {
    let conditions = conditions::all(items)?;
    status.shift_remove("conditions");
    if !conditions.is_empty() {
        status.insert("conditions".to_owned(), Value::Array(conditions));
    }
    Ok(())
}

fn job_worry(status: &str) -> u8 {
    match status {
        "PENDING" => 1,
        "RUNNING" => 2,
        "SUCCEEDED" => 3,
        "STOPPED" => 4,
        "FAILED" => 5,
        _ => 0,
    }
}

fn deployment_worry(status: &str) -> u8 {
    match status {
        "Initializing" => 1,
        "Waiting" => 2,
        "Suspending" | "Suspended" => 3,
        "Retrying" => 4,
        "Running" => 5,
        "Complete" => 6,
        "ValidationFailed" => 7,
        "Failed" => 8,
        _ => 0,
    }
}
