//! OpenKruise's workloads that are like Kubernetes' own: CloneSet, StatefulSet, DaemonSet, UnitedDeployment.

use api::{config::DependentObjectReference, work::v1alpha2::AggregatedStatusItem};
use object::{Object, Value};

use crate::{
    error::RuleError,
    native::{Options, daemon_set, workload},
    node::Node,
    pod,
    rules::Replicas,
    table::{KindRules, put},
    third_party::{
        conditions,
        fold::{Field, Fold, fold_observed, pick_observed},
    },
};

pub(super) const CLONE_SET: KindRules = KindRules {
    replicas: Some(workload::replicas),
    revise: Some(revise),
    aggregate: Some(|template, items| aggregate(template, items, &CLONE_SET_STATUS)),
    reflect: Some(|observed| reflect(observed, &CLONE_SET_STATUS, &[])),
    is_healthy: Some(workload::is_rolled_out),
    dependencies: Some(workload::dependencies),
    ..KindRules::of("apps.kruise.io/v1alpha1", "CloneSet")
};

pub(super) const STATEFUL_SET: KindRules = KindRules {
    replicas: Some(workload::replicas),
    revise: Some(revise),
    aggregate: Some(|template, items| aggregate(template, items, &STATEFUL_SET_STATUS)),
    reflect: Some(|observed| reflect(observed, &STATEFUL_SET_STATUS, &[])),
    is_healthy: Some(workload::is_rolled_out),
    dependencies: Some(workload::dependencies),
    ..KindRules::of("apps.kruise.io/v1beta1", "StatefulSet")
};

pub(super) const DAEMON_SET: KindRules = KindRules {
    aggregate: Some(|template, items| aggregate(template, items, &DAEMON_SET_STATUS)),
    reflect: Some(|observed| reflect(observed, &DAEMON_SET_STATUS, &[])),
    is_healthy: Some(daemon_set::is_healthy),
    dependencies: Some(workload::dependencies),
    ..KindRules::of("apps.kruise.io/v1alpha1", "DaemonSet")
};

pub(super) const UNITED_DEPLOYMENT: KindRules = KindRules {
    replicas: Some(united_replicas),
    revise: Some(revise),
    aggregate: Some(aggregate_united),
    reflect: Some(|observed| reflect(observed, &UNITED_DEPLOYMENT_STATUS, &["conditions"])),
    is_healthy: Some(workload::is_rolled_out),
    dependencies: Some(united_dependencies),
    ..KindRules::of("apps.kruise.io/v1alpha1", "UnitedDeployment")
};

const CLONE_SET_STATUS: [Field; 9] = [
    ("replicas", Fold::Sum),
    ("updatedReplicas", Fold::Sum),
    ("readyReplicas", Fold::Sum),
    ("availableReplicas", Fold::Sum),
    ("updatedReadyReplicas", Fold::Sum),
    ("expectedUpdatedReplicas", Fold::Sum),
    ("updateRevision", Fold::Last),
    ("currentRevision", Fold::Last),
    ("labelSelector", Fold::Last),
];

const STATEFUL_SET_STATUS: [Field; 8] = [
    ("replicas", Fold::Sum),
    ("readyReplicas", Fold::Sum),
    ("currentReplicas", Fold::Sum),
    ("updatedReplicas", Fold::Sum),
    ("availableReplicas", Fold::Sum),
    ("updatedReadyReplicas", Fold::Sum),
    ("updateRevision", Fold::Last),
    ("currentRevision", Fold::Last),
];

const DAEMON_SET_STATUS: [Field; 8] = [
    ("currentNumberScheduled", Fold::Sum),
    ("numberMisscheduled", Fold::Sum),
    ("desiredNumberScheduled", Fold::Sum),
    ("numberReady", Fold::Sum),
    ("updatedNumberScheduled", Fold::Sum),
    ("numberAvailable", Fold::Sum),
    ("numberUnavailable", Fold::Sum),
    ("daemonSetHash", Fold::Last),
];

const UNITED_DEPLOYMENT_STATUS: [Field; 5] = [
    ("replicas", Fold::Sum),
    ("updatedReplicas", Fold::Sum),
    ("readyReplicas", Fold::Sum),
    ("availableReplicas", Fold::Sum),
    ("unavailableReplicas", Fold::Sum),
];

/// Where a UnitedDeployment has the template of the workloads it makes. It has one of these.
const UNITED_TEMPLATES: [&str; 4] = [
    "statefulSetTemplate",
    "advancedStatefulSetTemplate",
    "cloneSetTemplate",
    "deploymentTemplate",
];

/// Sets the number of replicas, whether or not there was one: these kinds have no server that fills it in.
fn revise(mut template: Object, replicas: i32) -> Result<Object, RuleError> {
    put(&mut template, &["spec", "replicas"], replicas)?;
    Ok(template)
}

fn aggregate(
    template: &Object,
    items: &[AggregatedStatusItem],
    fields: &[Field],
) -> Result<Option<Value>, RuleError> {
    fold_observed(template, items, fields).map(|status| Some(Value::Object(status)))
}

fn reflect(
    observed: &Object,
    fields: &[Field],
    others: &[&str],
) -> Result<Option<Value>, RuleError> {
    let names = fields
        .iter()
        .map(|(name, _)| *name)
        .chain(others.iter().copied());
    pick_observed(observed, &names.collect::<Vec<_>>())
}

/// The sums, and of each type of condition the one that changed last.
fn aggregate_united(
    template: &Object,
    items: &[AggregatedStatusItem],
) -> Result<Option<Value>, RuleError> {
    let mut status = fold_observed(template, items, &UNITED_DEPLOYMENT_STATUS)?;
    let conditions = conditions::latest(items, "type", &["lastTransitionTime"])?;
    if !conditions.is_empty() {
        status.insert("conditions".to_owned(), Value::Array(conditions));
    }
    Ok(Some(Value::Object(status)))
}

fn united_replicas(template: &Object, options: Options) -> Result<Replicas, RuleError> {
    let root = Node::of(template);
    let count = root.at(&["spec", "replicas"])?.count()?;
    let requirements = on_united_pods(root, |spec| pod::requirements(spec, options))?;
    Ok(Replicas {
        replicas: count.unwrap_or_default(),
        requirements,
    })
}

fn united_dependencies(template: &Object) -> Result<Vec<DependentObjectReference>, RuleError> {
    on_united_pods(Node::of(template), |spec| {
        pod::references(spec, template.namespace())
    })
}

/// Asks about the pods of a UnitedDeployment, whose template is one level deeper than elsewhere.
/// Upstream: looks where other workloads have it, and so finds nothing.
fn on_united_pods<T>(
    root: Node<'_, '_>,
    ask: impl FnOnce(Node<'_, '_>) -> Result<T, RuleError>,
) -> Result<T, RuleError> {
    let template = root.at(&["spec", "template"])?;
    for name in UNITED_TEMPLATES {
        let path = [name, "spec", "template", "spec"];
        let spec = template.at(&path)?;
        if !spec.is_absent() {
            return ask(spec);
        }
    }
    ask(template.at(&["spec"])?)
}
