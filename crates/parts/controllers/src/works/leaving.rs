//! Works that go, and what they say before they do.
//!
//! A member deletes what a work made unless the work says that it stays, and nothing that is said later brings it back.
//! Who wants a cluster to keep its copy may say so in the very change by which the cluster is left, and then nobody may
//! have written it to the work yet: what is seen of a binding skips states, and a policy may not be in its binding so far.
//! So a work is told right before it goes, in the same plan: where it cannot be told, it stays. Each has a plan of its own,
//! so that one which cannot be told or deleted holds no other back.

use api::{names, work::v1alpha1::Work};
use binding::{targets, work};
use intent::{Action, Part, Plan};
use object::{Object, ObjectKey, Value};
use serde_json::json;

use super::plan::{Inputs, Works, live};
use crate::{binding_view, kinds};

/// Deletes the works of a binding that is going, and lets it go once all of them are on their way.
pub(super) fn release(inputs: &Inputs<'_>) -> Vec<Plan> {
    if !inputs.works.are_all {
        return Vec::new();
    }
    let cause = format!("its binding {} is being deleted", inputs.view.key());
    let withdrawn: Vec<Plan> = live(&inputs.works.owned)
        .map(|work| withdraw(inputs, work, &cause))
        .collect();
    // Invariant: a binding goes when its works are seen to go. Whoever has seen that has seen all that was made before,
    // too; and what a work says of its copy can be put right for as long as its binding is there.
    if !withdrawn.is_empty() {
        return withdrawn;
    }
    let_go(inputs).into_iter().collect()
}

/// Takes the finalizer off a binding, if it is still there.
fn let_go(inputs: &Inputs<'_>) -> Option<Plan> {
    let (binding, ours) = (inputs.binding, inputs.view.finalizer());
    if binding.finalizers().all(|found| found != ours) {
        return None;
    }
    let rest: Vec<&str> = binding
        .finalizers()
        .filter(|found| *found != ours)
        .collect();
    let mut plan = Plan::default();
    plan.push(Action::patch(
        binding_view::resource(binding.namespace()),
        binding,
        json!({"metadata": {"finalizers": rest}}),
        Part::Object,
    ));
    Some(plan)
}

/// Deletes the works that no cluster of the binding accounts for.
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
        plans.push(withdraw(inputs, work, &cause));
    }
    plans
}

/// What is to be done about works whose binding is not there, although all bindings are in view. Nobody is left to say
/// anything else than they do.
#[must_use]
pub fn plan_gone(binding: &ObjectKey, works: &Works<'_>) -> Vec<Plan> {
    if !works.are_all {
        return Vec::new();
    }
    let cause = format!("its binding {binding} is gone");
    let plans = live(&works.owned).map(|work| {
        let mut plan = Plan::default();
        plan.push(delete(work, &cause));
        plan
    });
    plans.collect()
}

/// Deletes a work that says by then whether what it made stays.
fn withdraw(inputs: &Inputs<'_>, work: &Object, cause: &str) -> Plan {
    let mut plan = Plan::default();
    let stays = work::is_preserved(inputs.view.spec, work, inputs.policy_preserves);
    // What a work made that says nothing goes.
    let says_it_stays = work.at(&work::PRESERVES) == Some(&Value::Bool(true));
    // Invariant: that something stays is written even where it seems to be so already. The works in view may be older
    // than what this controller itself has written, and a write that changes nothing costs nothing.
    if stays || says_it_stays {
        plan.push(Action::Patch {
            resource: kinds::of::<Work>(),
            key: work.key(),
            uid: Some(work.uid().to_owned()),
            revision: None,
            patch: json!({"spec": {"preserveResourcesOnDeletion": stays}}),
            part: Part::Object,
        });
    }
    plan.push(delete(work, cause));
    plan
}

fn delete(work: &Object, cause: &str) -> Action {
    Action::delete(kinds::of::<Work>(), work, cause)
}
