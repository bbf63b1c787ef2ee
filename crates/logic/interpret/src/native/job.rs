//! Job.

use object::{Map, Object, Value};

use crate::{
    error::RuleError,
    native::{KindRules, Options, job_status, put, workload},
    node::Node,
    pod,
    rules::Replicas,
};

pub(super) const RULES: KindRules = KindRules {
    replicas: Some(replicas),
    revise: Some(|template, replicas| workload::revise_at(template, &PARALLELISM, replicas)),
    retain: Some(retain),
    aggregate: Some(job_status::aggregate),
    reflect: Some(reflect),
    dependencies: Some(workload::dependencies),
    ..KindRules::of("batch/v1", "Job")
};

const PARALLELISM: [&str; 2] = ["spec", "parallelism"];

/// What is carried back, as far as it is there.
const REFLECTED: [&str; 6] = [
    "conditions",
    "startTime",
    "completionTime",
    "active",
    "succeeded",
    "failed",
];

/// As many as run at once, and no more than are to complete.
fn replicas(template: &Object, options: Options) -> Result<Replicas, RuleError> {
    let root = Node::of(template);
    let parallelism = root.at(&PARALLELISM)?.count()?.unwrap_or_default();
    let completions = root.at(&["spec", "completions"])?.count()?;
    Ok(Replicas {
        replicas: parallelism.min(completions.unwrap_or(parallelism)),
        requirements: pod::requirements(root.at(&workload::POD_SPEC)?, options)?,
    })
}

/// The member gives every job a selector and labels of its own, and never lets them change.
fn retain(mut desired: Object, observed: &Object) -> Result<Object, RuleError> {
    let root = Node::of(observed);
    for path in [
        &["spec", "selector", "matchLabels"][..],
        &["spec", "template", "metadata", "labels"],
    ] {
        if let Some(labels) = root.at(path)?.fields()? {
            put(&mut desired, path, Value::Object(labels.clone()))?;
        }
    }
    Ok(desired)
}

fn reflect(observed: &Object) -> Result<Option<Value>, RuleError> {
    let root = Node::of(observed);
    let status = root.at(&["status"])?;
    let Some(fields) = status.fields()? else {
        return Ok(None);
    };
    let reflected = REFLECTED.into_iter().filter_map(|name| {
        let value = fields.get(name).filter(|value| !is_empty(value))?;
        Some((name.to_owned(), value.clone()))
    });
    Ok(Some(Value::Object(Map::from_iter(reflected))))
}

/// Whether the API leaves the value out.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        value => value.as_i64() == Some(0),
    }
}
