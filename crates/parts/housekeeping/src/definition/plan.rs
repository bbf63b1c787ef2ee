//! What a definition needs so that its objects go with it: a finalizer; once it ends, its objects deleted, its state told,
//! and at last the finalizer removed.

use intent::{Action, Part, Plan};
use object::condition::{Condition, ConditionStatus, with_condition};
use object::time::Time;
use object::{Object, ResourceType};
use serde_json::json;

use crate::{BuiltIn, resources};

/// The finalizer that stands for this chore.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Everything the decision may look at.
pub(crate) struct Inputs<'a> {
    pub(crate) definition: &'a Object,
    pub(crate) content: &'a Content,
    /// The objects of its kind, as the server lists them.
    pub(crate) objects: &'a [Object],
    pub(crate) now: Time,
}

/// Whose the objects are that go by the name of a definition.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// The server's: it has their kind without any definition, and this one never served them, whatever its status says.
    BuiltIn,
    /// Nobody's: the definition did not come to be served.
    Nothing,
    /// The definition's.
    Own(ResourceType),
}

/// What a definition may take along.
pub(crate) fn content(definition: &Object, built_in: &BuiltIn) -> Content {
    let text = |path: &[&str]| definition.text_at(path).unwrap_or_default();
    let (group, plural) = (text(&["spec", "group"]), text(&["spec", "names", "plural"]));
    // Invariant: nobody loses what a definition did not bring, who may write definitions and nothing else.
    if built_in.contains(&(group, plural)) {
        return Content::BuiltIn;
    }
    // Upstream: the same.
    let is_established = conditions(definition)
        .iter()
        .any(|known| known.r#type == "Established" && known.status == ConditionStatus::True);
    match defined(definition) {
        Some(resource) if is_established => Content::Own(resource),
        _ => Content::Nothing,
    }
}

/// The kind that a definition defines, in a version that is served.
fn defined(definition: &Object) -> Option<ResourceType> {
    let versions = definition.at(&["spec", "versions"])?.as_array()?;
    let served = |version: &&object::Value| {
        version.get("served").and_then(object::Value::as_bool) == Some(true)
    };
    let version = versions.iter().find(served)?.get("name")?.as_str()?;
    let group = definition.text_at(&["spec", "group"])?;
    let kind = definition.text_at(&["spec", "names", "kind"])?;
    let plural = definition.text_at(&["spec", "names", "plural"])?;
    Some(match definition.text_at(&["spec", "scope"])? {
        "Namespaced" => ResourceType::namespaced(group, version, kind, plural),
        _ => ResourceType::cluster(group, version, kind, plural),
    })
}

pub(crate) fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    let definition = inputs.definition;
    let is_held = definition.finalizers().any(|name| name == CLEANUP);
    if !definition.is_terminating() {
        // Upstream: the finalizer is there only from the deletion on. Here the server does not add it, and a definition that
        // went at once would leave its objects where nobody can reach them.
        if !is_held {
            let all: Vec<&str> = definition.finalizers().chain([CLEANUP]).collect();
            plan.push(with_finalizers(definition, &all));
        }
        return plan;
    }
    if !is_held {
        return plan;
    }
    let resource = match inputs.content {
        Content::Own(resource) if !inputs.objects.is_empty() => resource,
        _ => {
            let others = definition.finalizers().filter(|name| *name != CLEANUP);
            plan.push(with_finalizers(definition, &others.collect::<Vec<_>>()));
            return plan;
        }
    };
    let condition = Condition::new(
        "Terminating",
        ConditionStatus::True,
        "InstanceDeletionInProgress",
        "CustomResource deletion is in progress",
    );
    let (conditions, changed) = with_condition(conditions(definition), condition, inputs.now);
    if changed {
        let conditions = serde_json::to_value(&conditions).unwrap_or_default();
        let patch = json!({"status": {"conditions": conditions}});
        plan.push(Action::patch(
            resources::definitions(),
            definition,
            patch,
            Part::Status,
        ));
    }
    let cause = format!("its definition {} is being deleted", definition.name());
    for object in inputs
        .objects
        .iter()
        .filter(|object| !object.is_terminating())
    {
        plan.push(Action::delete(resource.clone(), object, cause.as_str()));
    }
    plan
}

fn conditions(definition: &Object) -> Vec<Condition> {
    definition
        .at(&["status", "conditions"])
        .and_then(|known| object::parse::shape(known).ok())
        .unwrap_or_default()
}

fn with_finalizers(definition: &Object, finalizers: &[&str]) -> Action {
    let patch = json!({"metadata": {"finalizers": finalizers}});
    Action::patch(resources::definitions(), definition, patch, Part::Object)
}
