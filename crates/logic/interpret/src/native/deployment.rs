//! Deployment.

use api::well_known::labels;
use object::{Object, Value};

use crate::{
    error::RuleError,
    native::{
        KindRules,
        counters::{self, Counter, optional},
        put, workload,
    },
    node::Node,
};

pub(super) const RULES: KindRules = KindRules {
    replicas: Some(workload::replicas),
    revise: Some(workload::revise),
    retain: Some(retain),
    aggregate: Some(|template, items| {
        let status = counters::current_status(template)?;
        counters::add_up(status, template, items, &COUNTERS).map(Some)
    }),
    reflect: Some(|observed| Ok(counters::reflect(observed, &COUNTERS)?.map(Value::Object))),
    is_healthy: Some(workload::is_rolled_out),
    dependencies: Some(workload::dependencies),
    ..KindRules::of("apps/v1", "Deployment")
};

const COUNTERS: [Counter; 5] = [
    optional("replicas"),
    optional("updatedReplicas"),
    optional("readyReplicas"),
    optional("availableReplicas"),
    optional("unavailableReplicas"),
];

/// Leaves the number of replicas to the member where the template's author asks for it, so that an autoscaler there
/// and the control plane do not undo each other's work.
fn retain(mut desired: Object, observed: &Object) -> Result<Object, RuleError> {
    if desired.label(labels::RETAIN_REPLICAS) != Some(labels::TRUE) {
        return Ok(desired);
    }
    let root = Node::of(observed);
    let replicas = root.at(&["spec", "replicas"])?;
    let Some(count) = replicas.integer()? else {
        return Err(replicas.wrong("is missing in the member, so it cannot be retained"));
    };
    put(&mut desired, &["spec", "replicas"], count)?;
    Ok(desired)
}
