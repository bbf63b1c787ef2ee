//! ReplicaSet.

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
    replicas: Some(workload::replicas),
    revise: Some(workload::revise),
    aggregate: Some(|template, items| {
        let status = counters::current_status(template)?;
        counters::add_up(status, template, items, &COUNTERS).map(Some)
    }),
    reflect: Some(|observed| Ok(counters::reflect(observed, &COUNTERS)?.map(Value::Object))),
    is_healthy: Some(is_healthy),
    dependencies: Some(workload::dependencies),
    ..KindRules::of("apps/v1", "ReplicaSet")
};

const COUNTERS: [Counter; 3] = [
    required("replicas"),
    optional("readyReplicas"),
    optional("availableReplicas"),
];

/// All replicas are available. There is one generation of pods only, so none can be out of date.
fn is_healthy(observed: &Object) -> Result<bool, RuleError> {
    let root = Node::of(observed);
    if !workload::is_observed(root)? {
        return Ok(false);
    }
    let available = workload::status_count(root, "availableReplicas")?;
    let wanted = root.at(&["spec", "replicas"])?.integer()?;
    Ok(wanted.is_none_or(|wanted| available >= wanted))
}
