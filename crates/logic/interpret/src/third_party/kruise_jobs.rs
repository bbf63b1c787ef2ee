//! OpenKruise's jobs: AdvancedCronJob and BroadcastJob.

use api::{config::DependentObjectReference, work::v1alpha2::AggregatedStatusItem};
use object::{Object, Value};

use crate::{
    error::RuleError,
    native::{Options, counters::current_status, workload},
    node::Node,
    pod,
    rules::Replicas,
    table::{KindRules, put, reported},
    third_party::{
        conditions::{has_true, made},
        fold::{Field, Fold, fold, pick},
    },
};

pub(super) const ADVANCED_CRON_JOB: KindRules = KindRules {
    aggregate: Some(aggregate_cron),
    dependencies: Some(cron_dependencies),
    ..KindRules::of("apps.kruise.io/v1alpha1", "AdvancedCronJob")
};

pub(super) const BROADCAST_JOB: KindRules = KindRules {
    replicas: Some(replicas),
    revise: Some(revise),
    retain: Some(retain),
    aggregate: Some(aggregate_broadcast),
    reflect: Some(|observed| pick(observed, &REFLECTED)),
    is_healthy: Some(is_healthy),
    dependencies: Some(workload::dependencies),
    ..KindRules::of("apps.kruise.io/v1alpha1", "BroadcastJob")
};

const REFLECTED: [&str; 8] = [
    "conditions",
    "startTime",
    "completionTime",
    "active",
    "succeeded",
    "failed",
    "desired",
    "phase",
];

const BROADCAST_STATUS: [Field; 5] = [
    ("active", Fold::Sum),
    ("succeeded", Fold::Sum),
    ("failed", Fold::Sum),
    ("desired", Fold::Sum),
    ("phase", Fold::Last),
];

const PARALLELISM: [&str; 2] = ["spec", "parallelism"];
const TEMPLATE_LABELS: [&str; 4] = ["spec", "template", "metadata", "labels"];

fn replicas(template: &Object, options: Options) -> Result<Replicas, RuleError> {
    let root = Node::of(template);
    Ok(Replicas {
        replicas: root.at(&PARALLELISM)?.count()?.unwrap_or(1),
        requirements: pod::requirements(root.at(&workload::POD_SPEC)?, options)?,
    })
}

fn revise(mut template: Object, replicas: i32) -> Result<Object, RuleError> {
    put(&mut template, &PARALLELISM, replicas)?;
    Ok(template)
}

/// Keeps the labels that the operator gave the pods, because it finds them by these.
fn retain(mut desired: Object, observed: &Object) -> Result<Object, RuleError> {
    if let Some(labels) = Node::of(observed).at(&TEMPLATE_LABELS)?.raw() {
        put(&mut desired, &TEMPLATE_LABELS, labels.clone())?;
    }
    Ok(desired)
}

/// Something is to run, nothing failed, and something runs or ran.
fn is_healthy(observed: &Object) -> Result<bool, RuleError> {
    let root = Node::of(observed);
    let count = |name| workload::status_count(root, name);
    Ok(count("desired")? != 0
        && count("failed")? == 0
        && (count("succeeded")? != 0 || count("active")? != 0))
}

/// The sums, and whether the job as a whole failed or is complete.
fn aggregate_broadcast(
    template: &Object,
    items: &[AggregatedStatusItem],
) -> Result<Option<Value>, RuleError> {
    if items.is_empty() {
        return Ok(None);
    }
    let mut status = fold(current_status(template)?, items, &BROADCAST_STATUS)?;
    let mut completed = 0;
    let mut failed = Vec::new();
    for (cluster, member) in reported(items) {
        if has_true(member, "Failed")? {
            failed.push(cluster);
        } else if has_true(member, "Complete")? {
            completed += 1;
        }
    }
    let mut conditions = Vec::new();
    if !failed.is_empty() {
        let message = format!("Job failed in these clusters: {}", failed.join(", "));
        conditions.push(made("Failed", "True", "JobFailed", message, &[]));
    }
    if completed == items.len() {
        let message = "Job completed in all clusters".to_owned();
        conditions.push(made("Completed", "True", "Completed", message, &[]));
    }
    status.shift_remove("conditions");
    if !conditions.is_empty() {
        status.insert("conditions".to_owned(), Value::Array(conditions));
    }
    Ok(Some(Value::Object(status)))
}

/// The running jobs of all members, and when one was started last.
fn aggregate_cron(
    template: &Object,
    items: &[AggregatedStatusItem],
) -> Result<Option<Value>, RuleError> {
    if items.is_empty() {
        return Ok(None);
    }
    let fields = [("type", Fold::Last), ("lastScheduleTime", Fold::Largest)];
    let mut status = fold(current_status(template)?, items, &fields)?;
    let mut active = Vec::new();
    for (_, member) in reported(items) {
        let jobs = member.at(&["active"])?;
        active.extend(jobs.list()?.filter_map(|job| job.raw()).cloned());
    }
    status.shift_remove("active");
    if !active.is_empty() {
        status.insert("active".to_owned(), Value::Array(active));
    }
    Ok(Some(Value::Object(status)))
}

/// What the pods of either kind of job refer to.
fn cron_dependencies(template: &Object) -> Result<Vec<DependentObjectReference>, RuleError> {
    let root = Node::of(template);
    let mut references = Vec::new();
    for kind in ["jobTemplate", "broadcastJobTemplate"] {
        let path = ["spec", "template", kind, "spec", "template", "spec"];
        references.extend(pod::references(root.at(&path)?, template.namespace())?);
    }
    Ok(references)
}
