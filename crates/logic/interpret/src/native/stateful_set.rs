//! StatefulSet.

use std::collections::BTreeSet;

use api::config::DependentObjectReference;
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
    is_healthy: Some(workload::is_rolled_out),
    dependencies: Some(dependencies),
    ..KindRules::of("apps/v1", "StatefulSet")
};

const COUNTERS: [Counter; 5] = [
    required("replicas"),
    optional("readyReplicas"),
    optional("currentReplicas"),
    optional("updatedReplicas"),
    required("availableReplicas"),
];

/// What the pods refer to, without the claims that the set itself makes in each member.
fn dependencies(template: &Object) -> Result<Vec<DependentObjectReference>, RuleError> {
    let root = Node::of(template);
    let mut own = BTreeSet::new();
    for claim in root.at(&["spec", "volumeClaimTemplates"])?.list()? {
        own.insert(claim.at(&["metadata", "name"])?.text_or_empty()?);
    }
    let mut references = workload::dependencies(template)?;
    references.retain(|reference| {
        reference.kind != "PersistentVolumeClaim" || !own.contains(reference.name.as_str())
    });
    Ok(references)
}
