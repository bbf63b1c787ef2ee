//! OpenKruise's SidecarSet: containers that are put into other people's pods.

use api::{config::DependentObjectReference, work::v1alpha2::AggregatedStatusItem};
use object::{Map, Object, Value};

use crate::{
    error::RuleError,
    native::workload,
    node::Node,
    pod,
    rules::Replicas,
    table::KindRules,
    third_party::fold::{Field, Fold, fold},
};

pub(super) const RULES: KindRules = KindRules {
    // The pods are those of others, so it has none of its own.
    replicas: Some(|_, _| Ok(Replicas::default())),
    retain: Some(|desired, _| Ok(desired)),
    aggregate: Some(aggregate),
    reflect: Some(reflect),
    is_healthy: Some(is_healthy),
    dependencies: Some(dependencies),
    ..KindRules::of("apps.kruise.io/v1alpha1", "SidecarSet")
};

const STATUS: [Field; 3] = [
    ("matchedPods", Fold::Sum),
    ("updatedPods", Fold::Sum),
    ("readyPods", Fold::Sum),
];

fn aggregate(_: &Object, items: &[AggregatedStatusItem]) -> Result<Option<Value>, RuleError> {
    fold(Map::new(), items, &STATUS).map(|status| Some(Value::Object(status)))
}

fn reflect(observed: &Object) -> Result<Option<Value>, RuleError> {
    let root = Node::of(observed);
    if root.at(&["status"])?.fields()?.is_none() {
        return Ok(None);
    }
    let mut status = Map::new();
    for (name, _) in STATUS {
        let count = workload::status_count(root, name)?;
        status.insert(name.to_owned(), Value::from(count));
    }
    Ok(Some(Value::Object(status)))
}

/// All pods that match have the latest sidecar.
fn is_healthy(observed: &Object) -> Result<bool, RuleError> {
    let root = Node::of(observed);
    if root.at(&["status"])?.fields()?.is_none() {
        return Ok(false);
    }
    let matched = workload::status_count(root, "matchedPods")?;
    Ok(matched == 0 || workload::status_count(root, "updatedPods")? == matched)
}

/// Its spec has containers and volumes as a pod's has, and says in which namespace the pods are.
fn dependencies(template: &Object) -> Result<Vec<DependentObjectReference>, RuleError> {
    let root = Node::of(template);
    let spec = root.at(&["spec"])?;
    let namespace = match template.namespace() {
        "" => spec.at(&["namespace"])?.text_or_empty()?,
        namespace => namespace,
    };
    pod::references(spec, namespace)
}
