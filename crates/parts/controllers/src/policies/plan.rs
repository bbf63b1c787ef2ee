//! When a policy that is being deleted may go.

use intent::{Action, Part, Plan};
use object::{Object, ResourceType};
use policy::{Holder, Policy, holder};
use serde_json::json;

use crate::{binding_view, views::UNTIL_IN_VIEW};

/// Everything the decision may look at.
#[derive(Clone, Debug)]
pub struct Inputs<'a> {
    /// Where policies of the kind are.
    pub resource: &'a ResourceType,
    /// The policy.
    pub object: &'a Object,
    /// Its finalizer.
    pub finalizer: &'a str,
    /// The same, prepared.
    pub policy: &'a Policy,
    /// How many templates still carry its claim. `None` if not all templates are in view.
    pub templates: Option<usize>,
    /// The bindings that still carry its claim, and for each whether its template is one that could be released. `None`
    /// if not all bindings are in view.
    pub bindings: Option<&'a [(&'a Object, Tie)]>,
}

/// Whether a binding has a template through which it is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// It has; whoever decides about the template sees to the binding too.
    Template,
    /// It has none, or one that is no longer the policies' business.
    Loose,
}

/// Lets go of what nobody else would release, and lets the policy go once nothing carries its claim.
#[must_use]
pub fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    if !inputs.object.is_terminating() {
        return plan;
    }
    let (Some(templates), Some(bindings)) = (inputs.templates, inputs.bindings) else {
        plan.wake = UNTIL_IN_VIEW;
        return plan;
    };
    let holder = Holder::from(inputs.policy);
    for (binding, tie) in bindings {
        let edit = holder::release(binding, &holder);
        if *tie == Tie::Loose && !edit.is_empty() {
            let resource = binding_view::resource(binding.namespace());
            let patch = edit.to_merge_patch();
            plan.push(Action::patch(resource, binding, patch, Part::Object));
        }
    }
    let is_held = inputs
        .object
        .finalizers()
        .any(|found| found == inputs.finalizer);
    if templates == 0 && bindings.is_empty() && is_held {
        let rest: Vec<&str> = inputs
            .object
            .finalizers()
            .filter(|found| *found != inputs.finalizer)
            .collect();
        plan.push(Action::patch(
            inputs.resource.clone(),
            inputs.object,
            json!({"metadata": {"finalizers": rest}}),
            Part::Object,
        ));
    }
    plan
}
