//! Works that go, and what they say before they do.
//!
//! A member deletes what a work made unless the work says that it stays, and nothing that is said later brings it back.
//! Who wants a cluster to keep its copy may say so in the very change by which the cluster is left, and then nobody may
//! have written it to the work yet: what is seen of a binding skips states, and a policy may not be in its binding so far.
//! So a work is told right before it goes, in the same plan: where it cannot be told, it stays.

use api::{names, work::v1alpha1::Work};
use binding::{targets, work};
use intent::{Action, Part, Plan};
use object::{Object, ObjectKey};
use serde_json::json;

use super::plan::{Inputs, Works, live};
use crate::{binding_view, kinds};

/// Deletes the works of a binding that is going, then lets it go.
pub(super) fn release(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    if !inputs.works.are_all {
        return plan;
    }
    let cause = format!("its binding {} is being deleted", inputs.view.key());
    for work in live(&inputs.works.owned) {
        plan.extend(withdraw(inputs, work, &cause));
    }
    let finalizer = inputs.view.finalizer();
    if inputs.binding.finalizers().any(|found| found == finalizer) {
        let rest: Vec<&str> = inputs
            .binding
            .finalizers()
            .filter(|found| *found != finalizer)
            .collect();
        plan.push(Action::patch(
            binding_view::resource(inputs.binding.namespace()),
            inputs.binding,
            json!({"metadata": {"finalizers": rest}}),
            Part::Object,
        ));
    }
    plan
}

/// Deletes the works that no cluster of the binding accounts for, each whatever becomes of the others.
pub(super) fn remove_orphans(inputs: &Inputs<'_>) -> Vec<Plan> {
    if !inputs.works.are_all {
        return Vec::new();
    }
    let expected = targets::expected(inputs.view.spec);
    let mut plans = Vec::new();
    for work in live(&inputs.works.owned) {
        let cluster = names::cluster_of_execution_space(work.namespace());
        if cluster.is_some_and(|cluster| expected.contains(cluster)) {
            continue;
        }
        let cause = format!(
            "cluster {} is not among those of binding {}",
            cluster.unwrap_or(work.namespace()),
            inputs.view.key()
        );
        let mut plan = Plan::default();
        plan.extend(withdraw(inputs, work, &cause));
        plans.push(plan);
    }
    plans
}

/// What is to be done about works whose binding is not there, although all bindings are in view. Nobody is left to say
/// anything else than they do.
#[must_use]
pub fn plan_gone(binding: &ObjectKey, works: &Works<'_>) -> Plan {
    let mut plan = Plan::default();
    if works.are_all {
        let cause = format!("its binding {binding} is gone");
        plan.extend(live(&works.owned).map(|work| delete(work, &cause)));
    }
    plan
}

/// Deletes a work that says by then whether what it made stays.
fn withdraw(
    inputs: &Inputs<'_>,
    work: &Object,
    cause: &str,
) -> impl Iterator<Item = Action> + use<> {
    let stays = work::is_preserved(inputs.view.spec, work, inputs.policy_preserves);
    let is_told = work.at(&work::PRESERVES) == Some(&stays.into());
    // Invariant: that something stays is written even where it seems to be so already. The works in view may be older
    // than what this controller itself has written, and a write that changes nothing costs nothing.
    let tell = (stays || !is_told).then(|| Action::Patch {
        resource: kinds::of::<Work>(),
        key: work.key(),
        uid: Some(work.uid().to_owned()),
        revision: None,
        patch: json!({"spec": {"preserveResourcesOnDeletion": stays}}),
        part: Part::Object,
    });
    tell.into_iter().chain([delete(work, cause)])
}

fn delete(work: &Object, cause: &str) -> Action {
    Action::delete(kinds::of::<Work>(), work, cause)
}
