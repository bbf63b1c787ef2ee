//! PodDisruptionBudget.

use api::work::v1alpha2::AggregatedStatusItem;
use object::{Map, Object, Value};

use crate::{
    error::RuleError,
    native::{
        KindRules,
        counters::{self, Counter, required},
        reported, workload,
    },
    node::Node,
};

pub(super) const RULES: KindRules = KindRules {
    aggregate: Some(aggregate),
    reflect: Some(reflect),
    is_healthy: Some(is_healthy),
    ..KindRules::of("policy/v1", "PodDisruptionBudget")
};

const COUNTERS: [Counter; 4] = [
    required("disruptionsAllowed"),
    required("currentHealthy"),
    required("desiredHealthy"),
    required("expectedPods"),
];

/// Pods whose eviction was granted and has not been seen yet, with the time it was granted.
const DISRUPTED: &str = "disruptedPods";

fn reflect(observed: &Object) -> Result<Option<Value>, RuleError> {
    let Some(mut reflected) = counters::reflect(observed, &COUNTERS)? else {
        return Ok(None);
    };
    let root = Node::of(observed);
    let disrupted = root.at(&["status", DISRUPTED])?;
    if let Some(pods) = disrupted.fields()?
        && !pods.is_empty()
    {
        reflected.insert(DISRUPTED.to_owned(), Value::Object(pods.clone()));
    }
    Ok(Some(Value::Object(reflected)))
}

/// Sums, and the disrupted pods of all members, told apart by their cluster.
fn aggregate(
    template: &Object,
    items: &[AggregatedStatusItem],
) -> Result<Option<Value>, RuleError> {
    let mut pods = Map::new();
    for (cluster, status) in reported(items) {
        let disrupted = status.at(&[DISRUPTED])?;
        for (pod, time) in disrupted.fields()?.into_iter().flatten() {
            pods.insert(format!("{cluster}/{pod}"), time.clone());
        }
    }
    let mut status = Map::new();
    if !pods.is_empty() {
        status.insert(DISRUPTED.to_owned(), Value::Object(pods));
    }
    counters::add_up(status, template, items, &COUNTERS).map(Some)
}

/// As many pods are healthy as must be.
fn is_healthy(observed: &Object) -> Result<bool, RuleError> {
    let root = Node::of(observed);
    let current = workload::status_count(root, "currentHealthy")?;
    Ok(current >= workload::status_count(root, "desiredHealthy")?)
}
