//! Spark's SparkApplication.

use api::work::v1alpha2::{
    AggregatedStatusItem, Component, ComponentReplicaRequirements, NodeClaim,
};
use object::{
    Object, Value, parse,
    quantity::{Format, Quantity},
};

use crate::{
    error::RuleError,
    native::{Options, counters::current_status},
    node::Node,
    table::{KindRules, reported},
    third_party::{
        fold::{Field, Fold, fold, pick, single},
        groups, memory,
    },
};

pub(super) const RULES: KindRules = KindRules {
    components: Some(components),
    aggregate: Some(aggregate),
    reflect: Some(|observed| pick(observed, &REFLECTED)),
    is_healthy: Some(is_healthy),
    ..KindRules::of("sparkoperator.k8s.io/v1beta2", "SparkApplication")
};

const REFLECTED: [&str; 9] = [
    "applicationState",
    "driverInfo",
    "executorState",
    "sparkApplicationId",
    "lastSubmissionAttemptTime",
    "submissionAttempts",
    "executionAttempts",
    "submissionID",
    "terminationTime",
];

const STATUS: [Field; 5] = [
    ("executionAttempts", Fold::Sum),
    ("executorState", Fold::Union),
    ("submissionAttempts", Fold::Sum),
    ("lastSubmissionAttemptTime", Fold::Largest),
    ("terminationTime", Fold::Largest),
];

/// What a program needs beside the memory it was given, at least: 384 MiB.
const LEAST_OVERHEAD: f64 = 384.0 * 1024.0 * 1024.0;

/// The same as a share of that memory, for programs that run in the Java machine alone, and for others.
const JAVA_OVERHEAD: f64 = 0.1;
const OTHER_OVERHEAD: f64 = 0.4;

/// What a program is given that asks for nothing.
const DEFAULT_MEMORY: f64 = 1024.0 * 1024.0 * 1024.0;

/// Of several members, the state that should worry most is shown.
fn worry(state: &str) -> u8 {
    match state {
        "SUBMITTED" | "PENDING_RERUN" => 1,
        "COMPLETED" => 2,
        "SUSPENDING" | "SUSPENDED" => 3,
        "RUNNING" | "RESUMING" | "SUCCEEDING" => 4,
        "INVALIDATING" => 5,
        "FAILING" | "FAILED" | "SUBMISSION_FAILED" => 6,
        _ => 0,
    }
}

fn is_healthy(observed: &Object) -> Result<bool, RuleError> {
    let root = Node::of(observed);
    let state = root.at(&["status", "applicationState", "state"])?;
    Ok(state.text()?.is_some_and(|state| state != "FAILED"))
}

fn aggregate(
    template: &Object,
    items: &[AggregatedStatusItem],
) -> Result<Option<Value>, RuleError> {
    if items.is_empty() {
        return Ok(None);
    }
    if let Some(status) = single(items) {
        return Ok(status);
    }
    let mut status = fold(current_status(template)?, items, &STATUS)?;
    let mut worst: Option<(u8, &Value)> = None;
    for (_, member) in reported(items) {
        let state = member.at(&["applicationState"])?;
        let worry = worry(state.at(&["state"])?.text_or_empty()?);
        if let Some(value) = state.raw()
            && worst.is_none_or(|(before, _)| worry > before)
        {
            worst = Some((worry, value));
        }
    }
    status.shift_remove("applicationState");
    if let Some((_, state)) = worst {
        status.insert("applicationState".to_owned(), state.clone());
    }
    Ok(Some(Value::Object(status)))
}

/// One driver, and as many executors as it starts with.
fn components(template: &Object, _: Options) -> Result<Vec<Component>, RuleError> {
    let root = Node::of(template);
    let spec = root.at(&["spec"])?;
    let executor = spec.at(&["executor"])?;
    let mut executors = groups::replicas(executor.at(&["instances"])?, 1)?;
    let dynamic = spec.at(&["dynamicAllocation"])?;
    if dynamic.at(&["enabled"])?.boolean()? == Some(true) {
        for name in ["initialExecutors", "minExecutors"] {
            let path = [name];
            executors = executors.max(groups::replicas(dynamic.at(&path)?, 1)?);
        }
    }
    let component = |name: &str, replicas, needs| Component {
        name: name.to_owned(),
        replicas,
        replica_requirements: Some(needs),
    };
    Ok(vec![
        component("driver", 1, needs(spec, spec.at(&["driver"])?)?),
        component("executor", executors, needs(spec, executor)?),
    ])
}

fn needs(
    spec: Node<'_, '_>,
    part: Node<'_, '_>,
) -> Result<ComponentReplicaRequirements, RuleError> {
    let mut needs = ComponentReplicaRequirements::default();
    let one = Quantity::from_units(1, Format::DecimalSI);
    let cores = part.at(&["cores"])?.quantity()?.unwrap_or(one);
    needs.resource_request.insert("cpu".to_owned(), cores);
    let own = memory::bytes(part.at(&["memory"])?)?.unwrap_or(DEFAULT_MEMORY);
    let overhead = match memory::bytes(part.at(&["memoryOverhead"])?)? {
        Some(overhead) => overhead,
        None => (own * overhead_share(spec)?).max(LEAST_OVERHEAD),
    };
    let total = memory::quantity(own + overhead);
    needs.resource_request.insert("memory".to_owned(), total);
    let accelerator = part.at(&["gpu", "name"])?.text_or_empty()?;
    let count = groups::replicas(part.at(&["gpu", "quantity"])?, 0)?;
    if !accelerator.is_empty() && count > 0 {
        let count = Quantity::from_units(count.into(), Format::DecimalSI);
        needs.resource_request.insert(accelerator.to_owned(), count);
    }
    let claim = NodeClaim {
        hard_node_affinity: part
            .at(&[
                "affinity",
                "nodeAffinity",
                "requiredDuringSchedulingIgnoredDuringExecution",
            ])?
            .read(parse::shape)?,
        node_selector: part
            .at(&["nodeSelector"])?
            .read(parse::shape)?
            .unwrap_or_default(),
        tolerations: part
            .at(&["tolerations"])?
            .read(parse::shape)?
            .unwrap_or_default(),
    };
    if claim != NodeClaim::default() {
        needs.node_claim = Some(claim);
    }
    needs.priority_class_name = part.at(&["priorityClassName"])?.text_or_empty()?.to_owned();
    Ok(needs)
}

/// The share of memory that a program needs beside it: what the user says, else by the sort of program.
fn overhead_share(spec: Node<'_, '_>) -> Result<f64, RuleError> {
    let field = spec.at(&["memoryOverheadFactor"])?;
    if let Some(share) = field.raw() {
        let number = match share {
            Value::String(text) => text.parse::<f64>().ok(),
            other => other.as_f64(),
        };
        return number
            .filter(|share| share.is_finite() && *share >= 0.0)
            .ok_or_else(|| field.wrong(format!("{share} is not a share")));
    }
    let language = spec.at(&["type"])?.text_or_empty()?;
    let is_java = ["java", "scala"]
        .iter()
        .any(|known| language.eq_ignore_ascii_case(known));
    Ok(if is_java {
        JAVA_OVERHEAD
    } else {
        OTHER_OVERHEAD
    })
}
