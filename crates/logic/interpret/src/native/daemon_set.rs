//! DaemonSet.

use object::{Object, Value};

use crate::{
    error::RuleError,
    native::{
        KindRules,
        counters::{self, Counter, optional, required},
        workload,
    },
    node::Node,
};

pub(super) const RULES: KindRules = KindRules {
    aggregate: Some(|template, items| {
        let status = counters::current_status(template)?;
        counters::add_up(status, template, items, &COUNTERS).map(Some)
    }),
    reflect: Some(|observed| Ok(counters::reflect(observed, &COUNTERS)?.map(Value::Object))),
    is_healthy: Some(is_healthy),
    dependencies: Some(workload::dependencies),
    ..KindRules::of("apps/v1", "DaemonSet")
};

const COUNTERS: [Counter; 7] = [
    required("currentNumberScheduled"),
    required("numberMisscheduled"),
    required("desiredNumberScheduled"),
    required("numberReady"),
    optional("updatedNumberScheduled"),
    optional("numberAvailable"),
    optional("numberUnavailable"),
];

/// Every node that should have one runs the latest pod, and it is available.
pub(crate) fn is_healthy(observed: &Object) -> Result<bool, RuleError> {
    let root = Node::of(observed);
    if !workload::is_observed(root)? {
        return Ok(false);
    }
    let updated = workload::status_count(root, "updatedNumberScheduled")?;
    Ok(
        updated >= workload::status_count(root, "desiredNumberScheduled")?
            && workload::status_count(root, "numberAvailable")? >= updated,
    )
}
