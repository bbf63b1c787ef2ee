//! Kubeflow's training jobs: PyTorchJob, TFJob and MPIJob.

use api::{
    config::DependentObjectReference,
    work::v1alpha2::{AggregatedStatusItem, Component},
};
use object::{Map, Object, Value};

use crate::{
    error::RuleError,
    native::{Options, counters::current_status},
    node::Node,
    table::{KindRules, reported},
    third_party::{
        conditions::{has_true, holds, latest, made},
        fold::{Field, Fold, fold, pick, single},
        groups,
    },
};

pub(super) const PYTORCH_JOB: KindRules = KindRules {
    components: Some(|template, options| components(template, &PYTORCH, options)),
    aggregate: Some(|template, items| aggregate(template, items, &PYTORCH)),
    is_healthy: Some(is_healthy),
    dependencies: Some(|template| dependencies(template, &PYTORCH)),
    ..KindRules::of("kubeflow.org/v1", "PyTorchJob")
};

pub(super) const TF_JOB: KindRules = KindRules {
    components: Some(|template, options| components(template, &TENSORFLOW, options)),
    aggregate: Some(|template, items| aggregate(template, items, &TENSORFLOW)),
    is_healthy: Some(is_healthy),
    dependencies: Some(|template| dependencies(template, &TENSORFLOW)),
    ..KindRules::of("kubeflow.org/v1", "TFJob")
};

pub(super) const MPI_JOB: KindRules = KindRules {
    components: Some(mpi_components),
    aggregate: Some(aggregate_mpi),
    reflect: Some(|observed| pick(observed, &MPI_REFLECTED)),
    is_healthy: Some(is_healthy),
    ..KindRules::of("kubeflow.org/v2beta1", "MPIJob")
};

/// What is particular to a kind of job.
struct Job {
    kind: &'static str,
    /// The field with the roles of its pods.
    specs: &'static str,
    /// The roles, and what each is called as a component.
    roles: &'static [(&'static str, &'static str)],
    /// Whether the template also tells how the job began, and not only how it ended.
    tells_beginning: bool,
    /// The reason of a job that succeeded.
    success: &'static str,
}

const PYTORCH: Job = Job {
    kind: "PyTorchJob",
    specs: "pytorchReplicaSpecs",
    roles: &[("Master", "master"), ("Worker", "worker")],
    tells_beginning: true,
    success: "PyTorchJobSucceeded",
};

const TENSORFLOW: Job = Job {
    kind: "TFJob",
    specs: "tfReplicaSpecs",
    roles: &[
        ("PS", "ps"),
        ("Worker", "worker"),
        ("Chief", "chief"),
        ("Master", "master"),
        ("Evaluator", "evaluator"),
    ],
    tells_beginning: false,
    success: "Completed",
};

const TIMES: [Field; 3] = [
    ("startTime", Fold::Earliest),
    ("completionTime", Fold::Largest),
    ("lastReconcileTime", Fold::Largest),
];

const MPI_REFLECTED: [&str; 5] = [
    "startTime",
    "completionTime",
    "lastReconcileTime",
    "replicaStatuses",
    "conditions",
];

const COUNTS: [&str; 3] = ["active", "succeeded", "failed"];

fn components(template: &Object, job: &Job, options: Options) -> Result<Vec<Component>, RuleError> {
    let root = Node::of(template);
    let specs_path = ["spec", job.specs];
    let specs = root.at(&specs_path)?;
    let mut components = Vec::new();
    for (role, name) in job.roles {
        let path = [*role];
        let spec = specs.at(&path)?;
        if spec.is_absent() {
            continue;
        }
        let replicas = groups::replicas(spec.at(&["replicas"])?, 1)?;
        let pods = spec.at(&["template"])?;
        components.push(groups::component(name, replicas, pods, options)?);
    }
    Ok(components)
}

/// Roles are named by the user. Where nothing is said, there is one pod of a role, but no worker.
fn mpi_components(template: &Object, options: Options) -> Result<Vec<Component>, RuleError> {
    let root = Node::of(template);
    let specs = root.at(&["spec", "mpiReplicaSpecs"])?;
    let mut components = Vec::new();
    for (role, value) in specs.fields()?.into_iter().flatten() {
        let spec = specs.key(role, value);
        let pods = spec.at(&["template"])?;
        if pods.is_absent() {
            continue;
        }
        let default = i32::from(!role.eq_ignore_ascii_case("worker"));
        let replicas = groups::replicas(spec.at(&["replicas"])?, default)?;
        components.push(groups::component(role, replicas, pods, options)?);
    }
    // Upstream: in the order of a hash table, which changes from run to run.
    components.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(components)
}

fn dependencies(template: &Object, job: &Job) -> Result<Vec<DependentObjectReference>, RuleError> {
    let root = Node::of(template);
    let mut references = Vec::new();
    for (role, _) in job.roles {
        let path = ["spec", job.specs, role, "template"];
        references.extend(groups::references(root.at(&path)?, template.namespace())?);
    }
    Ok(references)
}

/// The operator has begun, and has not failed.
fn is_healthy(observed: &Object) -> Result<bool, RuleError> {
    let root = Node::of(observed);
    let status = root.at(&["status"])?;
    Ok(holds(status, |_| Ok(true))? && !has_true(status, "Failed")?)
}

/// Earliest start and latest end, pods by role, and what became of the job as a whole.
///
/// Upstream: a TFJob's conditions bear the time at which they were written, so that the status never settles.
fn aggregate(
    template: &Object,
    items: &[AggregatedStatusItem],
    job: &Job,
) -> Result<Option<Value>, RuleError> {
    let mut status = fold(current_status(template)?, items, &TIMES)?;
    status.shift_remove("replicaStatuses");
    status.shift_remove("conditions");
    if items.is_empty() {
        return Ok(Some(Value::Object(status)));
    }
    let roles: Vec<&str> = job.roles.iter().map(|(role, _)| *role).collect();
    put_roles(&mut status, items, &roles)?;
    let mut succeeded = 0;
    let mut failed = Vec::new();
    let mut is_created = false;
    let mut running = None;
    for (cluster, member) in reported(items) {
        if has_true(member, "Failed")? {
            failed.push(cluster);
        } else if has_true(member, "Succeeded")? {
            succeeded += 1;
        }
        is_created |= has_true(member, "Created")?;
        for condition in member.at(&["conditions"])?.list()? {
            if condition.at(&["type"])?.text_or_empty()? == "Running" {
                running = condition.fields()?;
            }
        }
    }
    let is_finished = !failed.is_empty() || succeeded == items.len();
    let kind = job.kind;
    let at = |field: &str| {
        let time = status.get(field);
        [("lastUpdateTime", time), ("lastTransitionTime", time)]
    };
    // Tables show the last condition, so the order is that of a job's life.
    let mut conditions = Vec::new();
    if is_created && job.tells_beginning {
        let (reason, message) = (format!("{kind}Created"), format!("{kind} was created"));
        conditions.push(made("Created", "True", &reason, message, &at("startTime")));
    }
    if let Some(seen) = running
        && job.tells_beginning
    {
        let holds = if is_finished { "False" } else { "True" };
        let (reason, message) = (format!("{kind}Running"), format!("{kind} is running"));
        let times = ["lastUpdateTime", "lastTransitionTime"].map(|name| (name, seen.get(name)));
        conditions.push(made("Running", holds, &reason, message, &times));
    }
    if !failed.is_empty() {
        let message = format!("{kind} failed in these clusters: {}", failed.join(", "));
        let reason = format!("{kind}Failed");
        conditions.push(made(
            "Failed",
            "True",
            &reason,
            message,
            &at("completionTime"),
        ));
    } else if is_finished {
        let message = format!("{kind} is complete");
        conditions.push(made(
            "Succeeded",
            "True",
            job.success,
            message,
            &at("completionTime"),
        ));
    }
    // A job is complete when it is everywhere.
    if succeeded != items.len() {
        status.shift_remove("completionTime");
    }
    if !conditions.is_empty() {
        status.insert("conditions".to_owned(), Value::Array(conditions));
    }
    Ok(Some(Value::Object(status)))
}

fn aggregate_mpi(_: &Object, items: &[AggregatedStatusItem]) -> Result<Option<Value>, RuleError> {
    if items.is_empty() {
        return Ok(None);
    }
    if let Some(status) = single(items) {
        return Ok(status);
    }
    let mut status = fold(Map::new(), items, &TIMES)?;
    let mut roles = Vec::new();
    for (_, member) in reported(items) {
        let names = member.at(&["replicaStatuses"])?.fields()?;
        roles.extend(names.into_iter().flatten().map(|(role, _)| role.as_str()));
    }
    roles.sort_unstable();
    roles.dedup();
    put_roles(&mut status, items, &roles)?;
    let conditions = latest(items, "type", &["lastUpdateTime", "lastTransitionTime"])?;
    if !conditions.is_empty() {
        status.insert("conditions".to_owned(), Value::Array(conditions));
    }
    Ok(Some(Value::Object(status)))
}

/// The pods of all members by role; what is nothing is left out.
fn put_roles(
    status: &mut Map,
    items: &[AggregatedStatusItem],
    roles: &[&str],
) -> Result<(), RuleError> {
    let mut all = Map::new();
    for role in roles {
        let mut counts = Map::new();
        for name in COUNTS {
            let path = ["replicaStatuses", role, name];
            let mut sum = 0_i64;
            for (_, member) in reported(items) {
                let count = member.at(&path)?.integer()?;
                sum = sum.saturating_add(count.unwrap_or_default());
            }
            if sum != 0 {
                counts.insert(name.to_owned(), Value::from(sum));
            }
        }
        if !counts.is_empty() {
            all.insert((*role).to_owned(), Value::Object(counts));
        }
    }
    if !all.is_empty() {
        status.insert("replicaStatuses".to_owned(), Value::Object(all));
    }
    Ok(())
}
