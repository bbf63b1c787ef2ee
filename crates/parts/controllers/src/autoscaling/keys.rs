//! Whom a change wakes: the targets of autoscalers, and Deployments whose replicas members own.

use api::well_known::labels::{RETAIN_REPLICAS, TRUE};
use client::Change;
use object::{GroupKind, Object, ObjectKey};

use super::plan::is_propagated;
use crate::{bindings, templates::TemplateKey};

/// Deployments.
pub(super) fn deployment() -> GroupKind {
    GroupKind::new("apps", "Deployment")
}

/// What an autoscaler scales.
pub(super) fn target(autoscaler: &Object) -> Option<TemplateKey> {
    let text = |field: &str| autoscaler.text_at(&["spec", "scaleTargetRef", field]);
    let group = match text("apiVersion").unwrap_or_default().split_once('/') {
        Some((group, _)) => group,
        None => "",
    };
    Some(TemplateKey {
        kind: GroupKind::new(group, text("kind")?),
        key: ObjectKey::namespaced(autoscaler.namespace(), text("name")?),
    })
}

/// How a target is found in the index.
pub(super) fn entry(target: &TemplateKey) -> String {
    format!("{}/{}/{}", target.kind.group, target.kind.kind, target.key)
}

/// What an autoscaler scaled and what it scales now, unless nothing of that changed.
pub(super) fn of_autoscaler(change: &Change) -> Vec<TemplateKey> {
    let facts = |object: &Object| {
        let is_in_force = is_propagated(object) && !object.is_terminating();
        (target(object), is_in_force)
    };
    let before = change.before.as_deref().map(facts);
    let after = change.after.as_deref().map(facts);
    if before == after {
        return Vec::new();
    }
    let mut targets: Vec<TemplateKey> = [before, after]
        .into_iter()
        .flatten()
        .filter_map(|(target, _)| target)
        .collect();
    targets.dedup();
    targets
}

/// A template that came or whose mark changed, if it is or was scaled.
pub(super) fn of_target(
    kind: &GroupKind,
    change: &Change,
    is_scaled: impl Fn(&str) -> bool,
) -> Option<TemplateKey> {
    let after = change.after.as_deref()?;
    let was_marked = change.before.as_deref().map(is_marked);
    if was_marked == Some(is_marked(after)) {
        return None;
    }
    let key = TemplateKey {
        kind: kind.clone(),
        key: after.key(),
    };
    // What is marked may have been scaled once: whose mark it is, its field managers say.
    (is_marked(after) || is_scaled(&entry(&key))).then_some(key)
}

/// A marked Deployment whose mark is new, or which has or wants other replicas than before.
pub(super) fn of_deployment(kind: &GroupKind, change: &Change) -> Option<ObjectKey> {
    let after = change.after.as_deref()?;
    if kind.kind != "Deployment" || kind.group != "apps" || !is_marked(after) {
        return None;
    }
    let facts = |object: &Object| {
        let replicas = |part: &str| object.at(&[part, "replicas"]).cloned();
        (is_marked(object), replicas("spec"), replicas("status"))
    };
    let concerns = change.before.as_deref().map(facts) != Some(facts(after));
    concerns.then(|| after.key())
}

/// The Deployment of a binding; whether it is marked is seen when it is looked at.
pub(super) fn of_binding(change: &Change) -> Option<ObjectKey> {
    let after = change.after.as_deref()?;
    let template = bindings::template_of(after)?;
    let before = change.before.as_deref();
    let is_same = before.is_some_and(|before| {
        before.at(&["status"]) == after.at(&["status"]) && before.generation() == after.generation()
    });
    (template.kind == deployment() && !is_same).then_some(template.key)
}

/// Whether members own the replicas of a template.
pub(super) fn is_marked(template: &Object) -> bool {
    template.label(RETAIN_REPLICAS) == Some(TRUE)
}
