//! What an ending namespace needs: its content deleted, its state told, and at last its own finalizer removed.

use std::collections::BTreeMap;

use intent::{Action, Part, Plan};
use object::condition::{Condition, ConditionStatus, with_condition};
use object::time::Time;
use object::{Object, ResourceType, Value};
use serde_json::json;

use crate::resources;

/// The finalizer that stands for this chore in `spec.finalizers`.
pub(crate) const KUBERNETES: &str = "kubernetes";

/// The objects of one kind in the namespace, as the server lists them.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    pub(crate) resource: ResourceType,
    pub(crate) objects: Vec<Object>,
}

/// How far the deletion has come.
pub(crate) struct Progress<'a> {
    pub(crate) namespace: &'a Object,
    /// What is left.
    pub(crate) remaining: &'a [Content],
    /// Groups that could not be discovered, in words.
    pub(crate) undiscovered: &'a [String],
    /// Kinds whose objects could not be listed or deleted, in words.
    pub(crate) failures: &'a [String],
    pub(crate) now: Time,
}

/// What goes first, and what goes when that is gone: pods may still use what is around them, and what keeps others away
/// from them must not go before they do. Upstream: the same order.
pub(crate) fn in_turn(content: Vec<Content>) -> [Vec<Content>; 2] {
    let is_first = |content: &Content| {
        let kind = &content.resource.kind;
        kind.group.is_empty() && kind.kind == "Pod"
    };
    let (first, rest) = content.into_iter().partition(is_first);
    [first, rest]
}

/// Deletes what is not ending already, each object whatever becomes of the others.
pub(crate) fn plan_content(namespace: &Object, content: &Content) -> Vec<Plan> {
    let cause = format!("its namespace {} is being deleted", namespace.name());
    let staying = content.objects.iter();
    let staying = staying.filter(|object| !object.is_terminating());
    let plans = staying.map(|object| {
        let mut plan = Plan::default();
        plan.push(Action::delete(
            content.resource.clone(),
            object,
            cause.as_str(),
        ));
        plan
    });
    plans.collect()
}

/// Tells how far it is, and lets the namespace go when nothing is left.
pub(crate) fn plan_progress(progress: &Progress<'_>) -> Plan {
    let mut plan = Plan::default();
    let namespace = progress.namespace;
    if let Some(conditions) = changed_conditions(progress) {
        let patch = json!({"status": {"phase": "Terminating", "conditions": conditions}});
        plan.push(Action::patch(
            resources::namespaces(),
            namespace,
            patch,
            Part::Status,
        ));
        // The state that was looked at is gone with this; the rest comes with the next look.
        return plan;
    }
    let is_done = progress.remaining.is_empty()
        && progress.undiscovered.is_empty()
        && progress.failures.is_empty();
    let finalizers = namespace
        .at(&["spec", "finalizers"])
        .and_then(Value::as_array);
    let is_ours = |name: &Value| name.as_str() == Some(KUBERNETES);
    if is_done && finalizers.is_some_and(|names| names.iter().any(is_ours)) {
        let kept = finalizers.into_iter().flatten();
        let kept: Vec<Value> = kept.filter(|name| !is_ours(name)).cloned().collect();
        let mut object = namespace.clone();
        if object.set(&["spec", "finalizers"], kept).is_ok() {
            plan.push(Action::Replace {
                resource: resources::namespaces(),
                object,
                part: Part::Named("finalize".into()),
            });
        }
    }
    plan
}

/// The conditions as they should be; `None` if they are.
fn changed_conditions(progress: &Progress<'_>) -> Option<Value> {
    let known = progress.namespace.at(&["status", "conditions"]);
    let known: Vec<Condition> = known
        .and_then(|known| object::parse::shape(known).ok())
        .unwrap_or_default();
    let mut conditions = known.clone();
    for condition in wanted(progress) {
        conditions = with_condition(conditions, condition, progress.now).0;
    }
    (conditions != known).then(|| serde_json::to_value(&conditions).unwrap_or_default())
}

/// Upstream: types, reasons and messages, and that good news is told like bad.
fn wanted(progress: &Progress<'_>) -> [Condition; 5] {
    let remaining = remaining_text(progress.remaining);
    let finalizers = finalizers_text(progress.remaining);
    [
        judge(
            "NamespaceDeletionDiscoveryFailure",
            (!progress.undiscovered.is_empty()).then(|| {
                let (count, list) = (
                    progress.undiscovered.len(),
                    progress.undiscovered.join(", "),
                );
                format!(
                    "Discovery failed for some groups, {count} failing: unable to retrieve the complete list of server APIs: {list}"
                )
            }),
            "DiscoveryFailed",
            (
                "ResourcesDiscovered",
                "All resources successfully discovered",
            ),
        ),
        // A group version that could not be read would be missing from discovery, and is told there.
        judge(
            "NamespaceDeletionGroupVersionParsingFailure",
            None,
            "GroupVersionParsingFailed",
            (
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed",
            ),
        ),
        judge(
            "NamespaceDeletionContentFailure",
            (!progress.failures.is_empty()).then(|| {
                let (count, list) = (progress.failures.len(), progress.failures.join(", "));
                format!("Failed to delete all resource types, {count} remaining: {list}")
            }),
            "ContentDeletionFailed",
            (
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            ),
        ),
        judge(
            "NamespaceContentRemaining",
            (!remaining.is_empty()).then(|| format!("Some resources are remaining: {remaining}")),
            "SomeResourcesRemain",
            ("ContentRemoved", "All content successfully removed"),
        ),
        judge(
            "NamespaceFinalizersRemaining",
            (!finalizers.is_empty()).then(|| {
                format!("Some content in the namespace has finalizers remaining: {finalizers}")
            }),
            "SomeFinalizersRemain",
            (
                "ContentHasNoFinalizers",
                "All content-preserving finalizers finished",
            ),
        ),
    ]
}

fn judge(r#type: &str, bad: Option<String>, reason: &str, good: (&str, &str)) -> Condition {
    match bad {
        Some(message) => Condition::new(r#type, ConditionStatus::True, reason, message),
        None => Condition::new(r#type, ConditionStatus::False, good.0, good.1),
    }
}

fn remaining_text(remaining: &[Content]) -> String {
    let text = |content: &Content| {
        let (name, count) = (
            content.resource.resource().group_resource(),
            content.objects.len(),
        );
        // Upstream: the core group leaves its dot behind.
        let dot = if content.resource.kind.group.is_empty() {
            "."
        } else {
            ""
        };
        format!("{name}{dot} has {count} resource instances")
    };
    let mut texts: Vec<String> = remaining.iter().map(text).collect();
    texts.sort();
    texts.join(", ")
}

fn finalizers_text(remaining: &[Content]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for finalizer in remaining
        .iter()
        .flat_map(|content| &content.objects)
        .flat_map(|object| object.finalizers())
    {
        *counts.entry(finalizer).or_default() += 1;
    }
    let texts: Vec<String> = counts
        .into_iter()
        .map(|(name, count)| format!("{name} in {count} resource instances"))
        .collect();
    texts.join(", ")
}
