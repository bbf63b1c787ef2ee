//! What a binding notes of what its template refers to.

use api::{
    config::DependentObjectReference,
    well_known::{
        annotations::DEPENDENCIES,
        events::template::{GET_DEPENDENCIES_FAILED, GET_DEPENDENCIES_SUCCEED},
        finalizers::DEPENDENCIES_DISTRIBUTOR,
    },
    work::v1alpha2::ResourceBindingSpec,
};
use intent::{Action, EventKind, ObjectRef, Part, Plan};
use object::{Map, Object, ObjectKey, Value};
use serde_json::json;

use crate::{binding_view, dependencies::reference, views::UNTIL_IN_VIEW};

/// Everything the decision may look at.
#[derive(Clone, Debug)]
pub struct Inputs<'a> {
    /// The binding.
    pub binding: &'a Object,
    /// What it says.
    pub spec: &'a ResourceBindingSpec,
    /// The template; `None` once it is gone.
    pub template: Option<&'a Object>,
    /// What the template refers to; `None` if nothing is known of its kind.
    pub references: Result<Option<&'a [DependentObjectReference]>, &'a str>,
    /// How many bindings carry a snapshot of this one; `None` if not all bindings are in view.
    pub attached: Option<usize>,
}

/// Notes the references on the binding, and holds it until what it refers to has forgotten it.
#[must_use]
pub fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    if inputs.binding.is_terminating() || !inputs.spec.propagate_deps {
        inputs.write(&mut plan, &[]);
        return plan;
    }
    let Some(template) = inputs.template else {
        return plan;
    };
    match inputs.references {
        Ok(None) => {}
        Ok(Some(references)) => {
            let (own, foreign): (Vec<_>, Vec<_>) = references
                .iter()
                .cloned()
                .partition(|reference| reference::is_at_home(reference, inputs.binding));
            inputs.write(&mut plan, &own);
            for reference in &foreign {
                inputs.warn_of(&mut plan, template, reference);
            }
        }
        Err(message) => {
            plan.problem(template.key().to_string(), message);
            plan.push(Action::report(
                ObjectRef::of(template),
                EventKind::Warning,
                GET_DEPENDENCIES_FAILED,
                message,
            ));
        }
    }
    plan
}

impl Inputs<'_> {
    /// Tells the author of a template of something that is not sent after it.
    fn warn_of(&self, plan: &mut Plan, template: &Object, reference: &DependentObjectReference) {
        let key = ObjectKey::namespaced(&*reference.namespace, &*reference.name);
        let message = format!(
            "{} {key} is not sent along: only what is in namespace {} is",
            reference.kind,
            self.binding.namespace()
        );
        plan.problem(template.key().to_string(), &message);
        plan.push(Action::report(
            ObjectRef::of(template),
            EventKind::Warning,
            GET_DEPENDENCIES_FAILED,
            message,
        ));
    }

    fn write(&self, plan: &mut Plan, references: &[DependentObjectReference]) {
        let mut metadata = Map::new();
        if reference::noted_on(self.binding) != references
            || references.is_empty() && self.binding.annotation(DEPENDENCIES).is_some()
        {
            let note = if references.is_empty() {
                Value::Null
            } else {
                Value::from(json!(references).to_string())
            };
            metadata.insert("annotations".to_owned(), json!({ DEPENDENCIES: note }));
            if let Some(template) = self.template.filter(|_| !references.is_empty()) {
                plan.push(Action::report(
                    ObjectRef::of(template),
                    EventKind::Progress,
                    GET_DEPENDENCIES_SUCCEED,
                    format!("it refers to {}", named(references)),
                ));
            }
        }
        if references.is_empty() && self.is_held() && self.attached.is_none() {
            plan.wake = UNTIL_IN_VIEW;
        }
        if let Some(finalizers) = self.finalizers(!references.is_empty()) {
            metadata.insert("finalizers".to_owned(), json!(finalizers));
        }
        if metadata.is_empty() {
            return;
        }
        plan.push(Action::patch(
            binding_view::resource(self.binding.namespace()),
            self.binding,
            json!({ "metadata": metadata }),
            Part::Object,
        ));
    }

    /// The finalizers to write, if they change: ours is there as long as something is or may be attached.
    fn finalizers(&self, has_references: bool) -> Option<Vec<&str>> {
        let is_held = self.is_held();
        let others = self
            .binding
            .finalizers()
            .filter(|found| *found != DEPENDENCIES_DISTRIBUTOR);
        if has_references && !is_held && !self.binding.is_terminating() {
            return Some(others.chain([DEPENDENCIES_DISTRIBUTOR]).collect());
        }
        if !has_references && is_held && self.attached == Some(0) {
            return Some(others.collect());
        }
        None
    }

    fn is_held(&self) -> bool {
        self.binding
            .finalizers()
            .any(|found| found == DEPENDENCIES_DISTRIBUTOR)
    }
}

/// The objects that are referred to, for people.
fn named(references: &[DependentObjectReference]) -> String {
    let names = references.iter().map(|reference| {
        if reference.name.is_empty() {
            format!("{}s by their labels", reference.kind)
        } else {
            format!("{} {}", reference.kind, reference.name)
        }
    });
    names.collect::<Vec<_>>().join(", ")
}
