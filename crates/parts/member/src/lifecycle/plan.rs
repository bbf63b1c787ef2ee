//! What a cluster needs around it, and in which order that goes when the cluster goes.

use std::time::Duration;

use api::{
    cluster::Cluster,
    names::execution_space,
    well_known::{
        annotations::{CLUSTER_RESOURCE_BINDING_NAME, RESOURCE_BINDING_NAME},
        conditions::cluster::READY,
        events::cluster::{
            CREATE_EXECUTION_SPACE_SUCCEED, REMOVE_EXECUTION_SPACE_SUCCEED, TAINT_CLUSTER_SUCCEED,
        },
        finalizers,
        labels::{SYSTEM, TRUE},
    },
    work::v1alpha1::Work,
};
use intent::{Action, EventKind, ObjectRef, Part, Plan, Wake};
use object::{Map, Object, ObjectKey, Value, condition, time::Time};

use crate::join::remains::{brought, doubtful, some_of};
use crate::lifecycle::taints::{describe, taints_by_condition};
use crate::resources;

/// How long to wait before looking again at a cluster that is going.
const RECHECK: Duration = Duration::from_secs(10);

/// How long to wait before looking again whether bindings have left a cluster that is going.
const AWAITING: Duration = Duration::from_secs(1);

/// The reason of the event that says what stays in a member when its cluster goes.
const LEAVE_RESOURCES_BEHIND: &str = "LeaveResourcesBehind";

/// The reason of the event that says which bindings hold a cluster that is to go.
const WAIT_FOR_BINDINGS: &str = "WaitForBindings";

/// Everything the decision may look at.
pub(super) struct Inputs<'a> {
    /// The cluster as it is stored.
    pub(super) object: &'a Object,
    /// The same, read.
    pub(super) cluster: &'a Cluster,
    /// Its execution namespace, if there is one.
    pub(super) namespace: Option<&'a Object>,
    /// The works in it; looked at only when the cluster goes.
    pub(super) works: &'a [&'a Object],
    /// The bindings that name the cluster as a target; `None` while not all bindings are known.
    pub(super) targeted_by: Option<&'a [String]>,
    pub(super) now: Time,
}

/// What is to be done for one cluster.
pub(super) fn plan(inputs: &Inputs<'_>) -> Plan {
    if inputs.object.is_terminating() {
        return removal(inputs);
    }
    let mut plan = Plan::default();
    let about = || ObjectRef::of(inputs.object);
    let name = execution_space(inputs.object.name());
    match inputs.namespace {
        None => {
            plan.push(Action::Create {
                resource: resources::namespaces(),
                object: namespace(&name),
            });
            plan.push(Action::report(
                about(),
                EventKind::Normal,
                CREATE_EXECUTION_SPACE_SUCCEED,
                format!("created the execution namespace {name}"),
            ));
        }
        // Left from a cluster of the same name: nothing can be put into it, so the new one begins when it is gone.
        Some(namespace) if namespace.is_terminating() => {
            plan.problem(name, "the execution namespace is still being deleted");
            plan.wake = Wake::After(RECHECK);
        }
        Some(_) => {}
    }
    let mut patch = Map::new();
    let taints = taints_by_condition(inputs.cluster, inputs.now);
    if let Some(taints) = &taints {
        patch.insert("spec".to_owned(), serde_json::json!({ "taints": taints }));
    }
    if inputs
        .object
        .finalizers()
        .all(|name| name != finalizers::CLUSTER)
    {
        let all = inputs.object.finalizers().chain([finalizers::CLUSTER]);
        patch.insert("metadata".to_owned(), finalizers_patch(all));
    }
    if !patch.is_empty() {
        let resource = resources::of::<Cluster>();
        let patch = Value::Object(patch);
        plan.push(Action::patch(resource, inputs.object, patch, Part::Object));
    }
    if let Some(taints) = taints {
        let message = describe(&taints);
        let reason = TAINT_CLUSTER_SUCCEED;
        plan.push(Action::report(about(), EventKind::Normal, reason, message));
    }
    plan
}

/// First the works of bindings, unless that takes longer than usual; then the namespace and what else is in it; then the
/// bindings' targets; then the cluster itself.
fn removal(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    if inputs
        .object
        .finalizers()
        .all(|name| name != finalizers::CLUSTER)
    {
        return plan;
    }
    plan.wake = Wake::After(RECHECK);
    if let Some(namespace) = inputs.namespace {
        if !namespace.is_terminating() && is_being_left(inputs) && !is_overdue(inputs) {
            let waiting = "waiting for bindings to leave the cluster and take their works back";
            plan.problem(inputs.object.name(), waiting);
            plan.wake = Wake::After(AWAITING);
            return plan;
        }
        release_works(inputs, &mut plan);
        if !namespace.is_terminating() {
            let cause = format!("cluster {} is being removed", inputs.object.name());
            plan.push(Action::delete(resources::namespaces(), namespace, cause));
            plan.push(Action::report(
                ObjectRef::of(inputs.object),
                EventKind::Normal,
                REMOVE_EXECUTION_SPACE_SUCCEED,
                format!(
                    "asked for the deletion of the execution namespace {}",
                    namespace.name()
                ),
            ));
        }
        return plan;
    }
    match inputs.targeted_by {
        // The scheduler moves them away, or empties their targets.
        Some([]) => {}
        Some(bindings) => {
            let waiting = format!(
                "waiting for {} bindings that still name the cluster as a target",
                bindings.len()
            );
            if is_overdue(inputs) {
                plan.push(Action::report(
                    ObjectRef::of(inputs.object),
                    EventKind::Warning,
                    WAIT_FOR_BINDINGS,
                    format!("{waiting}: {}", some_of(bindings)),
                ));
            }
            plan.problem(inputs.object.name(), waiting);
            return plan;
        }
        None => {
            plan.problem(
                inputs.object.name(),
                "waiting for a complete view of the bindings",
            );
            return plan;
        }
    }
    plan.wake = Wake::OnChange;
    let rest = inputs
        .object
        .finalizers()
        .filter(|name| *name != finalizers::CLUSTER);
    let mut patch = Map::new();
    patch.insert("metadata".to_owned(), finalizers_patch(rest));
    plan.push(Action::patch(
        resources::of::<Cluster>(),
        inputs.object,
        Value::Object(patch),
        Part::Object,
    ));
    plan
}

/// Whether there are bindings that have not left the cluster yet, or works of theirs. A binding that leaves tells its works
/// whether their copies stay before they go; those that go with their namespace go with what they said last.
fn is_being_left(inputs: &Inputs<'_>) -> bool {
    let is_of_binding = |work: &Object| {
        let names = [RESOURCE_BINDING_NAME, CLUSTER_RESOURCE_BINDING_NAME];
        names.iter().any(|name| work.annotation(name).is_some())
    };
    let mut works = inputs.works.iter();
    inputs
        .targeted_by
        .is_none_or(|bindings| !bindings.is_empty())
        || works.any(|work| !work.is_terminating() && is_of_binding(work))
}

/// Whether the cluster has been going for longer than the scheduler usually takes to move bindings away.
fn is_overdue(inputs: &Inputs<'_>) -> bool {
    let since = inputs.cluster.metadata.deletion_timestamp;
    since.is_some_and(|since| inputs.now.since(since).to_wait() >= RECHECK)
}

/// Lets go of works whose objects nobody can delete, because the member does not answer. What they made stays there, and
/// an event says so.
///
/// Invariant: only for a cluster that is going and is not ready. Otherwise whoever faces the member deletes first.
fn release_works(inputs: &Inputs<'_>, plan: &mut Plan) {
    if condition::is_true(&inputs.cluster.status.conditions, READY) {
        return;
    }
    let (mut left, mut unheard_of) = (0_usize, 0_usize);
    for work in inputs.works {
        if work.finalizers().all(|name| name != finalizers::EXECUTION) {
            continue;
        }
        left += brought(work).len();
        unheard_of += doubtful(work, inputs.object).len();
        let rest = work
            .finalizers()
            .filter(|name| *name != finalizers::EXECUTION);
        let mut patch = Map::new();
        patch.insert("metadata".to_owned(), finalizers_patch(rest));
        let patch = Value::Object(patch);
        plan.push(Action::patch(
            resources::of::<Work>(),
            work,
            patch,
            Part::Object,
        ));
    }
    if left + unheard_of == 0 {
        return;
    }
    let doubt = match unheard_of {
        0 => String::new(),
        count => format!("; {count} more may be there, since nobody heard what became of them"),
    };
    plan.push(Action::report(
        ObjectRef::of(inputs.object),
        EventKind::Warning,
        LEAVE_RESOURCES_BEHIND,
        format!(
            "the cluster is not ready: {left} objects stay in it and are no longer managed{doubt}"
        ),
    ));
}

fn namespace(name: &str) -> Object {
    let mut namespace = Object::new(&resources::namespaces().kind, &ObjectKey::cluster(name));
    namespace
        .set(&["metadata", "labels", SYSTEM], TRUE)
        .expect("invariant: a new object has no metadata in the way");
    namespace
}

fn finalizers_patch<'a>(finalizers: impl Iterator<Item = &'a str>) -> Value {
    let finalizers: Vec<&str> = finalizers.collect();
    serde_json::json!({ "finalizers": finalizers })
}
